"""A small program for each deliberate difference from PyFlink, with what each side makes of it.

What PyFlink makes of it is checked by `make oracle-programs`, what Tidegate makes of it by `make test`. Random programs
keep away from these places. `tools/flink_compatibility/defects.yaml` describes them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.oracle_programs.program import Program
from tests.oracle_programs.running import Outputs

MIN: Final = -(2**63)
MAX: Final = 2**63 - 1


class Known(NamedTuple):
    name: str
    program: Program
    flink: Outputs
    tidegate: Outputs


def _known(name: str, mode: str, elements: str, body: str, flink: Outputs, tidegate: Outputs) -> Known:
    lines = "".join(f"    {line.strip()}\n" for line in body.strip().splitlines())
    text = (
        "from pyflink.datastream.window import *\n\n"
        f"ELEMENTS = {elements}\n\ndef build(env):\n    stream = stream_of(env, ELEMENTS)\n{lines}"
    )
    return Known(name, Program(0, name, text, mode=mode), flink, tidegate)


KNOWN: Final = (
    _known(
        "merged-reduction",
        "process",
        "[(0, None, 'a', 0, 1), (10, None, 'a', 1, 2), (5, None, 'a', 2, 4)]",
        """
        windows = stream.key_by(by_key).window(EventTimeSessionWindows.with_gap(ms(5)))
        return {"main": windows.reduce(Sum())}
        """,
        flink={"main": [(["a", 2, 5], 14)]},
        tidegate={"main": [(["a", 2, 7], 14)]},
    ),
    _known(
        "merged-reduction",
        "thread",
        "[(0, None, 'a', 0, 1), (10, None, 'a', 1, 2), (5, None, 'a', 2, 4)]",
        """
        windows = stream.key_by(by_key).window(EventTimeSessionWindows.with_gap(ms(5)))
        return {"main": windows.reduce(Sum())}
        """,
        flink={"main": [(["a", 2, 6], 14)]},
        tidegate={"main": [(["a", 2, 7], 14)]},
    ),
    _known(
        "time-of-a-result",
        "process",
        "[(1, 12, 'a', 0, 1), (2, None, 'a', 1, 2)]",
        """
        windows = stream.key_by(by_key).window(TumblingEventTimeWindows.of(ms(10))).allowed_lateness(5)
        return {"main": windows.reduce(Sum())}
        """,
        flink={"main": [(["a", 0, 1], 9), (["a", 1, 3], 2)]},
        tidegate={"main": [(["a", 0, 1], 9), (["a", 1, 3], 9)]},
    ),
    _known(
        "timer-set-by-a-timer",
        "process",
        "[(5, 20, 'a', 0, 1), (30, 26, 'a', 1, 9)]",
        """
        results = stream.key_by(by_key).process(Alarm(0, 3, 9))
        return {"main": results.filter(lambda it: it[1] == "ring").map(lambda it: (it[0], it[2], it[4]))}
        """,
        flink={"main": [(["a", 5, 20], 5), (["a", 8, 26], 8), (["a", 11, MAX], 11)]},
        tidegate={"main": [(["a", 5, 20], 5), (["a", 8, 20], 8), (["a", 11, 20], 11)]},
    ),
    _known(
        "time-of-a-side-output",
        "thread",
        "[(4, None, 'a', 1, 1)]",
        """
        return {"odd": stream.process(SplitOdd()).get_side_output(ODD)}
        """,
        flink={"odd": [(["a", 1, 4, MIN], MIN)]},
        tidegate={"odd": [(["a", 1, 4, MIN], 4)]},
    ),
    _known(
        "timer-at-the-end-of-time",
        "thread",
        "[(4, None, 'a', 0, 1)]",
        """
        windows = stream.key_by(by_key).window(GlobalWindows.create()).trigger(EventTimeTrigger.create())
        return {"main": windows.process(Names())}
        """,
        flink={"main": []},
        tidegate={"main": [(["a", [], [0], MAX], MAX)]},
    ),
    _known(
        "sliding-count-windows",
        "process",
        "[(1, None, 'a', 0, 1), (2, None, 'a', 1, 1), (3, None, 'a', 2, 1), (4, None, 'a', 3, 1)]",
        """
        return {"main": stream.key_by(by_key).count_window(3, 2).process(Names()).map(lambda it: (it[0], it[2]))}
        """,
        flink={"main": [(["a", [0, 1, 2]], 3)]},
        tidegate={"main": [(["a", [0, 1]], MAX), (["a", [1, 2, 3]], MAX)]},
    ),
    _known(
        "state-of-count-windows",
        "process",
        "[(1, None, 'a', 0, 1), (2, None, 'a', 1, 1)]",
        """
        return {"main": stream.key_by(by_key).count_window(1).process(Firings()).map(lambda it: (it[0], it[3], it[4]))}
        """,
        flink={"main": [(["a", 1, 1], 1), (["a", 1, 2], 2)]},
        tidegate={"main": [(["a", 1, 1], MAX), (["a", 2, 2], MAX)]},
    ),
    _known(
        "negative-intervals",
        "thread",
        "[(-7, -5, 'a', 0, 1), (-6, None, 'a', 1, 1)]",
        """
        windows = stream.key_by(by_key).window(TumblingEventTimeWindows.of(ms(20)))
        windows = windows.trigger(ContinuousEventTimeTrigger.of(ms(5)))
        return {"main": windows.process(Names())}
        """,
        flink={"main": [(["a", [-20, 0], [0], -5], -5), (["a", [-20, 0], [0, 1], MAX], -1)]},
        tidegate={"main": [(["a", [-20, 0], [0, 1], MAX], -1)]},
    ),
)
