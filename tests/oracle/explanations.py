"""The deliberate differences from Flink: where each may be seen, and its name in `differences.yaml`."""

from __future__ import annotations

from typing import Any

from tests.oracle.comparison import Difference
from tests.oracle.script import ERROR, Results, Script

from tidegate.core.time.millis import MAX_TIME, MIN_TIME


def without_waking(script: Script, results: Results) -> Results:
    """Results in which a channel wakes up silently, and falls idle again silently unless it sent a watermark.

    Flink and Tidegate announce active at different moments; this is what they must have in common.
    """
    is_idle = False
    kept: Results = []
    for result in results:
        if result == ERROR:
            kept.append(result)
            continue
        step: list[Any] = []
        for item in result:
            if item == "idle":
                if not is_idle:
                    step.append(item)
                is_idle = True
            elif item != "active":
                step.append(item)
                is_idle = False
        kept.append(step)
    return kept


def of_valve(difference: Difference) -> str | None:
    if _has_ended(difference):
        return "ended-channel"
    flink, tidegate = difference.flink, difference.tidegate
    if difference.step[0] == "idle" and flink == ["idle"] and tidegate[1:] == flink:
        return "lost-maximum"
    if difference.step[0] == "active" and flink in ([], ["active"]) and tidegate[:-1] == flink:
        return "stalled-minimum"
    return None


def of_ended(difference: Difference) -> str | None:
    return "ended-channel" if _has_ended(difference) else None


def of_waking(difference: Difference) -> str | None:
    """Tidegate announces active when the split wakes up, Flink when its watermark next grows."""
    return "waking-late" if difference.tidegate == ["active"] and difference.flink == [] else None


def of_idle_generator(difference: Difference) -> str | None:
    """Flink's generator can announce active later, idle after the end, and idle because of probes during a pause."""
    if difference.step[0] == "event":
        return of_waking(difference)
    if difference.step[0] != "tick" or difference.tidegate != [] or difference.flink != ["idle"]:
        return None
    if any(step[0] == "end" for step in difference.before):
        return "status-after-end"
    return "paused-probe" if _was_probed_while_paused(difference) else None


def _was_probed_while_paused(difference: Difference) -> bool:
    """Whether there was such a probe since the last event."""
    is_paused = was_probed = False
    for verb, *_ in [*difference.before, difference.step]:
        if verb in ("pause", "resume"):
            is_paused = verb == "pause"
        elif verb == "event":
            was_probed = False
        elif verb == "tick" and is_paused:
            was_probed = True
    return was_probed


def of_assigner(difference: Difference) -> str | None:
    _, element, timestamp, now = difference.step
    script = difference.script
    time = timestamp if script["assigner"].endswith("event") else now
    if time == MIN_TIME and difference.flink == ERROR:
        return "lowest-timestamp"
    size = element if script["assigner"].startswith("dynamic") else script["size"]
    leaves_range = time - size < MIN_TIME or time + size > MAX_TIME
    return "wrapped-window" if leaves_range and _all_within_range(difference.tidegate) else None


def of_merging_set(difference: Difference) -> str | None:
    """A window equal to a live one loses in Flink what that one holds, if it was made by a merge."""
    verb, element, window = difference.step
    if verb == "add" and difference.flink[:3] == [window, [], [element]] and difference.tidegate[:2] == [window, []]:
        return "equal-window"
    return None


def of_retry(difference: Difference) -> str | None:
    """Flink counts on from whatever delay was asked for last."""
    return "shared-delay" if difference.step[0] == "delay" else None


def of_trigger(difference: Difference) -> str | None:
    is_foreign = difference.step[0] == "on_clock"
    if is_foreign and difference.flink == ERROR and "continuous_clock" in str(difference.script["trigger"]):
        return "foreign-timer"
    left_behind = ("continuous_event", "end")
    may_leave = any(f"'{name}'" in str(difference.script["trigger"]) for name in left_behind)
    if may_leave and _only_end_timers(difference):
        return "timer-left-behind"
    return None


def _only_end_timers(difference: Difference) -> bool:
    """Whether Flink has further timers at the end of windows, or answers to such, and nothing else differs."""
    if ERROR in (difference.flink, difference.tidegate):
        return False
    (answers, event, clock), (our_answers, our_event, our_clock) = difference.flink, difference.tidegate
    fires_timers = difference.step[0] in ("watermark", "now")
    same_answers = _only_more_ends(answers, our_answers) if fires_timers else answers == our_answers
    return clock == our_clock and _only_more_ends(event, our_event) and same_answers


def _only_more_ends(timers: list[Any], ours: list[Any]) -> bool:
    more = [timer for timer in timers if timer not in ours]
    at_end = all(time == (MAX_TIME if window is None else window[1] - 1) for time, window, *_ in more)
    return at_end and [timer for timer in timers if timer in ours] == ours


def _all_within_range(windows: Any) -> bool:
    return all(MIN_TIME <= start <= end <= MAX_TIME for start, end in windows)


def _has_ended(difference: Difference) -> bool:
    return any(step[0] == "watermark" and step[2] == MAX_TIME for step in [*difference.before, difference.step])
