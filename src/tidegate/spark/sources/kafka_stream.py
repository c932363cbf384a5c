"""Topics of Kafka as a source whose workers read them straight into what the program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from tidegate.core.source.column_source import RECORD_TIME
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.errors import UnsupportedError
from tidegate.ingest.kafka_offsets import OffsetRange, next_offsets, ranges_between, shared_out
from tidegate.ingest.kafka_topics import OFFSET, VALUE, KafkaTopics
from tidegate.spark.sources.kafka_alignment import KafkaAlignment
from tidegate.spark.sources.kafka_log import KafkaLog
from tidegate.spark.sources.packet_stream import PacketStreamReader, Positions
from tidegate.spark.sources.records import PacketMaker, column_intake, find_alignment, log_path, placed, record_intake

_LEAST_OF_A_TASK: Final = 5_000
"""A task with fewer records than this would take longer to connect than to read."""


@dataclass(slots=True)
class KafkaStreamConfig:
    """Everything that the source needs, on the driver and on the workers."""

    source: KafkaTopics
    packets: PacketMaker
    columns: list[str]
    log_path: str
    parallelism: int
    alignment: KafkaAlignment | None = None
    needs_sequence: bool = True


@dataclass
class _Ranges(InputPartition):
    """What one task reads."""

    ranges: list[OffsetRange]


class KafkaStreamReader(PacketStreamReader):
    """Positions are Kafka's own, of each partition."""

    counts = "offsets"

    def __init__(self, config: KafkaStreamConfig) -> None:
        super().__init__()
        self._config = config
        self._log: KafkaLog | None = None

    def is_limited(self) -> bool:
        # What is there by now is looked at in any case: it may have lost its beginning.
        return True

    def end(self) -> Positions:
        return self._offsets().end()

    def next_positions(self, start: Positions, until: Positions) -> Positions:
        log = self._offsets()
        begin = log.positions(start, until)
        log.check(begin, until)
        if self._config.alignment is not None:
            until = self._config.alignment.limit(log.client, begin, until)
        return next_offsets(begin, until, self._config.source.max_rows)

    def splits(self, start: Positions, end: Positions) -> Sequence[InputPartition]:
        ranges = ranges_between(self._offsets().positions(start, end), end)
        shares = shared_out(ranges, self._config.parallelism, _LEAST_OF_A_TASK)
        return [_Ranges(share) for share in shares]

    def packets(self, split: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(split, _Ranges)
        return self._config.packets(self._records(split))

    def _records(self, split: _Ranges) -> Iterator[pa.RecordBatch]:
        config = self._config
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


def kafka_reader(plan: PhysicalPlan, node: PlannedSource, group_keys: Sequence[int], folder: Path) -> KafkaStreamReader:
    """How the topics of a node are read; `folder` is that of the checkpoint."""
    source = node.source
    assert isinstance(source, KafkaTopics)
    # Asked once, in the driver: workers get the answer with the program.
    source.expected_channels()
    columns = column_intake(plan, node)
    config = KafkaStreamConfig(
        source,
        PacketMaker(record_intake(plan, node, columns), group_keys),
        [RECORD_TIME, *([VALUE] if source.schema is None else source.schema.names)],
        log_path(folder, "kafka", node),
        len(group_keys),
        _alignment(plan, node, source),
    )
    if columns is not None and source.schema is not None:
        config.columns = columns.needed(source.schema.names)
        config.needs_sequence = columns.needs_records
    return KafkaStreamReader(config)


def _alignment(plan: PhysicalPlan, node: PlannedSource, source: KafkaTopics) -> KafkaAlignment | None:
    parameters, assigner = find_alignment(plan, node)
    if parameters is None or assigner is None:
        return None
    if source.max_rows is None:
        raise UnsupportedError(
            "with_watermark_alignment: partitions wait for each other between batches, and without a limit one batch "
            "reads all that is there; use set_max_rows_per_batch"
        )
    return KafkaAlignment(parameters, assigner, source)
