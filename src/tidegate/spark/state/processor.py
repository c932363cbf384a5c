"""The stateful processor that Spark runs: one stage, one subtask for each grouping key."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tidegate.engine.messages import Message, Tick
from tidegate.engine.subtask import Outbox
from tidegate.spark.state.archives import forget_archives
from tidegate.spark.state.blobs import MapStateBlobs
from tidegate.spark.state.residents import RESIDENTS, RunOfJob
from tidegate.spark.wire.packets import packet_rows, unpack
from tidegate.spark.wire.result_columns import ResultColumns

_STATE_KEY: Final = "name string"
_STATE_VALUE: Final = "data binary"
_COLUMNS: Final = ("stage", "gid", "payload")


class StageProcessor(StatefulProcessor):
    """Runs a stage of the plan. Rows for later stages and for sinks pass through.

    With `results` it is the last stage, and what goes to sinks leaves as columns.
    """

    def __init__(
        self, run: RunOfJob, stage: int, group_keys: Sequence[int], results: ResultColumns | None = None
    ) -> None:
        self._run = run
        self._stage = stage
        self._group_keys = tuple(group_keys)
        self._results = results

    def init(self, handle: StatefulProcessorHandle) -> None:
        forget_archives()
        self._blobs = MapStateBlobs(handle.getMapState("tidegate", _STATE_KEY, _STATE_VALUE))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        messages: list[Message] = []
        passing: list[tuple[int, int, bytes]] = []
        now = 0
        for frame in rows:
            columns = (frame[name] for name in (*_COLUMNS, "now"))
            for stage, gid, payload, millis in zip(*columns, strict=True):
                now = max(now, int(millis))
                if stage == self._stage:
                    messages += unpack(bytes(payload))
                else:
                    passing.append((int(stage), int(gid), bytes(payload)))
        if self._results is not None:
            for _, _, payload in passing:
                yield from self._results.frames(unpack(payload))
        elif passing:
            yield _frame(passing)
        if messages:
            subtask = self._group_keys.index(int(key[0]))
            times = [message.now for message in messages if isinstance(message, Tick) and message.now is not None]
            now = max(times, default=now)
            with without_collections():
                sent = RESIDENTS.run_batch(self._run, self._stage, subtask, self._blobs, messages, now)
                frames = list(self._frames(sent))
            yield from frames

    def close(self) -> None:
        pass

    def _frames(self, sent: Outbox) -> Iterator[pd.DataFrame]:
        if self._results is None:
            yield _frame(list(packet_rows(sent, self._group_keys)))
            return
        for messages in sent.values():
            yield from self._results.frames(messages)


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


def _frame(rows: list[tuple[int, int, bytes]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(_COLUMNS))
