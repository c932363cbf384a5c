"""Evictors: what is taken out of a window before or after its function sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from tidegate.core.time.duration import DurationLike, positive_millis
from tidegate.errors import InvalidTypeError, InvalidValueError


class TimestampedValue(NamedTuple):
    """An element of a window with its timestamp, None if it has none."""

    value: Any
    timestamp: int | None


class Evictor(ABC):
    """Removes elements. `elements` is a list in arrival order; change it in place."""

    class EvictorContext(ABC):
        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_current_watermark(self) -> int: ...

    @abstractmethod
    def evict_before(self, elements: list[TimestampedValue], size: int, window: Any, ctx: EvictorContext) -> None:
        """Remove elements before the window function runs."""

    @abstractmethod
    def evict_after(self, elements: list[TimestampedValue], size: int, window: Any, ctx: EvictorContext) -> None:
        """Remove elements after the window function ran."""


class _OneSidedEvictor(Evictor):
    """Evicts before the function, or after it if asked to."""

    def __init__(self, do_evict_after: bool) -> None:
        self._after = do_evict_after

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        if not self._after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        if self._after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None: ...


class CountEvictor(_OneSidedEvictor):
    """Keeps the last n elements that arrived."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if isinstance(max_count, bool) or not isinstance(max_count, int) or max_count < 0:
            raise InvalidValueError(f"CountEvictor: the count must be an integer of 0 or more, got {max_count!r}")
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        surplus = len(elements) - self.max_count
        if surplus > 0:
            del elements[:surplus]


class TimeEvictor(_OneSidedEvictor):
    """Keeps what is newer than the newest element minus a span; nothing is evicted if elements have no timestamps."""

    def __init__(self, window_size: DurationLike, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size = positive_millis(window_size, "TimeEvictor: span")

    @staticmethod
    def of(window_size: DurationLike, do_evict_after: bool = False) -> TimeEvictor:
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements or elements[0].timestamp is None:
            return
        oldest = max(e.timestamp for e in elements if e.timestamp is not None) - self.window_size
        elements[:] = [e for e in elements if e.timestamp is not None and e.timestamp > oldest]


class DeltaEvictor(_OneSidedEvictor):
    """Drops what is at least the threshold away from the last element."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise InvalidTypeError(f"DeltaEvictor: expected a function (old, new) -> number, got {delta_function!r}")
        self.threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False) -> DeltaEvictor:
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            last = elements[-1].value
            elements[:] = [e for e in elements if self._delta(e.value, last) < self.threshold]
