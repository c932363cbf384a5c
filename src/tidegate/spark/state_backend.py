"""Keyed state and timers as blobs in Spark's state store, read lazily and written in bulk.

Every call into the state store is a round trip, so keys share buckets and timers share spans of time. Only what a
batch touches is read, and only what it changed is written. Blobs begin with a version byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Final

import cloudpickle

from tidegate.core.hashing import stable_hash
from tidegate.core.pane_log import Blobs
from tidegate.core.state import Slots
from tidegate.core.timers import MemoryTimerQueue, Timer
from tidegate.errors import SnapshotError
from tidegate.spark.pickling import dumps

_VERSION: Final = b"\x01"
_KEYS_PER_BUCKET: Final = 256
_TIMER_BITS: Final = 14
"""Timers within 2**14 ms share a blob."""


class PrefixedBlobs:
    """The blobs of one operator among those of its subtask."""

    def __init__(self, blobs: Blobs, prefix: str) -> None:
        self._blobs = blobs
        self._prefix = prefix

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        return self._blobs.get(self._prefix + name, is_there=is_there)

    def put(self, name: str, data: bytes) -> None:
        self._blobs.put(self._prefix + name, data)

    def remove(self, name: str) -> None:
        self._blobs.remove(self._prefix + name)


class BlobCache:
    """Loads each blob once per batch and writes back those that changed."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._values: dict[str, Any] = {}
        self._saved: dict[str, bytes | None] = {}

    def load(self, name: str, default: Any) -> Any:
        """The value, to be changed in place; `default` if there is none."""
        if name not in self._values:
            data = self._blobs.get(name)
            self._saved[name] = data
            self._values[name] = default if data is None else _decode(data, name)
        return self._values[name]

    def replace(self, name: str, value: Any) -> None:
        if name not in self._saved:
            self._saved[name] = self._blobs.get(name)
        self._values[name] = value

    def flush(self) -> None:
        """Write what changed; values that are empty or None go."""
        for name, value in self._values.items():
            saved = self._saved[name]
            if not value:
                if saved is not None:
                    self._blobs.remove(name)
                continue
            data = _VERSION + dumps(value)
            if data != saved:
                self._blobs.put(name, data)


class BucketStore:
    """Keyed state of one operator: keys hash into buckets, whose number doubles as they grow.

    So the cost of a batch follows the keys it touches, not the keys stored.
    """

    def __init__(self, cache: BlobCache, prefix: str, meta: dict[str, Any]) -> None:
        self._cache = cache
        self._prefix = prefix
        self._meta = meta
        self._meta.setdefault("buckets", 1)
        self._meta.setdefault("keys", 0)

    def load(self, key: Any) -> Slots:
        bucket = self._bucket(stable_hash(key) % self._meta["buckets"])
        slots: Slots | None = bucket.get(key)
        if slots is None:
            slots = bucket[key] = {}
            self._meta["keys"] += 1
        return slots

    def discard(self, key: Any) -> None:
        bucket = self._bucket(stable_hash(key) % self._meta["buckets"])
        if bucket.pop(key, None) is not None:
            self._meta["keys"] -= 1

    def keys(self) -> Iterator[Any]:
        for index in range(self._meta["buckets"]):
            yield from list(self._bucket(index))

    def finish(self) -> None:
        """The batch is over: split the buckets if they have become large."""
        while self._meta["keys"] > self._meta["buckets"] * _KEYS_PER_BUCKET:
            count = self._meta["buckets"]
            for index in range(count):
                self._split(index, count)
            self._meta["buckets"] = count * 2

    def _split(self, index: int, count: int) -> None:
        bucket = self._bucket(index)
        moved = {key: slots for key, slots in bucket.items() if stable_hash(key) % (count * 2) != index}
        for key in moved:
            del bucket[key]
        self._cache.replace(f"{self._prefix}/{index + count}", moved)

    def _bucket(self, index: int) -> dict[Any, Slots]:
        bucket: dict[Any, Slots] = self._cache.load(f"{self._prefix}/{index}", {})
        return bucket


class TimerBuckets:
    """Timers of one operator and one kind of time: spans of time are blobs, and an index knows the earliest of each."""

    def __init__(self, cache: BlobCache, prefix: str, meta: dict[str, Any]) -> None:
        self._cache = cache
        self._prefix = prefix
        self._earliest: dict[int, int] = meta.setdefault("earliest", {})
        self._meta = meta
        self._meta.setdefault("next_number", 0)
        self._meta.setdefault("count", 0)
        self._queues: dict[int, _Bucket] = {}
        self._order = list(self._earliest)
        heapq.heapify(self._order)

    def __len__(self) -> int:
        count: int = self._meta["count"]
        return count

    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        span = timestamp >> _TIMER_BITS
        bucket = self._bucket(span)
        if bucket.add(timestamp, key, namespace, self._meta["next_number"]):
            self._meta["next_number"] += 1
            self._meta["count"] += 1
            if span not in self._earliest:
                heapq.heappush(self._order, span)
                self._earliest[span] = timestamp
            elif timestamp < self._earliest[span]:
                self._earliest[span] = timestamp

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        span = timestamp >> _TIMER_BITS
        if span in self._earliest:
            bucket = self._bucket(span)
            before = len(bucket)
            bucket.remove(timestamp, key, namespace)
            self._meta["count"] += len(bucket) - before
            self._note(span, bucket)

    def pop_until(self, timestamp: int) -> Timer | None:
        upcoming = self.next_timestamp()
        if upcoming is None or upcoming > timestamp:
            return None
        span = self._order[0]
        bucket = self._bucket(span)
        timer = bucket.pop_until(timestamp)
        self._meta["count"] -= timer is not None
        self._note(span, bucket)
        return timer

    def next_timestamp(self) -> int | None:
        while self._order:
            span = self._order[0]
            if span in self._earliest:
                return self._earliest[span]
            heapq.heappop(self._order)
        return None

    def finish(self) -> None:
        """The batch is over: hand the changed spans back."""
        for span, bucket in self._queues.items():
            self._cache.replace(f"{self._prefix}/{span}", bucket.timers())

    def _bucket(self, span: int) -> _Bucket:
        bucket = self._queues.get(span)
        if bucket is None:
            saved = self._cache.load(f"{self._prefix}/{span}", []) if span in self._earliest else []
            bucket = self._queues[span] = _Bucket(saved)
        return bucket

    def _note(self, span: int, bucket: _Bucket) -> None:
        earliest = bucket.next_timestamp()
        if earliest is None:
            self._earliest.pop(span, None)
        else:
            self._earliest[span] = earliest


class _Bucket(MemoryTimerQueue):
    """The timers of one span, numbered over the whole operator so that equal timestamps keep their order."""

    def __init__(self, saved: list[Any]) -> None:
        super().__init__()
        for timestamp, key, namespace, number in saved:
            self._next_number = number
            super().add(timestamp, key, namespace)

    def add(self, timestamp: int, key: Any, namespace: Any, number: int = 0) -> bool:  # type: ignore[override]
        before = len(self._numbers)
        self._next_number = number
        super().add(timestamp, key, namespace)
        return len(self._numbers) > before

    def timers(self) -> list[Any]:
        return [[*timer, number] for timer, number in sorted(self._numbers.items(), key=lambda item: item[1])]


def _decode(data: bytes, name: str) -> Any:
    if data[:1] != _VERSION:
        raise SnapshotError(
            f"state {name!r} has version {data[:1]!r}, this Tidegate reads {_VERSION!r}; "
            "continue with the Tidegate that wrote the checkpoint"
        )
    return cloudpickle.loads(data[1:])
