"""The stateful processor that Spark runs: one stage, one subtask for each grouping key."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tidegate.core.columnar.table_cache import TableCache
from tidegate.spark.archives import forget_archives
from tidegate.spark.packing import Item, pack, unpack
from tidegate.spark.routing import Target
from tidegate.spark.stage import Stage
from tidegate.spark.stage_options import StageOptions
from tidegate.spark.tables import ResultColumns

ROW_SCHEMA: Final = "stage int, gid int, payload binary"
_STATE_KEY: Final = "name string"
_STATE_VALUE: Final = "data binary"
_TABLES: Final = TableCache()
"""What this worker still knows from batches before."""


class StageProcessor(StatefulProcessor):
    """Runs a stage of the plan. Rows for later stages and for sinks pass through.

    With `results` it is the last stage, and what goes to sinks leaves as columns.
    """

    def __init__(
        self,
        options: StageOptions,
        number: int,
        group_keys: tuple[int, ...],
        results: ResultColumns | None = None,
    ) -> None:
        self._options = options
        self._number = number
        self._group_keys = group_keys
        self._results = results

    def init(self, handle: StatefulProcessorHandle) -> None:
        forget_archives()
        self._blobs = _MapStateBlobs(handle.getMapState("tidegate", _STATE_KEY, _STATE_VALUE))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        items: list[Item] = []
        passing: list[tuple[int, int, bytes]] = []
        now = 0
        for frame in rows:
            for stage, gid, payload, millis in zip(
                frame["stage"], frame["gid"], frame["payload"], frame["now"], strict=True
            ):
                now = max(now, int(millis))
                if stage == self._number:
                    items += unpack(bytes(payload))
                else:
                    passing.append((int(stage), int(gid), bytes(payload)))
        if self._results is not None:
            for _, _, payload in passing:
                yield from self._results.frames(unpack(payload))
        elif passing:
            yield _frame(passing)
        if items:
            subtask = self._group_keys.index(int(key[0]))
            with without_collections():
                sent = Stage(self._options, self._number, subtask, self._blobs, _TABLES).process(items, now)
                frames = list(self._frames(sent))
            yield from frames

    def close(self) -> None:
        pass

    def _frames(self, sent: Iterator[tuple[Target, list[Item]]]) -> Iterator[pd.DataFrame]:
        if self._results is None:
            yield _frame([row for target, items in sent for row in self._rows(target, items)])
            return
        for _, items in sent:
            yield from self._results.frames(items)

    def _rows(self, target: Target, items: list[Item]) -> Iterator[tuple[int, int, bytes]]:
        for payload in pack(items):
            yield target.stage, self._group_keys[target.subtask], payload


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Let Python not look for garbage that refers to itself.

    The state of a batch is many objects that live: looking through them again and again takes half of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _MapStateBlobs:
    """Named blobs in a map state."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        # Spark warns of a value that is asked for and not there, and reads one that is there to say so.
        if not is_there and not self._state.containsKey((name,)):
            return None
        value = self._state.getValue((name,))
        return None if value is None else bytes(value[0])

    def put(self, name: str, data: bytes) -> None:
        self._state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        self._state.removeKey((name,))


def _frame(rows: list[tuple[int, int, bytes]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["stage", "gid", "payload"])
