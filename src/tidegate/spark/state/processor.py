"""The stateful processors that Spark runs: one stage, one subtask for each grouping key."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from tidegate.engine.messages import Message, Retired, Tick
from tidegate.engine.subtask import Outbox
from tidegate.spark.state.blobs import MapStateBlobs
from tidegate.spark.state.own_query import check_own_query, current_query_run
from tidegate.spark.state.residents import RESIDENTS, RunOfJob
from tidegate.spark.wire.packets import Rows, packet_rows, unpack
from tidegate.spark.wire.result_columns import ResultColumns
from tidegate.spark.worker import prepare_worker

# As text, Spark would parse each of them twice in every task.
_STATE_KEY: Final = StructType([StructField("name", StringType())])
_STATE_VALUE: Final = StructType([StructField("data", BinaryType())])
STATE_NAME: Final = "tidegate"
"""The state of Spark's with all blobs of a subtask."""
_PACKET: Final = Row("stage", "gid", "payload")


class StageProcessor(StatefulProcessor):
    """Runs a stage of the plan. Rows for later stages and for sinks pass through."""

    def __init__(self, run: RunOfJob, stage: int, group_keys: Sequence[int]) -> None:
        self._run = run
        self._stage = stage
        self._group_keys = tuple(group_keys)

    def init(self, handle: StatefulProcessorHandle) -> None:
        prepare_worker()
        if self._run.location is not None:
            check_own_query(self._run.location)
        self._run = self._run.of_query(current_query_run())
        self._state = handle.getMapState(STATE_NAME, _STATE_KEY, _STATE_VALUE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        passing, sent = self._run_batch(key, ((row.stage, row.gid, row.payload, row.now) for row in rows))
        for stage, gid, payload in passing:
            yield _PACKET(stage, gid, payload)
        for stage, gid, payload in packet_rows(sent, self._group_keys):
            yield _PACKET(stage, gid, payload)

    def close(self) -> None:
        pass

    def _run_batch(self, key: Any, rows: Iterable[tuple[int, int, bytes, int]]) -> tuple[Rows, Outbox]:
        """The rows that are not for this stage, and what the subtask sends."""
        messages: list[Message] = []
        passing: list[tuple[int, int, bytes]] = []
        now = 0
        for stage, gid, payload, millis in rows:
            now = max(now, int(millis))
            if stage == self._stage:
                messages += unpack(bytes(payload))
            else:
                passing.append((int(stage), int(gid), bytes(payload)))
        if not messages:
            return passing, {}
        if any(isinstance(message, Retired) for message in messages):
            # Its state is with other subtasks since the job was rescaled.
            self._state.clear()
            return passing, {}
        subtask = self._group_keys.index(int(key[0]))
        times = [message.now for message in messages if isinstance(message, Tick) and message.now is not None]
        now = max(times, default=now)
        blobs = MapStateBlobs(self._state, self._stage, subtask)
        with without_collections():
            return passing, RESIDENTS.run_batch(self._run, self._stage, subtask, blobs, messages, now)


class LastStageProcessor(StageProcessor):
    """Runs the last stage, whose results leave as columns."""

    def __init__(self, run: RunOfJob, stage: int, group_keys: Sequence[int], results: ResultColumns) -> None:
        super().__init__(run, stage, group_keys)
        self._results = results

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        columns = ("stage", "gid", "payload", "now")
        batches = (zip(*(frame[name] for name in columns), strict=True) for frame in rows)
        passing, sent = self._run_batch(key, (row for batch in batches for row in batch))
        for _, _, payload in passing:
            yield from self._results.frames(unpack(payload))
        with without_collections():
            frames = [frame for messages in sent.values() for frame in self._results.frames(messages)]
        yield from frames


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
