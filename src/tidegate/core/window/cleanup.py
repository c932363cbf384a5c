"""When a window is over for good: the moment at which everything of it is forgotten."""

from __future__ import annotations

from typing import Any

from tidegate.core.state.timers import TimerQueue
from tidegate.core.time.millis import MAX_TIME


class Cleanup:
    """Forgets a window at `max_timestamp + lateness`, by a timer. One that would be at the end of time is not set.

    After a restart the lateness may be another than that which the timers of open windows were set for. Those fire all
    the same, and then the window is forgotten, or gets a timer for what is true now.
    """

    def __init__(self, lateness: int, timers: TimerQueue) -> None:
        self.lateness = lateness
        self._timers = timers
        self._earlier: list[int] = []

    def time(self, window: Any) -> int:
        last: int = window.max_timestamp()
        return min(last + self.lateness, MAX_TIME)

    def register(self, key: Any, window: Any) -> None:
        time = self.time(window)
        if time < MAX_TIME:
            self._timers.add(time, key, window)

    def delete(self, key: Any, window: Any) -> None:
        self._timers.remove(window.max_timestamp() + self.lateness, key, window)

    def is_due(self, key: Any, window: Any, timestamp: int) -> bool:
        """A timer of a window fires: whether it is the one, or one of before that comes later than that."""
        time = self.time(window)
        if timestamp == time:
            return True
        if self._earlier and timestamp - window.max_timestamp() in self._earlier:
            if timestamp > time:
                return True
            self.register(key, window)
        return False

    def snapshot(self) -> list[int]:
        return [*self._earlier, self.lateness]

    def restore(self, latenesses: list[int]) -> None:
        self._earlier = [lateness for lateness in dict.fromkeys(latenesses) if lateness != self.lateness]
