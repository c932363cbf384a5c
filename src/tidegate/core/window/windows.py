"""Windows: half-open spans of time `[start, end)`, and the one window that never ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.core.time.millis import MAX_TIME


class Window(ABC):
    """What elements are grouped into. Windows are values: equal windows of a key are the same window."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The highest timestamp that still belongs to the window; it fires when the watermark reaches it."""


class _TimeSpan(NamedTuple):
    start: int
    end: int


class TimeWindow(_TimeSpan, Window):
    """`[start, end)` in milliseconds.

    >>> TimeWindow(0, 1000).max_timestamp()
    999
    """

    __slots__ = ()

    def max_timestamp(self) -> int:
        return self[1] - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the two overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window that `timestamp` falls into, also below zero."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Callable[[list[TimeWindow], TimeWindow], None]) -> None:
        """Report every group of windows that overlap or touch, with the window that covers the group."""
        group: list[TimeWindow] = []
        covering: TimeWindow | None = None
        for window in sorted(set(windows)):
            if covering is not None and covering.intersects(window):
                covering = covering.cover(window)
                group.append(window)
                continue
            if covering is not None and len(group) > 1:
                callback(group, covering)
            group, covering = [window], window
        if covering is not None and len(group) > 1:
            callback(group, covering)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


@dataclass(frozen=True, slots=True)
class CountWindow(Window):
    """A window by number, for assigners that count; it never ends by time.

    Tidegate's own count windows are global windows with a count trigger, as in Java Flink.
    """

    id: int

    def max_timestamp(self) -> int:
        return MAX_TIME


class GlobalWindow(Window):
    """The one window that holds everything and never ends."""

    __slots__ = ()
    _instance: GlobalWindow | None = None

    def __new__(cls) -> GlobalWindow:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @staticmethod
    def get() -> GlobalWindow:
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_TIME

    def __reduce__(self) -> tuple[type[GlobalWindow], tuple[()]]:
        return GlobalWindow, ()

    def __repr__(self) -> str:
        return "GlobalWindow()"
