"""Keyed state as blobs in Spark's state store, read lazily and written in bulk.

Every call into the state store is a round trip, so keys share buckets. Only what a batch touches is read, and only what
it changed is written. Blobs begin with a version byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import cloudpickle

from tidegate.core.columnar.pane_log import Blobs
from tidegate.core.key.hashing import stable_hash
from tidegate.core.state.keyed_state import Slots
from tidegate.errors import SnapshotError
from tidegate.spark.pickling import dumps

_VERSION: Final = b"\x02"
PER_BUCKET: Final = 512
"""How many keys share a blob on average. Each blob that a batch touches is a call, and is read as a whole."""
_GOLDEN: Final = 0x9E3779B97F4A7C15


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

    def create(self, name: str, value: Any) -> None:
        """A value that was not there before."""
        self._saved[name] = None
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


def bucket_of(key: Any, count: int) -> int:
    """The bucket of a key among so many, as in linear hashing: one more bucket takes keys from one other only.

    Keys of a subtask are alike in the lowest bits of their hash, which chose it, so others are taken.
    """
    spread = (stable_hash(key) * _GOLDEN & 0xFFFF_FFFF_FFFF_FFFF) >> 32
    size = 1 << (count - 1).bit_length()
    index = spread & (size - 1)
    return index if index < count else index - (size >> 1)


def parent_of(index: int) -> int:
    """The bucket that a new one takes its keys from."""
    return index - (1 << (index.bit_length() - 1))


class BucketStore:
    """Keyed state of one operator: keys hash into buckets, which become more one by one.

    So the cost of a batch follows the keys it touches and those it adds, not the keys stored.
    """

    def __init__(self, cache: BlobCache, prefix: str, meta: dict[str, Any]) -> None:
        self._cache = cache
        self._prefix = prefix
        self._meta = meta
        self._meta.setdefault("buckets", 1)
        self._meta.setdefault("keys", 0)

    def load(self, key: Any) -> Slots:
        bucket = self._bucket(bucket_of(key, self._meta["buckets"]))
        slots: Slots | None = bucket.get(key)
        if slots is None:
            slots = bucket[key] = {}
            self._meta["keys"] += 1
        return slots

    def discard(self, key: Any) -> None:
        bucket = self._bucket(bucket_of(key, self._meta["buckets"]))
        if bucket.pop(key, None) is not None:
            self._meta["keys"] -= 1

    def keys(self) -> Iterator[Any]:
        for index in range(self._meta["buckets"]):
            yield from list(self._bucket(index))

    def finish(self) -> None:
        """The batch is over: make as many buckets more as its keys need."""
        count, needed = self._meta["buckets"], -(-self._meta["keys"] // PER_BUCKET)
        if needed > 2 * count:
            self._spread(count, needed)
            return
        for index in range(count, needed):
            self._meta["buckets"] += 1
            parent = self._bucket(parent_of(index))
            moved = {key: slots for key, slots in parent.items() if bucket_of(key, index + 1) == index}
            for key in moved:
                del parent[key]
            self._cache.create(f"{self._prefix}/{index}", moved)

    def _spread(self, count: int, needed: int) -> None:
        """Most keys are new: put all of them into their buckets at once."""
        parts: list[dict[Any, Slots]] = [{} for _ in range(needed)]
        for index in range(count):
            for key, slots in self._bucket(index).items():
                parts[bucket_of(key, needed)][key] = slots
        for index, part in enumerate(parts):
            (self._cache.replace if index < count else self._cache.create)(f"{self._prefix}/{index}", part)
        self._meta["buckets"] = needed

    def _bucket(self, index: int) -> dict[Any, Slots]:
        bucket: dict[Any, Slots] = self._cache.load(f"{self._prefix}/{index}", {})
        return bucket


def _decode(data: bytes, name: str) -> Any:
    if data[:1] != _VERSION:
        raise SnapshotError(
            f"state {name!r} has version {data[:1]!r}, this Tidegate reads {_VERSION!r}; "
            "continue with the Tidegate that wrote the checkpoint"
        )
    return cloudpickle.loads(data[1:])
