"""Sources of Spark's that give packets: workers read files and topics straight into what the program does."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

import cloudpickle
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.timestamps import TimestampAssigner
from tidegate.errors import UnsupportedError
from tidegate.graph.nodes import SourceNode
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.entry import Entry
from tidegate.spark.entry_reader import EntryReader
from tidegate.spark.processor import ROW_SCHEMA
from tidegate.spark.routing import readers_of, source_edge
from tidegate.spark.row_packer import MakeElement, RowPacker
from tidegate.spark.stage_options import StageOptions

Offset = dict[str, int]
"""How far each channel has been read."""
PacketReader = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Turns records with their places into packets."""

_FORMAT: Final = "tidegate_source"
_CHANNELS: Final = pa.dictionary(pa.int32(), pa.string())
_NO_LIMIT: Final = 2**31 - 1


class FusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver, reads them on the workers. Subclasses know what is there and how it is read.

    An offset that was planned must mean the same records whenever it comes again.
    """

    counts: ClassVar[str]
    """What offsets count: their name in the checkpoint."""

    def __init__(self, packets: PacketReader) -> None:
        self._packets = packets
        self._target: Offset | None = None

    @abstractmethod
    def is_limited(self) -> bool:
        """Whether `next_offset` may stop before the end."""

    @abstractmethod
    def end(self) -> Offset:
        """Behind everything that is there now."""

    @abstractmethod
    def next_offset(self, start: Offset, until: Offset) -> Offset:
        """How far one batch may read."""

    @abstractmethod
    def splits(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What each task reads of a batch."""

    @abstractmethod
    def batches(self, split: Any) -> Iterator[pa.RecordBatch]:
        """On a worker: the records of a split, `placed`."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {self.counts: {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # Spark only hands it back: our own limits are those of the source.
        return ReadMaxFiles(_NO_LIMIT) if self.is_limited() else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self.end()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        until = self.end() if self._target is None else self._target
        if isinstance(limit, ReadAllAvailable):
            return {self.counts: dict(until)}
        return {self.counts: self.next_offset(start[self.counts], until)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return self.splits(start[self.counts], end[self.counts])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from self._packets(self.batches(partition))


class FusedStream(DataSource):
    """The source as Spark knows it. Its reader travels in an option."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> FusedStreamReader:  # noqa: N802
        reader: FusedStreamReader = cloudpickle.loads(base64.b64decode(self.options["reader"]))
        return reader


def fused_rows(session: SparkSession, reader: FusedStreamReader) -> DataFrame:
    """The packets of a source."""
    session.dataSource.register(FusedStream)
    text = base64.b64encode(cloudpickle.dumps(reader)).decode()
    return session.readStream.format(_FORMAT).option("reader", text).load()


def placed(batch: pa.RecordBatch, channels: Any, sequence: Any = None) -> pa.RecordBatch:
    """Records with the names of their channels, and their order there if it is needed."""
    batch = batch.append_column(CHANNEL, channels.dictionary_encode().cast(_CHANNELS))
    return batch if sequence is None else batch.append_column(SEQUENCE, pa.array(sequence))


def packet_reader(
    node: SourceNode,
    entry: Entry | None,
    options: StageOptions,
    group_keys: tuple[int, ...],
    *,
    place_columns: Sequence[str] = (),
    make_element: MakeElement | None = None,
) -> PacketReader:
    """What the records of a node's source go into: straight into windows if it is an entry, else row by row."""
    if entry is not None:
        return EntryReader(entry, options, group_keys, has_sequence=entry.needs_records)
    return RowPacker(
        source_edge(options.plan.graph.uid(node)),
        group_keys,
        is_common_order=False,
        has_sequence=True,
        place_columns=place_columns,
        needs_clock=options.needs_clock,
        make_element=make_element,
    )


def find_alignment(
    node: SourceNode, options: StageOptions
) -> tuple[AlignmentParameters, TimestampAssigner] | tuple[None, None]:
    """How the channels of a source wait for each other, and what says where they are; None without alignment."""
    for reader, _, _, _ in readers_of(options.plan)[node.number]:
        spec = getattr(reader, "spec", None)
        if isinstance(spec, AssignWatermarksSpec) and spec.strategy.alignment is not None:
            if spec.strategy.idle_timeout is not None:
                raise UnsupportedError(
                    "with_watermark_alignment: on Spark a channel that is held back would be taken for idle, and its "
                    "records for late; leave out with_idleness, or the alignment"
                )
            return spec.strategy.alignment, spec.strategy.timestamp_assigner
    return None, None
