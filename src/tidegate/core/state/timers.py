"""Timers: what a function asked to be called for, per key and namespace."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, Clock, check_timestamp


class Timer(NamedTuple):
    timestamp: int
    key: Any
    namespace: Any


class TimerQueue(Protocol):
    """A set of timers, earliest first; equal timestamps in the order of registration."""

    def __len__(self) -> int: ...

    def add(self, timestamp: int, key: Any, namespace: Any) -> None: ...

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None: ...

    def pop_until(self, timestamp: int) -> Timer | None:
        """Remove and return the earliest timer at or before `timestamp`."""

    def next_timestamp(self) -> int | None: ...


class MemoryTimerQueue:
    """A heap with lazy deletion: a removed timer's entry stays in the heap until it reaches the top."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Any, Any], int] = {}
        self._heap: list[tuple[int, int, Any, Any]] = []
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        timer = (timestamp, key, namespace)
        if timer not in self._numbers:
            number = self._next_number
            self._next_number = number + 1
            self._numbers[timer] = number
            heapq.heappush(self._heap, (timestamp, number, key, namespace))

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        if self._numbers.pop((timestamp, key, namespace), None) is not None and (
            len(self._heap) > 2 * len(self._numbers) + 64
        ):
            self._heap = [(t, number, k, n) for (t, k, n), number in self._numbers.items()]
            heapq.heapify(self._heap)

    def pop_until(self, timestamp: int) -> Timer | None:
        head = self._live_head()
        if head is None or head[0] > timestamp:
            return None
        heapq.heappop(self._heap)
        timer = Timer(head[0], head[2], head[3])
        del self._numbers[timer]
        return timer

    def next_timestamp(self) -> int | None:
        head = self._live_head()
        return None if head is None else head[0]

    def snapshot(self) -> Snapshot:
        timers = sorted(self._numbers.items(), key=lambda item: item[1])
        return make_snapshot("timers", 1, timers=[list(timer) for timer, _ in timers])

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]  # restoring starts from nothing
        for timestamp, key, namespace in open_snapshot(snapshot, "timers", 1)["timers"]:
            self.add(timestamp, key, namespace)

    def _live_head(self) -> tuple[int, int, Any, Any] | None:
        heap = self._heap
        while heap:
            timestamp, number, key, namespace = heap[0]
            if self._numbers.get((timestamp, key, namespace)) == number:
                return heap[0]
            heapq.heappop(heap)
        return None


class TimerService:
    """The timers of one operator subtask, in event time and in processing time.

    Event-time timers fire when `timestamp <= watermark`, processing-time timers when `timestamp < now`: at 999 the
    window [0, 1000) can still get records. In the callback the current watermark is already the new one. A timer
    registered in a callback at or before it fires in the same advance; one registered for the past outside of an
    advance waits for the next.
    """

    def __init__(
        self,
        event_queue: TimerQueue,
        processing_queue: TimerQueue,
        clock: Clock,
        *,
        on_event_time: Callable[[Timer], None],
        on_processing_time: Callable[[Timer], None],
    ) -> None:
        self.event_queue = event_queue
        self.processing_queue = processing_queue
        self._clock = clock
        self._on_event_time = on_event_time
        self._on_processing_time = on_processing_time
        self.current_watermark = MIN_TIME
        self.num_fired_timers = 0

    def current_processing_time(self) -> int:
        return self._clock()

    def register_event_time(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        if type(timestamp) is not int or not MIN_TIME <= timestamp <= MAX_TIME:
            timestamp = check_timestamp(timestamp, "register_event_time_timer")
        self.event_queue.add(timestamp, key, namespace)

    def register_processing_time(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        self.processing_queue.add(check_timestamp(timestamp, "register_processing_time_timer"), key, namespace)

    def delete_event_time(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        self.event_queue.remove(timestamp, key, namespace)

    def delete_processing_time(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        self.processing_queue.remove(timestamp, key, namespace)

    def advance_watermark(self, watermark: int, should_stop: Callable[[], bool] | None = None) -> bool:
        """Fire what the watermark passes. Returns False if `should_stop` ended the advance before all had fired.

        It is asked after each timer, so at least one fires. Calling again with the same watermark takes the advance
        up where it stopped.
        """
        self.current_watermark = watermark
        queue = self.event_queue
        while (timer := queue.pop_until(watermark)) is not None:
            self.num_fired_timers += 1
            self._on_event_time(timer)
            if should_stop is not None and should_stop():
                following = queue.next_timestamp()
                return following is None or following > watermark
        return True

    def advance_processing_time(self) -> None:
        """Fire the processing-time timers that the clock has passed."""
        now = self._clock()
        while (timer := self.processing_queue.pop_until(now - 1)) is not None:
            self.num_fired_timers += 1
            self._on_processing_time(timer)
