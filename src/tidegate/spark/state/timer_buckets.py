"""Timers as blobs in Spark's state store: by span of time, and within a span in buckets by key.

Setting a timer reads the bucket of its key. Only when the first timer of a span is due are all of the span read.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tidegate.core.state.timers import MemoryTimerQueue, Timer
from tidegate.spark.state.blobs import BlobCache, blob_name
from tidegate.spark.state.buckets import bucket_of, parent_of

_SPAN_BITS: Final = 14
"""A span is 2**14 ms."""
TIMERS_PER_BUCKET: Final = 1_024
"""How many timers share a blob on average."""


class TimerBuckets:
    """Timers of one operator and one kind of time.

    What is known of each span is in `meta`, which is saved with the rest of the subtask.
    """

    def __init__(self, cache: BlobCache, purpose: str, uid: str, meta: dict[str, Any]) -> None:
        self._cache = cache
        self._purpose = purpose
        self._uid = uid
        self._meta = meta
        self._meta.setdefault("next_number", 0)
        self._meta.setdefault("count", 0)
        self._known: dict[int, dict[str, Any]] = meta.setdefault("spans", {})
        self._spans: dict[int, _Span] = {}
        self._order: list[int] = list(self._known)
        heapq.heapify(self._order)

    def __len__(self) -> int:
        count: int = self._meta["count"]
        return count

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        number = timestamp >> _SPAN_BITS
        if number not in self._known:
            self._known[number] = {"earliest": timestamp, "count": 0, "buckets": 1, "is_exact": True}
            heapq.heappush(self._order, number)
        if self._span(number).add(timestamp, key, namespace, self._meta["next_number"]):
            self._meta["next_number"] += 1
            self._meta["count"] += 1

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        number = timestamp >> _SPAN_BITS
        if number in self._known and self._span(number).remove(timestamp, key, namespace):
            self._removed(number)

    def pop_until(self, timestamp: int) -> Timer | None:
        while (number := self._first()) is not None and self._known[number]["earliest"] <= timestamp:
            timer = self._span(number).pop_until(timestamp)
            if timer is not None:
                self._removed(number)
                return timer
        return None

    def next_timestamp(self) -> int | None:
        number = self._first()
        if number is None:
            return None
        return self._span(number).next_timestamp()

    def finish(self) -> None:
        """The batch is over: hand the spans back. The next batch reads those that it needs."""
        for span in self._spans.values():
            span.finish()
        self._spans.clear()

    def _span(self, number: int) -> _Span:
        span = self._spans.get(number)
        if span is None:
            names = partial(self._name, number)
            span = self._spans[number] = _Span(self._cache, names, self._known[number])
        elif number in self._known:
            span.meta = self._known[number]
        return span

    def _name(self, number: int, index: int) -> str:
        return blob_name(self._purpose, f"{number}/{index}", self._uid)

    def _removed(self, number: int) -> None:
        self._meta["count"] -= 1
        if not self._known[number]["count"]:
            del self._known[number]

    def _first(self) -> int | None:
        while self._order:
            if self._order[0] in self._known:
                return self._order[0]
            heapq.heappop(self._order)
        return None


class _Span:
    """The timers of one span: apart, in buckets by key, until the order of all of them matters.

    Of its earliest timer it is known only that none is before, where that one was deleted and the others not read.
    """

    def __init__(self, cache: BlobCache, name: Callable[[int], str], meta: dict[str, Any]) -> None:
        self._cache = cache
        self._name = name
        self.meta = meta
        self._buckets: dict[int, _Timers] = {}
        self._whole: _Timers | None = None

    def add(self, timestamp: int, key: Any, namespace: Any, number: int) -> bool:
        is_new = self._timers(key).add(timestamp, key, namespace, number)
        if is_new:
            self.meta["count"] += 1
            self.meta["earliest"] = min(self.meta["earliest"], timestamp)
        return is_new

    def remove(self, timestamp: int, key: Any, namespace: Any) -> bool:
        timers = self._timers(key)
        before = len(timers)
        timers.remove(timestamp, key, namespace)
        is_gone = len(timers) < before
        if is_gone:
            self.meta["count"] -= 1
            self.meta["is_exact"] &= timestamp > self.meta["earliest"]
        return is_gone

    def pop_until(self, timestamp: int) -> Timer | None:
        timers = self._together()
        timer = timers.pop_until(timestamp)
        if timer is not None:
            self.meta["count"] -= 1
        self._note(timers)
        return timer

    def next_timestamp(self) -> int:
        if not self.meta["is_exact"]:
            self._note(self._together())
        earliest: int = self.meta["earliest"]
        return earliest

    def finish(self) -> None:
        """Hand the timers back, in as many buckets as they need."""
        count, needed = self.meta["buckets"], -(-self.meta["count"] // TIMERS_PER_BUCKET)
        if needed > 2 * count:
            self._together()
        if self._whole is not None:
            self._part()
        for index in range(self.meta["buckets"], needed):
            self.meta["buckets"] += 1
            parent = self._bucket(parent_of(index))
            moved = [timer for timer in parent.timers() if bucket_of(timer[1], index + 1) == index]
            for timestamp, key, namespace, _ in moved:
                parent.remove(timestamp, key, namespace)
            self._buckets[index] = _Timers(moved)
            self._cache.create(self._name(index), [])
        for index, timers in self._buckets.items():
            self._cache.replace(self._name(index), timers.timers())

    def _note(self, timers: _Timers) -> None:
        earliest = timers.next_timestamp()
        if earliest is not None:
            self.meta["earliest"], self.meta["is_exact"] = earliest, True

    def _timers(self, key: Any) -> _Timers:
        return self._bucket(bucket_of(key, self.meta["buckets"])) if self._whole is None else self._whole

    def _bucket(self, index: int) -> _Timers:
        bucket = self._buckets.get(index)
        if bucket is None:
            bucket = self._buckets[index] = _Timers(self._cache.load(self._name(index), []))
        return bucket

    def _together(self) -> _Timers:
        if self._whole is None:
            parts = [self._bucket(index).timers() for index in range(self.meta["buckets"])]
            self._whole = _Timers(sorted((timer for part in parts for timer in part), key=lambda timer: timer[3]))
        return self._whole

    def _part(self) -> None:
        """Timers that were together, in buckets again; those that are no longer needed are empty."""
        assert self._whole is not None
        count = max(-(-len(self._whole) // TIMERS_PER_BUCKET), 1)
        parts: list[list[Any]] = [[] for _ in range(max(count, len(self._buckets)))]
        for timer in self._whole.timers():
            parts[bucket_of(timer[1], count)].append(timer)
        self._buckets = {index: _Timers(part) for index, part in enumerate(parts)}
        self.meta["buckets"] = count


class _Timers(MemoryTimerQueue):
    """Timers that are numbered over the whole operator, so that equal timestamps keep their order."""

    def __init__(self, saved: list[Any]) -> None:
        super().__init__()
        for timestamp, key, namespace, number in saved:
            self.add(timestamp, key, namespace, number)

    def add(self, timestamp: int, key: Any, namespace: Any, number: int = 0) -> bool:  # type: ignore[override]
        before = len(self._numbers)
        self._next_number = number
        super().add(timestamp, key, namespace)
        return len(self._numbers) > before

    def timers(self) -> list[Any]:
        return [[*timer, number] for timer, number in sorted(self._numbers.items(), key=lambda item: item[1])]
