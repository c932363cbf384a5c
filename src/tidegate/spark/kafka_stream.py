"""Topics of Kafka as a source whose workers read them straight into what the program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.datasource import InputPartition

from tidegate.core.key.hashing import stable_hash
from tidegate.errors import UnsupportedError
from tidegate.graph.nodes import SourceNode
from tidegate.ingest.column_source import RECORD_TIME
from tidegate.ingest.kafka_offsets import OffsetRange, next_offsets, ranges_between, shared_out
from tidegate.ingest.kafka_topics import OFFSET, VALUE, KafkaTopics
from tidegate.spark.entry import Entry
from tidegate.spark.fused_stream import (
    FusedStreamReader,
    Offset,
    PacketReader,
    find_alignment,
    packet_reader,
    placed,
)
from tidegate.spark.kafka_alignment import KafkaAlignment
from tidegate.spark.kafka_log import KafkaLog
from tidegate.spark.stage_options import StageOptions

_LEAST_OF_A_TASK: Final = 5_000
"""A task with fewer records than this would take longer to connect than to read."""


@dataclass(slots=True)
class KafkaStreamConfig:
    """Everything that the source needs, on the driver and on the workers."""

    source: KafkaTopics
    packets: PacketReader
    columns: list[str]
    log_path: str
    parallelism: int
    alignment: KafkaAlignment | None = None
    needs_sequence: bool = True


@dataclass
class _Ranges(InputPartition):
    """What one task reads."""

    ranges: list[OffsetRange]


class KafkaStreamReader(FusedStreamReader):
    """Offsets are Kafka's own, of each partition."""

    counts = "offsets"

    def __init__(self, config: KafkaStreamConfig) -> None:
        super().__init__(config.packets)
        self._config = config
        self._log: KafkaLog | None = None

    def is_limited(self) -> bool:
        # What is there by now is looked at in any case: it may have lost its beginning.
        return True

    def end(self) -> Offset:
        return self._offsets().end()

    def next_offset(self, start: Offset, until: Offset) -> Offset:
        log = self._offsets()
        begin = log.positions(start, until)
        log.check(begin, until)
        if self._config.alignment is not None:
            until = self._config.alignment.limit(log.client, begin, until)
        return next_offsets(begin, until, self._config.source.max_rows)

    def splits(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        ranges = ranges_between(self._offsets().positions(start, end), end)
        shares = shared_out(ranges, self._config.parallelism, _LEAST_OF_A_TASK)
        return [_Ranges(share) for share in shares]

    def batches(self, split: Any) -> Iterator[pa.RecordBatch]:
        config = self._config
        assert isinstance(split, _Ranges)
        has_times = RECORD_TIME in config.columns
        with config.source.client() as client:
            for part in split.ranges:
                for batch in config.source.batches(client, part, has_times=has_times):
                    offsets = batch.column(OFFSET) if config.needs_sequence else None
                    yield placed(batch.select(config.columns), pa.repeat(part.partition, batch.num_rows), offsets)

    def stop(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def __getstate__(self) -> dict[str, Any]:
        # The connection belongs to the driver's process.
        return {**self.__dict__, "_log": None}

    def _offsets(self) -> KafkaLog:
        if self._log is None:
            source = self._config.source
            self._log = KafkaLog(Path(self._config.log_path), source, source.client(is_looking=True))
        return self._log


def kafka_reader(
    node: SourceNode, entry: Entry | None, options: StageOptions, group_keys: tuple[int, ...], folder: Path
) -> KafkaStreamReader:
    """How the topics of a node are read; `folder` is that of the checkpoint."""
    source: KafkaTopics = node.source
    # Asked once, in the driver: workers get the answer with the program.
    source.expected_channels()
    columns = [RECORD_TIME, *([VALUE] if source.schema is None else source.schema.names)]
    config = KafkaStreamConfig(
        source,
        packet_reader(node, entry, options, group_keys, make_element=_Elements(source)),
        columns,
        str(folder / "kafka" / f"{stable_hash(options.plan.graph.uid(node)):016x}.json"),
        len(group_keys),
        _alignment(node, options),
    )
    if entry is not None and source.schema is not None:
        config.columns = entry.needed(source.schema.names)
        config.needs_sequence = entry.needs_records
    return KafkaStreamReader(config)


def _alignment(node: SourceNode, options: StageOptions) -> KafkaAlignment | None:
    source: KafkaTopics = node.source
    parameters, assigner = find_alignment(node, options)
    if parameters is None or assigner is None:
        return None
    if source.max_rows is None:
        raise UnsupportedError(
            "with_watermark_alignment: partitions wait for each other between batches, and without a limit one batch "
            "reads all that is there; use set_max_rows_per_batch"
        )
    return KafkaAlignment(parameters, assigner, source)


@dataclass(slots=True)
class _Elements:
    """Makes elements of values: rows of the columns, or what the source deserializes."""

    source: KafkaTopics

    def __call__(self, names: Sequence[str]) -> Callable[..., Any]:
        make: Callable[..., Any] = Row(*names) if self.source.deserialize is None else self.source.deserialize
        return make
