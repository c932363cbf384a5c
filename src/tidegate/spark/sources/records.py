"""What the records of a source go into on a worker: straight into tasks as columns, or row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.timestamps import TimestampAssigner
from tidegate.engine.aligned import aligned_sources
from tidegate.engine.column_intake import ColumnIntake
from tidegate.engine.messages import Message, Target
from tidegate.engine.plan import PhysicalPlan, PlannedSource, Reading
from tidegate.engine.record_columns import SEQUENCE
from tidegate.engine.row_intake import RowIntake
from tidegate.errors import UnsupportedError
from tidegate.ingest.column_files import ColumnFiles
from tidegate.ingest.kafka_topics import KafkaTopics
from tidegate.spark.wire.packets import packet_rows, record_batch
from tidegate.spark.worker import prepare_worker

_CHANNELS: Final = pa.dictionary(pa.int32(), pa.string())

RecordIntake = Callable[[Iterator[pa.RecordBatch]], Iterator[Mapping[Target, list[Message]]]]
"""Turns records with their channels into messages."""


class PacketMaker:
    """Turns records with their channels into rows of packets. It is called for each partition of each batch."""

    def __init__(self, intake: RecordIntake, group_keys: Sequence[int]) -> None:
        self._intake = intake
        self._group_keys = tuple(group_keys)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        for messages in self._intake(batches):
            yield record_batch(packet_rows(messages, self._group_keys))


def column_intake(
    plan: PhysicalPlan, source: PlannedSource, *, has_sequence: bool | None = None
) -> ColumnIntake | None:
    """What reads a source as columns, None if it is read row by row."""
    if source.reading is not Reading.AS_COLUMNS:
        return None
    return ColumnIntake(plan, source, has_sequence=has_sequence)


def record_intake(
    plan: PhysicalPlan, source: PlannedSource, columns: ColumnIntake | None, place_columns: Sequence[str] = ()
) -> RecordIntake:
    """What the records of a source go into."""
    return RowIntake(plan, source, place_columns=place_columns) if columns is None else columns


def log_path(folder: Path, kind: str, node: PlannedSource) -> str:
    """Where the log of a source is, beside the checkpoint: what its offsets mean."""
    return str(folder / kind / f"{hashlib.sha256(node.uid.encode()).hexdigest()[:32]}.log")


def placed(batch: pa.RecordBatch, channels: Any, sequence: Any = None) -> pa.RecordBatch:
    """Records with the names of their channels, and their order there if it is needed."""
    batch = batch.append_column(CHANNEL, channels.dictionary_encode().cast(_CHANNELS))
    return batch if sequence is None else batch.append_column(SEQUENCE, pa.array(sequence))


def unheld_alignments(plan: PhysicalPlan) -> Iterator[str]:
    """A sentence for each source whose channels cannot be held back."""
    for aligned in aligned_sources(plan):
        if not isinstance(aligned.source.source, ColumnFiles | KafkaTopics):
            yield (
                f"{aligned.source.name}: with_watermark_alignment has no effect on this source on Spark: its channels "
                "are read as they come, and the state holds what is ahead"
            )


def find_alignment(
    plan: PhysicalPlan, source: PlannedSource
) -> tuple[AlignmentParameters, TimestampAssigner] | tuple[None, None]:
    """How the channels of a source wait for each other, and what says where they are; None without alignment."""
    for aligned in aligned_sources(plan):
        if aligned.source.number != source.number:
            continue
        if aligned.strategy.idle_timeout is not None:
            raise UnsupportedError(
                "with_watermark_alignment: on Spark a channel that is held back would be taken for idle, and its "
                "records for late; leave out with_idleness, or the alignment"
            )
        if not aligned.is_direct:
            raise UnsupportedError(
                f"with_watermark_alignment: on Spark records of {source.name!r} are held back before they are read, so "
                "the strategy must come first; give it to from_source, or leave out the alignment"
            )
        return aligned.parameters, aligned.strategy.timestamp_assigner
    return None, None
