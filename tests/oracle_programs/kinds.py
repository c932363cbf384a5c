"""The kinds of random programs, each a function that drafts one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.oracle_programs import inputs
from tests.oracle_programs.windows import Windows, draw_function, draw_windows, exact_modes, loses_state_in_merges


@dataclass(slots=True)
class Draft:
    """A program on its way to text: `lines` are the body of `build`, `outputs` the streams that it returns."""

    imports: set[str] = field(default_factory=set)
    sources: dict[str, list[inputs.Element]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    ordered: list[str] = field(default_factory=list)
    unstamped: list[str] = field(default_factory=list)
    parallel: bool = True
    modes: set[str] = field(default_factory=lambda: {"process", "thread"})


def _one_source(chooser: random.Random, *, is_positive: bool = False) -> Draft:
    draft = Draft()
    start = 1000 if is_positive or chooser.random() < 0.5 else chooser.choice([0, -40])
    draft.sources["ELEMENTS"] = inputs.disordered(chooser, chooser.randint(25, 40), start)
    draft.lines.append("stream = stream_of(env, ELEMENTS)")
    match chooser.randrange(8):
        case 0:
            draft.lines.append("stream = stream.map(shift).filter(is_wanted)")
        case 1:
            draft.lines.append("stream = stream.flat_map(Double())")
        case 2:
            draft.lines.append("stream = stream.process(SplitOdd())")
            draft.outputs["odd"] = "odd"
            draft.lines.append("odd = stream.get_side_output(ODD)")
            draft.ordered.append("odd")
    return draft


def _add_windows(draft: Draft, chooser: random.Random, windows: Windows, stream: str = "stream") -> None:
    """`results`: the windows on a stream, with a trigger, lateness and a late output as they come."""
    draft.imports |= windows.imports
    keyed = f"{stream}.window_all" if windows.is_all else f"{stream}.key_by(by_key).window"
    call = f"{stream}.key_by(by_key).{windows.method}" if windows.method else f"{keyed}({windows.assigner})"
    draft.lines.append(f"windows = {call}")
    if windows.trigger:
        draft.lines.append(f"windows = windows.trigger({windows.trigger})")
    if windows.has_time:
        lateness = chooser.choice([0, 0, 1, 4, 10, 40])
        if lateness:
            windows.are_results_stamped = False
            draft.lines.append(f"windows = windows.allowed_lateness({lateness})")
        if chooser.random() < 0.7:
            draft.lines.append("windows = windows.side_output_late_data(LATE)")
            draft.outputs["late"] = "results.get_side_output(LATE)"
            draft.ordered.append("late")
    call, has_side_output = draw_function(chooser, windows)
    draft.lines.append(f"results = windows.{call}")
    draft.modes &= exact_modes(windows)
    if loses_state_in_merges(windows, call):
        draft.sources["ELEMENTS"] = inputs.in_order_by_key(draft.sources["ELEMENTS"])
    if "dynamic" in windows.assigner:
        # Where a session happens to be the window of its next element, Flink loses what the session held.
        inputs.distinct_by_key(*draft.sources.values())
        draft.lines = [line for line in draft.lines if "Double" not in line]
    if has_side_output:
        draft.outputs["side"] = "results.get_side_output(SIDE)"
    draft.outputs["main"] = "results"
    if not windows.are_results_stamped:
        draft.unstamped += ["main", "side"]
    if windows.is_ordered:
        draft.ordered.append("main")


def _windowed(which: str) -> Callable[[random.Random], Draft]:
    def draft_one(chooser: random.Random) -> Draft:
        windows = draw_windows(which, chooser)
        draft = _one_source(chooser, is_positive=windows.needs_positive_times)
        _add_windows(draft, chooser, windows)
        return draft

    return draft_one


def _two_windows(chooser: random.Random) -> Draft:
    """Windows over the results of windows: what leaves the first ones must be on time for the second."""
    draft = _one_source(chooser)
    first = chooser.choice(["TumblingEventTimeWindows", "EventTimeSessionWindows", "SlidingEventTimeWindows"])
    draft.imports |= {first, "TumblingEventTimeWindows"}
    size = chooser.randint(3, 12)
    assigner = {
        "TumblingEventTimeWindows": f"TumblingEventTimeWindows.of(ms({size}))",
        "EventTimeSessionWindows": f"EventTimeSessionWindows.with_gap(ms({size}))",
        "SlidingEventTimeWindows": f"SlidingEventTimeWindows.of(ms({size}), ms({max(1, size // 2)}))",
    }[first]
    second = chooser.randint(size, 40)
    draft.lines += [
        f"first = stream.key_by(by_key).window({assigner}).reduce(Sum())",
        f"windows = first.key_by(lambda it: it[1] % {chooser.randint(1, 3)})",
        f"windows = windows.window(TumblingEventTimeWindows.of(ms({second}))).side_output_late_data(LATE)",
        "results = windows.process(Names())",
    ]
    draft.outputs |= {"main": "results", "late": "results.get_side_output(LATE)", "first": "first"}
    if "Session" in first:
        draft.sources["ELEMENTS"] = inputs.in_order_by_key(draft.sources["ELEMENTS"])
    return draft


def _timers(chooser: random.Random) -> Draft:
    draft = _one_source(chooser)
    delay, again = chooser.choice([-5, 0, 1, 7, 15]), chooser.choice([1, 3, 10])
    draft.lines.append(f"results = stream.key_by(by_key).process(Alarm({delay}, {again}, {chooser.randint(0, 9)}))")
    draft.outputs |= {"main": "results", "side": "results.get_side_output(SIDE)"}
    draft.ordered += ["main", "side"]
    draft.modes.discard("process")
    return draft


def _state(chooser: random.Random) -> Draft:
    draft = _one_source(chooser)
    draft.lines.append(f"results = stream.key_by(by_key).process(Ledger({chooser.choice([2, 5, 12, 30])}))")
    draft.outputs["main"] = "results"
    draft.ordered.append("main")
    return draft


def _timers_then_windows(chooser: random.Random) -> Draft:
    """What a timer emits has the timer's time, which decides the window it falls into."""
    draft = _one_source(chooser)
    draft.imports.add("TumblingEventTimeWindows")
    draft.lines += [
        f"rings = stream.key_by(by_key).process(Alarm({chooser.choice([0, 3, 8])}, {chooser.choice([2, 6])}, 0))",
        "rings = rings.filter(lambda it: it[1] == 'ring').map(lambda it: (it[0], it[2], it[3]))",
        f"windows = rings.key_by(by_key).window(TumblingEventTimeWindows.of(ms({chooser.randint(2, 20)})))",
        f"results = windows.allowed_lateness({chooser.choice([0, 3])}).side_output_late_data(LATE).process(Names())",
    ]
    draft.unstamped.append("main")
    draft.modes.discard("process")
    draft.outputs |= {"main": "results", "late": "results.get_side_output(LATE)"}
    draft.ordered.append("main")
    return draft


def _requests(chooser: random.Random) -> Draft:
    """Answers that take their time, between watermarks that must not overtake them."""
    draft = _one_source(chooser)
    wait = chooser.choice(["ordered_wait", "unordered_wait"])
    draft.imports.add("TumblingEventTimeWindows")
    draft.lines += [
        f"answers = AsyncDataStream.{wait}(stream, Ask(), Time.seconds(20), {chooser.choice([1, 3, 100])})",
        f"windows = answers.key_by(by_key).window(TumblingEventTimeWindows.of(ms({chooser.randint(2, 12)})))",
        "results = windows.side_output_late_data(LATE).process(Names())",
    ]
    draft.outputs |= {"main": "results", "late": "results.get_side_output(LATE)", "first": "answers"}
    draft.ordered += ["main"] + (["first"] if wait == "ordered_wait" else [])
    draft.modes = {"process"}
    return draft


def _rolling(chooser: random.Random) -> Draft:
    draft = _one_source(chooser)
    call = chooser.choice(["reduce(Sum())", "sum(2)", "min(2)", "max(2)", "min_by(2)", "max_by(2)"])
    draft.lines.append(f"results = stream.key_by(by_key).{call}")
    draft.outputs["main"] = "results"
    draft.ordered.append("main")
    return draft


def _two_sources(chooser: random.Random) -> Draft:
    draft = Draft()
    start = chooser.choice([0, -20, 1000])
    draft.sources["LEFT"] = inputs.punctual(chooser, chooser.randint(12, 24), start)
    draft.sources["RIGHT"] = inputs.punctual(chooser, chooser.randint(8, 24), start + chooser.choice([-6, 0, 9]), 100)
    draft.lines += ["left = stream_of(env, LEFT)", "right = stream_of(env, RIGHT)"]
    return draft


def _union(chooser: random.Random) -> Draft:
    draft = _two_sources(chooser)
    # No sessions: an element that touches one may come before or after the watermark that ends it.
    windows = draw_windows(chooser.choice(["tumbling", "sliding"]), chooser, plain=True)
    if chooser.random() < 0.4:
        draft.sources["THIRD"] = inputs.punctual(chooser, 8, 1000, 200)
        draft.lines.append("right = right.union(stream_of(env, THIRD))")
    draft.lines.append("stream = left.union(right)")
    _add_windows(draft, chooser, windows)
    draft.ordered = [name for name in draft.ordered if name == "late"]
    return draft


def _connect(chooser: random.Random) -> Draft:
    draft = _two_sources(chooser)
    match chooser.randrange(3):
        case 0:
            draft.lines.append("results = left.connect(right).process(Both())")
            draft.outputs["side"] = "results.get_side_output(SIDE)"
        case 1:
            draft.lines.append("results = left.connect(right).map(BothMapped())")
        case _:
            draft.lines.append("results = left.connect(right).flat_map(BothFlatMapped())")
    draft.outputs["main"] = "results"
    if chooser.random() < 0.5 and "side" not in draft.outputs:
        draft.lines.append("stream = results")
        _add_windows(draft, chooser, draw_windows("tumbling", chooser, plain=True))
        draft.ordered = []
    return draft


def _keyed_connect(chooser: random.Random) -> Draft:
    draft = _two_sources(chooser)
    draft.lines.append("both = left.connect(right).key_by(by_key, by_key)")
    draft.lines.append(f"results = both.process(Pair({chooser.choice([0, 2, 6])}))")
    draft.outputs |= {"main": "results", "side": "results.get_side_output(SIDE)"}
    draft.ordered += ["main", "side"]
    return draft


def _broadcast(chooser: random.Random) -> Draft:
    draft = _two_sources(chooser)
    draft.lines.append("results = left.connect(right.broadcast(RULES)).process(Told())")
    draft.outputs |= {"main": "results", "side": "results.get_side_output(SIDE)"}
    draft.parallel = False
    return draft


def _keyed_broadcast(chooser: random.Random) -> Draft:
    draft = _two_sources(chooser)
    draft.lines.append("results = left.key_by(by_key).connect(right.broadcast(RULES)).process(Ruled())")
    draft.outputs["main"] = "results"
    draft.ordered.append("main")
    return draft


KINDS: dict[str, Callable[[random.Random], Draft]] = {
    **{
        which: _windowed(which)
        for which in (
            "tumbling",
            "sliding",
            "session",
            "dynamic session",
            "own assigner",
            "count",
            "count sliding",
            "global",
            "all",
        )
    },
    "windows on windows": _two_windows,
    "timers": _timers,
    "timers then windows": _timers_then_windows,
    "state": _state,
    "rolling": _rolling,
    "requests": _requests,
    "union": _union,
    "connect": _connect,
    "keyed connect": _keyed_connect,
    "broadcast": _broadcast,
    "keyed broadcast": _keyed_broadcast,
}
