"""Random scripts for windows: assigners, merging, triggers, evictors."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.oracle.script import Script, Step

from tidegate.core.time.millis import MAX_TIME, MIN_TIME

ASSIGNERS = (
    "tumbling_event",
    "tumbling_clock",
    "sliding_event",
    "sliding_clock",
    "session_event",
    "session_clock",
    "dynamic_event",
    "dynamic_clock",
)


def assigner_script(rng: Random) -> Script:
    """Times around zero, around today and at the ends of time; some settings that must be refused."""
    size = rng.choice([1, 2, 3, 7, 10, 60, 1_000, 3_600_000])
    script: Script = {"kind": "assigner", "assigner": rng.choice(ASSIGNERS), "size": size}
    if script["assigner"].startswith("sliding"):
        script["slide"] = max(1, rng.choice([size // 4, size // 2, size, 2 * size, size - 1]))
    if rng.random() < 0.6:
        reach = script.get("slide", size)
        script["offset"] = rng.choice([rng.randint(1 - reach, reach - 1), rng.randint(-reach, reach)])
    if script["assigner"].startswith("tumbling") and rng.random() < 0.2:
        script["natural"] = True
    if rng.random() < 0.02:
        script["size"] = rng.choice([0, -1])
    steps: list[Step] = []
    for _ in range(rng.randint(2, 8)):
        near = rng.choice([0, 0, 0, 1_700_000_000_000, -1_700_000_000_000])
        time = near + rng.randint(-3 * size, 3 * size)
        if rng.random() < 0.02:
            # Just above the lowest time Flink's sliding windows never end.
            above = 0 if "slide" in script else rng.randint(0, size)
            time = rng.choice([MIN_TIME, MIN_TIME + above, MAX_TIME - rng.randint(0, size)])
        gap = size if rng.random() < 0.95 else rng.choice([0, -1])
        steps.append(["assign", gap, time, time + rng.randint(-size, size) if abs(time) < 2**62 else time])
    return script | {"steps": steps}


def _span(rng: Random, *, longest: int = 12) -> list[int]:
    start = rng.randint(-30, 50)
    return [start, start + rng.randint(1, longest)]


def merge_script(rng: Random) -> Script:
    steps = [["merge", *(_span(rng) for _ in range(rng.randint(0, 9)))] for _ in range(rng.randint(1, 4))]
    return {"kind": "merge", "steps": steps}


def merging_set_script(rng: Random) -> Script:
    """Windows that overlap, touch, contain each other or come twice; a watermark that retires them."""
    watermark = -40
    longest = rng.choice([3, 8, 20])
    steps: list[Step] = []
    for number in range(rng.randint(4, 24)):
        draw = rng.random()
        if draw < 0.08:
            steps.append(["retire", rng.randrange(8)])
        elif draw < 0.2:
            watermark += rng.randint(0, 15)
            steps.append(["watermark", watermark])
        else:
            steps.append(["add", number, _span(rng, longest=longest)])
    return {"kind": "merging_set", "steps": steps}


MERGING = ("event", "clock", "count", "continuous_event", "continuous_clock")


def _trigger(rng: Random, *, depth: int = 2) -> list[Any]:
    """The description of a trigger: `[name, argument, ...]`."""
    name = rng.choice([*MERGING, "delta", "end", "never", *(["purging", "timeout", "timeout"] if depth else [])])
    match name:
        case "count":
            return [name, rng.randint(1, 5)]
        case "continuous_event" | "continuous_clock":
            return [name, rng.choice([1, 3, 5, 10])]
        case "delta":
            return [name, rng.choice([0, 2, 5])]
        case "purging":
            return [name, _trigger(rng, depth=depth - 1)]
        case "timeout":
            nested = _trigger(rng, depth=depth - 1)
            return [name, nested, rng.choice([1, 5, 10]), rng.random() < 0.5, rng.random() < 0.5]
    return [name]


def _names(trigger: list[Any]) -> set[str]:
    """The names of a trigger and of those in it."""
    return {trigger[0]}.union(*(_names(part) for part in trigger[1:] if isinstance(part, list)))


def can_merge(trigger: list[Any]) -> bool:
    return can_merge(trigger[1]) if trigger[0] == "purging" else trigger[0] in MERGING


def trigger_script(rng: Random) -> Script:
    """A few windows with elements, timers in both domains, merges where the trigger can, clean-ups."""
    trigger = _trigger(rng)
    windows: list[Any] = [_span(rng, longest=25) for _ in range(rng.randint(1, 4))]
    used = _names(trigger)
    if used & {"end", "never"}:  # Flink's are written for the global window only
        if used & {"event", "clock"}:
            return trigger_script(rng)
        windows = [None]
    elif not used & {"event", "clock"} and rng.random() < 0.3:  # and these for time windows only
        windows.append(None)
    watermark, now = rng.randint(-40, -20), rng.choice([0, -30])
    steps: list[Step] = [["now", now]]
    for _ in range(rng.randint(5, 22)):
        window = rng.choice(windows)
        start, end = window or (-20, 40)
        draw = rng.random()
        if draw < 0.5:
            steps.append(["element", window, rng.randint(0, 20), rng.randint(start, end - 1)])
        elif draw < 0.67:
            watermark = _later(rng, watermark, end)
            steps.append(["watermark", watermark])
        elif draw < 0.84:
            now = _later(rng, now, end)
            steps.append(["now", now])
        elif draw < 0.87:
            steps.append([rng.choice(["on_event", "on_clock"]), window, rng.choice([end - 1, rng.randint(start, end)])])
        elif draw < 0.9:
            steps.append(["clear", window])
        elif can_merge(trigger):
            steps += _merge(rng, windows)
    return {"kind": "trigger", "trigger": trigger, "steps": steps}


def _later(rng: Random, time: int, end: int) -> int:
    """A later time, now and then exactly where a window ends."""
    return max(time, end - rng.randint(0, 2)) if rng.random() < 0.25 else time + rng.randint(0, 12)


def _merge(rng: Random, windows: list[Any]) -> list[Step]:
    """Some of the windows become one that covers them and perhaps more."""
    finite = [window for window in windows if window is not None]
    if len(finite) < 2:
        return []
    merged = rng.sample(finite, rng.randint(1, len(finite)))
    result = [min(w[0] for w in merged) - rng.randint(0, 3), max(w[1] for w in merged) + rng.randint(0, 3)]
    if result in windows:
        return []
    windows[:] = [window for window in windows if window not in merged] + [result]
    return [["merge", result, *merged]]


def evictor_script(rng: Random) -> Script:
    evictor = rng.choice(["count", "time", "delta"])
    limit = rng.randint(0 if evictor == "count" else 1, 8)
    steps: list[Step] = []
    for _ in range(rng.randint(1, 5)):
        has_timestamps = rng.random() < 0.85
        values: list[Any] = [[rng.randint(-5, 20), None] for _ in range(rng.randint(1, 8))]
        if has_timestamps:
            values = [[value, rng.randint(-10, 15)] for value, _ in values]
        steps.append(["evict", *values])
    return {"kind": "evictor", "evictor": evictor, "limit": limit, "after": rng.random() < 0.4, "steps": steps}
