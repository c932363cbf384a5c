"""What the query does with each batch: its packets go to the sinks, in the driver's process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from tidegate.core.operator.sink import BatchId
from tidegate.engine.messages import Target
from tidegate.engine.plan import SINKS
from tidegate.engine.sinks import Sinks
from tidegate.errors import ClosedError
from tidegate.spark.query.batch_folder import BatchFolder, SinkMessages, batch_token, sink_messages
from tidegate.spark.query.batch_states import BatchStates
from tidegate.spark.query.layout import BATCHES, QUERY, SINKS_STATE

_INTERRUPT: Final = "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
"""What Spark looks for in the error of a batch function to tell an interrupt from a failure."""


class SinkBatches:
    """Gives batches to the sinks, once each and in order, and saves what the sinks know with the batch."""

    def __init__(
        self,
        sinks: Sinks,
        group_keys: Sequence[int],
        folder: Path,
        *,
        check_owner: Callable[[], None],
        on_commit: Callable[[], None],
        undoes: bool,
    ) -> None:
        """`check_owner` raises where the checkpoint is another's by now: then nothing is committed.

        `undoes` is whether sinks may take back what they have got of batches that come again as others.
        """
        self._undoes = undoes
        self._sinks = sinks
        self._check_owner = check_owner
        self._on_commit = on_commit
        self._group_keys = tuple(group_keys)
        self._folder = folder
        self._states = BatchStates(folder / SINKS_STATE, sinks.snapshot())
        sinks.restore(self._states.last)
        self._from_server: BatchFolder | None = None
        self._lock = threading.Lock()
        self._is_open = False
        self._is_stopping = False
        self.is_running = False
        """Whether a batch runs whose results the sinks have not been given."""

    @property
    def last_batch(self) -> int:
        """The last batch that the sinks were given, -1 before any."""
        return self._states.last_batch

    def open(self) -> None:
        if not self._is_open:
            self._sinks.open()
            self._is_open = True

    def close(self) -> None:
        # Spark does not wait for the function of a batch that it interrupts.
        with self._lock:
            if self._is_open:
                self._sinks.close()
            self._is_open = False

    def refuse_more(self) -> None:
        """Give the sinks no further batch. When this returns they have all of a batch, or nothing."""
        with self._lock:
            self._is_stopping = True

    def function(self, *, is_remote: bool) -> Callable[[DataFrame, int], None]:
        """What Spark calls with each batch. A Connect server cannot call into this process, so it writes files."""
        if not is_remote:
            self._clean_up()
            return self._take_rows
        self._from_server = BatchFolder(self._folder / BATCHES)
        self.is_running = True
        self.take()
        self._clean_up()
        return self._from_server.writer(self._folder / QUERY)

    def take_empty(self, batch_id: int) -> None:
        """A batch of Spark's own, in which there was nothing for the sinks: they learn of its number."""
        if batch_id > self._states.last_batch:
            self._write([], BatchId(batch_id, batch_token(self._folder / QUERY, batch_id)))

    def take(self) -> None:
        """Take the batches that a server has written."""
        if self._from_server is not None:
            for batch, messages in self._from_server.waiting(self._states.last_batch):
                self._write(messages, batch)

    def _clean_up(self) -> None:
        # Where it may come to a refusal, what lies there may be that of a run that goes on.
        if self._undoes:
            self._sinks.clean_up()

    def _take_rows(self, rows: DataFrame, batch_id: int) -> None:
        messages = self._collect(rows, batch_id)
        self._write(messages, BatchId(batch_id, batch_token(self._folder / QUERY, batch_id)))

    def _collect(self, rows: Any, batch_id: int) -> SinkMessages:
        """Run the batch. If a stop interrupts it, Spark hears so in few words.

        Spark knows an interrupt by a pattern in the message, and long messages overflow its stack.
        """
        self.is_running = True
        try:
            return sink_messages(rows)
        except Exception:
            if not self._is_stopping:
                raise
            raise _stopped(batch_id) from None

    def _write(self, messages: SinkMessages, batch: BatchId) -> None:
        batch = BatchId(batch, batch.token, undoes=self._undoes)
        with self._lock:
            if self._is_stopping or not self._is_open:
                raise _stopped(batch)
            self.is_running = False
            if batch <= self._states.last_batch:
                self._sinks.restore(self._states.before(batch))
            self._check_owner()
            self._sinks.begin_batch(batch)
            self._sinks.process(
                (Target(SINKS, self._group_keys.index(gid)), message) for gid, some in messages for message in some
            )
            self._check_owner()
            self._sinks.commit_batch(batch)
            self._states.save(batch, self._sinks.snapshot())
            self._on_commit()


def _stopped(batch_id: int) -> ClosedError:
    return ClosedError(f"batch {batch_id}: the job has stopped. {_INTERRUPT}")
