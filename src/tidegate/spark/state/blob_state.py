"""The state of a subtask's operators as blobs in Spark's state store."""

from __future__ import annotations

from typing import Any

from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.state.blobs import Blobs
from tidegate.core.state.operator_state import OperatorState
from tidegate.spark.state.blobs import BatchBlobs, BlobCache, NamedBlobs
from tidegate.spark.state.buckets import BucketStore
from tidegate.spark.state.timer_buckets import TimerBuckets


class BlobState:
    """Keyed state and timers in buckets, panes as they are; all of it lazily, within one batch at a time.

    `saved` is what an earlier one said of its stores.
    """

    def __init__(self, tables: TableCache, saved: dict[str, Any] | None = None) -> None:
        self.tables = tables
        self._batch = BatchBlobs()
        self._cache = BlobCache(self._batch)
        self._metas: dict[str, dict[str, Any]] = {} if saved is None else saved
        self._stores: list[BucketStore | TimerBuckets] = []

    def of_operator(self, uid: str) -> OperatorState:
        meta = self._metas.setdefault(uid, {"keys": {}, "event": {}, "processing": {}})
        store = BucketStore(self._cache, uid, meta["keys"])
        event = TimerBuckets(self._cache, "event", uid, meta["event"])
        processing = TimerBuckets(self._cache, "processing", uid, meta["processing"])
        self._stores += [store, event, processing]
        return OperatorState(store, event, processing, NamedBlobs(self._batch, "pane", uid))

    def begin(self, blobs: Blobs) -> None:
        """A batch begins, with these blobs."""
        self._batch.use(blobs)

    def finish(self) -> dict[str, Any]:
        """The batch is over: write what it changed. Returns what is to be saved of the stores."""
        for store in self._stores:
            store.finish()
        self._cache.flush()
        return self._metas
