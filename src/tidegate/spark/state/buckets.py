"""Keyed state in buckets of keys: only those that a batch touches are read, and only those that it changed written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tidegate.core.key.hashing import stable_hash
from tidegate.core.state.keyed_store import Slots
from tidegate.spark.state.blobs import BlobCache, blob_name

KEYS_PER_BUCKET: Final = 512
"""How many keys share a blob on average. Each blob that a batch touches is a call, and is read as a whole."""
_GOLDEN: Final = 0x9E3779B97F4A7C15


def bucket_of(key: Any, count: int) -> int:
    """The bucket of a key among so many, as in linear hashing: one more bucket takes keys from one other only.

    Keys of a subtask are alike in the highest bits of their hash as `place_of` spreads it, so others are taken.
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

    So the cost of a batch follows the keys it touches and those it adds, not the keys stored. How many buckets and keys
    there are is in `meta`, which is saved with the rest of the subtask.
    """

    def __init__(self, cache: BlobCache, uid: str, meta: dict[str, Any]) -> None:
        self._cache = cache
        self._uid = uid
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
        count, needed = self._meta["buckets"], -(-self._meta["keys"] // KEYS_PER_BUCKET)
        if needed > 2 * count:
            self._spread(count, needed)
            return
        for index in range(count, needed):
            self._meta["buckets"] += 1
            parent = self._bucket(parent_of(index))
            moved = {key: slots for key, slots in parent.items() if bucket_of(key, index + 1) == index}
            for key in moved:
                del parent[key]
            self._cache.create(self._name(index), moved)

    def _spread(self, count: int, needed: int) -> None:
        """Most keys are new: put all of them into their buckets at once."""
        parts: list[dict[Any, Slots]] = [{} for _ in range(needed)]
        for index in range(count):
            for key, slots in self._bucket(index).items():
                parts[bucket_of(key, needed)][key] = slots
        for index, part in enumerate(parts):
            (self._cache.replace if index < count else self._cache.create)(self._name(index), part)
        self._meta["buckets"] = needed

    def _bucket(self, index: int) -> dict[Any, Slots]:
        bucket: dict[Any, Slots] = self._cache.load(self._name(index), {})
        return bucket

    def _name(self, index: int) -> str:
        return blob_name("keys", str(index), self._uid)
