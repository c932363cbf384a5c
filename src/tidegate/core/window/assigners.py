"""The window assigners that come with Tidegate: which windows an element belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, Self

from tidegate.core.time.duration import DurationLike, as_millis, as_span, positive_millis
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, add, saturate
from tidegate.core.window.evictors import CountEvictor, Evictor
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from tidegate.core.window.window_assigner import MergingWindowAssigner, WindowAssigner, WindowStagger
from tidegate.core.window.windows import GlobalWindow, TimeWindow, Window
from tidegate.errors import InvalidTypeError, InvalidValueError

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "MergingWindowAssigner",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "SessionWindows",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SlidingWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "TumblingWindows",
    "WindowAssigner",
    "WindowStagger",
]

MAX_WINDOWS_PER_ELEMENT = 10_000_000


class TimeWindows(WindowAssigner):
    """Windows that are spans of time; the time of an element is its timestamp or the clock."""

    @abstractmethod
    def _windows_at(self, element: Any, time: int) -> Collection[TimeWindow]:
        """The windows of an element whose time is `time`."""


class ByEventTime(TimeWindows):
    """The time of an element is its timestamp."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self._windows_at(element, timestamp)

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ByClock(TimeWindows):
    """The time of an element is the clock when it arrives."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self._windows_at(element, context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class TumblingWindows(TimeWindows):
    """What both tumbling windows share. The constructor takes integer milliseconds too, as PyFlink's does."""

    def __init__(
        self,
        size: int | DurationLike,
        offset: int | DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        self.size = positive_millis(as_span(size), f"{name}: size")
        self.offset = 0 if offset is None else as_millis(as_span(offset), f"{name}: offset")
        if abs(self.offset) >= self.size:
            raise InvalidValueError(
                f"{name}: the offset must be smaller than the size {self.size} ms, got {self.offset} ms"
            )
        self.stagger = window_stagger

    def staggered(self, shift: int) -> Self:
        """These windows, started `shift` later."""
        return type(self)(self.size, (self.offset + shift) % self.size)

    def _windows_at(self, element: Any, time: int) -> Collection[TimeWindow]:
        start = time - (time - self.offset) % self.size
        end = start + self.size
        if start < MIN_TIME or end > MAX_TIME:
            return (TimeWindow(saturate(start), saturate(end)),)
        return (TimeWindow(start, end),)


class TumblingEventTimeWindows(ByEventTime, TumblingWindows):
    """Windows of one size, side by side, by event time."""

    @staticmethod
    def of(
        size: DurationLike,
        offset: DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        _spans("TumblingEventTimeWindows.of", size, offset)
        return TumblingEventTimeWindows(size, offset, window_stagger)


class TumblingProcessingTimeWindows(ByClock, TumblingWindows):
    """Windows of one size, side by side, by the clock."""

    @staticmethod
    def of(
        size: DurationLike,
        offset: DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        _spans("TumblingProcessingTimeWindows.of", size, offset)
        return TumblingProcessingTimeWindows(size, offset, window_stagger)


class SlidingWindows(TimeWindows):
    """What both sliding windows share. The constructor takes integer milliseconds too, as PyFlink's does."""

    def __init__(
        self, size: int | DurationLike, slide: int | DurationLike, offset: int | DurationLike | None = None
    ) -> None:
        name = type(self).__name__
        self.size = positive_millis(as_span(size), f"{name}: size")
        self.slide = positive_millis(as_span(slide), f"{name}: slide")
        self.offset = 0 if offset is None else as_millis(as_span(offset), f"{name}: offset")
        if abs(self.offset) >= self.slide:
            raise InvalidValueError(
                f"{name}: the offset must be smaller than the slide {self.slide} ms, got {self.offset} ms"
            )
        if self.size // self.slide > MAX_WINDOWS_PER_ELEMENT:
            raise InvalidValueError(
                f"{name}: {self.size // self.slide} windows for each element are too many; use a longer slide"
            )

    def _windows_at(self, element: Any, time: int) -> Collection[TimeWindow]:
        """The windows that hold `time`, newest first."""
        size = self.size
        start = time - (time - self.offset) % self.slide
        windows = []
        while start > time - size:
            windows.append(TimeWindow(saturate(start), add(start, size)))
            start -= self.slide
        return windows


class SlidingEventTimeWindows(ByEventTime, SlidingWindows):
    """Windows of one size that start every slide, by event time."""

    @staticmethod
    def of(size: DurationLike, slide: DurationLike, offset: DurationLike | None = None) -> SlidingEventTimeWindows:
        _spans("SlidingEventTimeWindows.of", size, slide, offset)
        return SlidingEventTimeWindows(size, slide, offset)


class SlidingProcessingTimeWindows(ByClock, SlidingWindows):
    """Windows of one size that start every slide, by the clock."""

    @staticmethod
    def of(size: DurationLike, slide: DurationLike, offset: DurationLike | None = None) -> SlidingProcessingTimeWindows:
        _spans("SlidingProcessingTimeWindows.of", size, slide, offset)
        return SlidingProcessingTimeWindows(size, slide, offset)


class SessionWindowTimeGapExtractor(ABC):
    """Gives each element the gap, in milliseconds, after which its session ends. A lambda may stand in its place."""

    @abstractmethod
    def extract(self, element: Any) -> int: ...


class SessionWindows(TimeWindows, MergingWindowAssigner):
    """What all session windows share: `[time, time + gap)`, merged where two overlap or touch."""

    def __init__(self, session_gap: int | DurationLike) -> None:
        self._extract: Callable[[Any], int] | None = None
        self.session_gap = positive_millis(as_span(session_gap), f"{type(self).__name__}: gap")

    def _use(self, extractor: Any) -> None:
        """Ask each element for its gap."""
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            self._extract = extractor.extract
        elif callable(extractor):
            self._extract = extractor
        else:
            raise InvalidTypeError(
                f"with_dynamic_gap: expected a SessionWindowTimeGapExtractor or a function, got {extractor!r}"
            )
        self.session_gap = 0

    def _windows_at(self, element: Any, time: int) -> Collection[TimeWindow]:
        if self._extract is None:
            return (TimeWindow(time, add(time, self.session_gap)),)
        gap = self._extract(element)
        if isinstance(gap, bool) or not isinstance(gap, int) or gap <= 0:
            raise InvalidValueError(
                f"{type(self).__name__}: the gap of {element!r} must be an integer above 0 ms, got {gap!r}"
            )
        return (TimeWindow(time, add(time, gap)),)

    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback) -> None:
        TimeWindow.merge_windows(windows, callback.merge)


class EventTimeSessionWindows(ByEventTime, SessionWindows):
    """Sessions by event time."""

    @staticmethod
    def with_gap(size: DurationLike) -> EventTimeSessionWindows:
        _spans("EventTimeSessionWindows.with_gap", size)
        return EventTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows:
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(ByClock, SessionWindows):
    """Sessions by the clock."""

    @staticmethod
    def with_gap(size: DurationLike) -> ProcessingTimeSessionWindows:
        _spans("ProcessingTimeSessionWindows.with_gap", size)
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows:
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(EventTimeSessionWindows):
    """Sessions by event time whose gap depends on the element."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]) -> None:
        self._use(session_window_time_gap_extractor)


class DynamicProcessingTimeSessionWindows(ProcessingTimeSessionWindows):
    """Sessions by the clock whose gap depends on the element."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]) -> None:
        self._use(session_window_time_gap_extractor)


class GlobalWindows(WindowAssigner):
    """Everything of a key in one window. It fires only by a trigger that the user sets."""

    def __init__(self, default_trigger: Trigger | None = None) -> None:
        self._default_trigger = NeverTrigger() if default_trigger is None else default_trigger

    @staticmethod
    def create() -> GlobalWindows:
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext,
    ) -> Collection[Window]:
        return (GlobalWindow(),)

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return self._default_trigger

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(GlobalWindows):
    """Every n elements of a key are a window; a rest that never fills stays."""

    def __init__(self, window_size: int) -> None:
        super().__init__(PurgingTrigger(CountTrigger(window_size)))

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        return CountTumblingWindowAssigner(window_size)


class CountSlidingWindowAssigner(GlobalWindows):
    """Every `slide` elements of a key, the last `size` of them are a window, also before there are that many."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(CountTrigger(window_slide))
        self._evictor = CountEvictor(window_size)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        return CountSlidingWindowAssigner(window_size, window_slide)

    def get_default_evictor(self) -> Evictor | None:
        return self._evictor


def _spans(where: str, *spans: DurationLike | None) -> None:
    """Refuse plain numbers, which do not say their unit."""
    for span in spans:
        if span is not None:
            as_millis(span, where)
