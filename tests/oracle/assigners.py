"""Tidegate's window assigners under a script."""

from __future__ import annotations

from typing import Any

from tests.oracle.script import Script, Step

from tidegate.core.time.duration import Time
from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    TumblingWindows,
    WindowAssigner,
    WindowStagger,
)

ms = Time.milliseconds


class _Context(WindowAssigner.WindowAssignerContext):
    def __init__(self) -> None:
        self.now = 0

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        return None


def assigner(script: Script) -> WindowAssigner:
    size, slide, offset = (ms(script.get(name, 0)) for name in ("size", "slide", "offset"))
    stagger = WindowStagger.NATURAL if script.get("natural") else WindowStagger.ALIGNED
    match script["assigner"]:
        case "tumbling_event":
            return TumblingEventTimeWindows.of(size, offset, stagger)
        case "tumbling_clock":
            return TumblingProcessingTimeWindows.of(size, offset, stagger)
        case "sliding_event":
            return SlidingEventTimeWindows.of(size, slide, offset)
        case "sliding_clock":
            return SlidingProcessingTimeWindows.of(size, slide, offset)
        case "session_event":
            return EventTimeSessionWindows.with_gap(size)
        case "session_clock":
            return ProcessingTimeSessionWindows.with_gap(size)
        case "dynamic_event":
            return EventTimeSessionWindows.with_dynamic_gap(lambda gap: int(gap))
        case _:
            return ProcessingTimeSessionWindows.with_dynamic_gap(lambda gap: int(gap))


class Assigner:
    """An assigner; one that starts with its first element is staggered then, as the window operator does it."""

    def __init__(self, script: Script) -> None:
        self._assigner = assigner(script)
        self._is_staggered = not script.get("natural")
        self._context = _Context()

    def step(self, step: Step) -> Any:
        _, element, timestamp, now = step
        self._context.now = now
        if not self._is_staggered:
            assert isinstance(self._assigner, TumblingWindows)
            shift = self._assigner.stagger.offset(now, self._assigner.size, 0)
            self._assigner = self._assigner.staggered(shift)
            self._is_staggered = True
        return [list(window) for window in self._assigner.assign_windows(element, timestamp, self._context)]
