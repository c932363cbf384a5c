"""Random windows: an assigner with a trigger that fits, and a function for what they hold, as text."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Windows:
    """`assigner`, or the `method` of a keyed stream that makes the windows, and `trigger`, or nothing for its own.

    `is_ordered`: no two firings of a key are due at the same time, so that the order of its results is defined.
    `are_results_stamped`: PyFlink gives results the time of the element or timer that fired, Flink in Java the end of
    the window, which is the same only if nothing but the end fires.
    `needs_positive_times`: PyFlink's continuous trigger divides negative times as Python does, Flink as Java does.
    """

    assigner: str = ""
    method: str = ""
    trigger: str = ""
    imports: set[str] = field(default_factory=set)
    is_merging: bool = False
    has_time: bool = True
    is_all: bool = False
    is_ordered: bool = True
    needs_positive_times: bool = False
    are_results_stamped: bool = True
    is_watermark_defined: bool = True
    function: str = ""


def draw_windows(which: str, chooser: random.Random, *, plain: bool = False) -> Windows:
    """Windows of a kind; `plain` ones have the trigger that comes with them, and do not tell the watermark."""
    windows = _ASSIGNERS[which](chooser)
    windows.is_watermark_defined = not plain
    if not plain and not windows.trigger and windows.has_time and chooser.random() < 0.55:
        windows.trigger = _trigger(chooser, windows)
        windows.are_results_stamped = windows.trigger.startswith("EventTime")
        if chooser.random() < 0.25 and "Eager" not in windows.trigger:
            windows.trigger = f"PurgingTrigger.of({windows.trigger})"
            windows.imports.add("PurgingTrigger")
        if "Continuous" in windows.trigger or "Eager" in windows.trigger:
            windows.is_ordered = windows.is_ordered and not windows.assigner.startswith(("Sliding", "Number"))
    return windows


def _tumbling(chooser: random.Random) -> Windows:
    size = chooser.randint(1, 14)
    offset = chooser.choice(["", f", ms({chooser.randint(1 - size, size - 1)})"])
    return Windows(f"TumblingEventTimeWindows.of(ms({size}){offset})", imports={"TumblingEventTimeWindows"})


def _sliding(chooser: random.Random) -> Windows:
    size = chooser.randint(2, 14)
    slide = chooser.randint(max(1, size // 4), size)
    offset = chooser.choice(["", f", ms({chooser.randint(1 - slide, slide - 1)})"])
    return Windows(f"SlidingEventTimeWindows.of(ms({size}), ms({slide}){offset})", imports={"SlidingEventTimeWindows"})


def _session(chooser: random.Random) -> Windows:
    gap = chooser.randint(1, 9)
    return Windows(f"EventTimeSessionWindows.with_gap(ms({gap}))", imports={"EventTimeSessionWindows"}, is_merging=True)


def _dynamic_session(chooser: random.Random) -> Windows:
    return Windows(
        "EventTimeSessionWindows.with_dynamic_gap(NumberGap())", imports={"EventTimeSessionWindows"}, is_merging=True
    )


def _own(chooser: random.Random) -> Windows:
    return Windows(f"NumberWindows({chooser.randint(2, 9)})")


def _count(chooser: random.Random) -> Windows:
    return Windows(method=f"count_window({chooser.randint(1, 5)})", has_time=False, are_results_stamped=False)


def _count_sliding(chooser: random.Random) -> Windows:
    """PyFlink's have only full windows, and Java's end at every slide, so the function looks away from the others."""
    slide = chooser.randint(1, 3)
    size = slide * chooser.randint(1, 3)
    return Windows(
        method=f"count_window({size}, {slide})",
        has_time=False,
        are_results_stamped=False,
        function=f"process(FullOnly({size}))",
    )


def _global(chooser: random.Random) -> Windows:
    count = f"CountTrigger.of({chooser.randint(1, 5)})"
    trigger = chooser.choice([count, f"PurgingTrigger.of({count})", "EventTimeTrigger.create()", "Eager(6)"])
    imports = {"GlobalWindows", "PurgingTrigger", "CountTrigger", "EventTimeTrigger"}
    return Windows(
        "GlobalWindows.create()", trigger=trigger, imports=imports, has_time=False, are_results_stamped=False
    )


def _all(chooser: random.Random) -> Windows:
    windows = chooser.choice([_tumbling, _sliding, _session])(chooser)
    windows.is_all = True
    return windows


_ASSIGNERS = {
    "tumbling": _tumbling,
    "sliding": _sliding,
    "session": _session,
    "dynamic session": _dynamic_session,
    "own assigner": _own,
    "count": _count,
    "count sliding": _count_sliding,
    "global": _global,
    "all": _all,
}


def _trigger(chooser: random.Random, windows: Windows) -> str:
    match chooser.randrange(4):
        case 0:
            windows.imports.add("CountTrigger")
            return f"CountTrigger.of({chooser.randint(1, 4)})"
        case 1 if not windows.is_merging:
            windows.imports.add("ContinuousEventTimeTrigger")
            windows.needs_positive_times = True
            return f"ContinuousEventTimeTrigger.of(ms({chooser.randint(2, 9)}))"
        case 2:
            windows.imports.add("EventTimeTrigger")
            return "EventTimeTrigger.create()"
        case _:
            return f"Eager({chooser.choice([0, 2, 5])})"


def draw_function(chooser: random.Random, windows: Windows) -> tuple[str, bool]:
    """The call that ends the windows, and whether it has a side output."""
    if windows.function:
        return windows.function, False
    if windows.is_all:
        return "process(AllNames())", False
    calls = [
        "process(Names())",
        "process(Names())",
        "process(BigOnesAside())",
        "apply(Applied())",
        "reduce(Sum())",
        "reduce(Sum(), Reduced())",
        "aggregate(Collect())",
        "aggregate(Collect(), Collected())",
    ]
    # A merged window has no state of its own, and PyFlink's count windows have one each where Java has a single one.
    if windows.is_ordered and not windows.is_merging and not windows.method:
        calls.append("process(Firings())")
    if not windows.is_watermark_defined:
        calls = [call for call in calls if "Names" not in call and "Reduced" not in call]
    call = chooser.choice(calls)
    return call, "BigOnesAside" in call


def exact_modes(windows: Windows) -> set[str]:
    """Where PyFlink is exact.

    With processes it learns too late of timers that a timer sets, as the continuous trigger does. With threads no timer
    at the end of time fires, which is where global windows end.
    """
    if "Continuous" in windows.trigger:
        return {"thread"}
    if windows.assigner.startswith("Global") and "Count" not in windows.trigger:
        return {"process"}
    return {"process", "thread"}


def loses_state_in_merges(windows: Windows, call: str) -> bool:
    """Where two sessions become one, PyFlink keeps one part of what was reduced or aggregated, and loses the other."""
    return windows.is_merging and ("Count" in windows.trigger or call.startswith(("reduce", "aggregate")))
