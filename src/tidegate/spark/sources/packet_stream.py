"""Sources of Spark's that give packets. A reader of ours plans batches on the driver and reads them on the workers."""

from __future__ import annotations

import base64
import signal
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Final

import cloudpickle
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from tidegate.spark.wire.packets import ROW_SCHEMA
from tidegate.storage.ownership import Guard

Positions = dict[str, int]
"""How far each channel has been read."""

_FORMAT: Final = "tidegate_packets"
_READER: Final = "reader_secret"
"""Spark hides the values of options that are named like this: a source may know a password."""
_NO_LIMIT: Final = 2**31 - 1


class PacketStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver, reads them on the workers. Subclasses know what is there and how it is read.

    Positions that were planned must mean the same records whenever they come again.
    """

    counts: ClassVar[str]
    """What positions count: their name in the checkpoint."""
    rests_at_stop: ClassVar[bool] = True
    """Whether nothing more is planned when the job stops, so that it comes to rest."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        self._target: Positions | None = None
        self._ends_with_target = False

    @abstractmethod
    def is_limited(self) -> bool:
        """Whether `next_positions` may stop before the end."""

    @abstractmethod
    def end(self) -> Positions:
        """Behind everything that is there now."""

    def check(self, known: Positions) -> None:
        """Refuse positions of a batch before, or of one that comes again, that are not known here."""

    def facts(self) -> dict[str, Any]:
        """What stands beside the positions of each batch, for whoever reads its offsets."""
        return {}

    def check_facts(self, known: Mapping[str, Any]) -> None:
        """Refuse to go on where the facts of a batch before say that it cannot be."""

    @abstractmethod
    def next_positions(self, start: Positions, until: Positions) -> Positions:
        """How far one batch may read."""

    @abstractmethod
    def splits(self, start: Positions, end: Positions) -> Sequence[InputPartition]:
        """What each task reads of a batch."""

    @abstractmethod
    def packets(self, split: InputPartition) -> Iterator[pa.RecordBatch]:
        """On a worker: what a split holds, as rows of packets."""

    def done(self, end: Positions) -> None:
        """Everything up to here has been processed, for good."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {self.counts: {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # Spark only hands it back: our own limits are those of the source.
        return ReadMaxFiles(_NO_LIMIT) if self.is_limited() else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._ends_with_target = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        if self._is_stopping() and self.rests_at_stop:
            return start
        self.check_facts(start)
        if self._target is None:
            self.check(start[self.counts])
        until = self.end() if self._target is None else self._target
        if self._ends_with_target:
            self._target = until
        is_all = isinstance(limit, ReadAllAvailable)
        positions = dict(until) if is_all else self.next_positions(start[self.counts], until)
        return {self.counts: positions, **self.facts()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._is_stopping()
        self.check_facts(end)
        self.check(end[self.counts])
        return self.splits(start[self.counts], end[self.counts])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.packets(partition)

    def commit(self, end: dict[str, Any]) -> None:
        self._is_stopping()
        self.done(end[self.counts])

    def _is_stopping(self) -> bool:
        """Whether the job stops. If the checkpoint is another's by now it is an error."""
        return self.guard is not None and self.guard.check().is_stopping


class PacketStream(DataSource):
    """The source as Spark knows it. Its reader travels in an option."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> PacketStreamReader:  # noqa: N802
        _end_with_the_query()
        reader: PacketStreamReader = cloudpickle.loads(base64.b64decode(self.options[_READER]))
        return reader


def _end_with_the_query() -> None:
    """Spark plans batches in a process of its own: let it end when the query does, without a word.

    It hears Ctrl-C too, and finds its connection broken when Spark is gone before it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.excepthook = _tell


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, ConnectionError):
        sys.__excepthook__(kind, error, trace)


def stream_of(session: SparkSession, reader: PacketStreamReader, guard: Guard | None) -> DataFrame:
    """The packets of a source; `guard` says whether the checkpoint still is that of its driver."""
    reader.guard = guard
    session.dataSource.register(PacketStream)
    text = base64.b64encode(cloudpickle.dumps(reader)).decode()
    return session.readStream.format(_FORMAT).option(_READER, text).load()
