"""Files as a source whose workers read them straight into what the program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.errors import UnsupportedError
from tidegate.ingest.changed_files import FileStamp, OnChangedFile, changed_file
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.ingest.file_formats import FilePart
from tidegate.spark.sources.file_log import FileLog, FoundFile
from tidegate.spark.sources.packet_stream import PacketStreamReader, Positions
from tidegate.spark.sources.records import PacketMaker, column_intake, find_alignment, log_path, placed, record_intake

_ROW_BITS: Final = 32
"""A row's place in its channel is the number of its file, and below that many bits its row there."""


@dataclass(slots=True)
class FileStreamConfig:
    """Everything that the source needs, on the driver and on the workers."""

    source: ColumnFiles
    packets: PacketMaker
    columns: list[str]
    log_path: str
    parallelism: int
    time_column: str | None = None
    alignment: AlignmentParameters | None = None
    needs_sequence: bool = True
    texts: tuple[str, ...] = ()
    """Columns of text that may come as dictionaries."""


@dataclass
class _Files(InputPartition):
    """Parts of files for one task: the channel by folder, the number of the file there, and the part."""

    parts: list[tuple[FoundFile, int, FilePart]]


class FileStreamReader(PacketStreamReader):
    """Positions count the files of each channel, as they stand in a log beside the checkpoint."""

    counts = "files"

    def __init__(self, config: FileStreamConfig) -> None:
        super().__init__()
        self._config = config
        self._log: FileLog | None = None

    def is_limited(self) -> bool:
        return self._config.source.limits != Limits()

    def check(self, known: Positions) -> None:
        self._files().check(known)

    def end(self) -> Positions:
        log = self._files()
        log.discover()
        return log.end()

    def facts(self) -> dict[str, int]:
        changed = self._files().num_changed
        return {"num_changed_files": changed} if changed else {}

    def next_positions(self, start: Positions, until: Positions) -> Positions:
        return self._files().next_positions(start, until, self._config.source.limits, self._config.alignment)

    def splits(self, start: Positions, end: Positions) -> Sequence[InputPartition]:
        parts = [
            (file, number, part)
            for number, file in self._files().between(start, end)
            if self._is_unchanged(file)
            for part in self._config.source.format.parts(Path(file.path))
        ]
        count = min(self._config.parallelism, len(parts))
        bounds = [round(index * len(parts) / count) for index in range(count + 1)] if count else []
        return [_Files(parts[begin:until]) for begin, until in pairwise(bounds)]

    def packets(self, split: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(split, _Files)
        return self._config.packets(self._records(split))

    def _records(self, split: _Files) -> Iterator[pa.RecordBatch]:
        config = self._config
        for file, number, part in split.parts:
            if not self._is_unchanged(file):
                continue
            folder = file.channel
            row = part.first_row
            for batch in config.source.format.read(part, config.columns, config.texts):
                count = batch.num_rows
                column = config.source.channel
                channels = pa.repeat(folder, count) if column is None else batch.column(column)
                first = (number << _ROW_BITS) + row
                places = np.arange(first, first + count, dtype=np.int64) if config.needs_sequence else None
                row += count
                yield placed(batch, channels, places)
            if FileStamp.of(Path(file.path)) != file.stamp:
                # Some of what was read may be of before and some of after: the batch must come again.
                raise changed_file(file.path, file.stamp, FileStamp.of(Path(file.path)))

    def _is_unchanged(self, file: FoundFile) -> bool:
        """Whether a file is as it was when it was found; if not, the source says whether that is an error."""
        stamp = FileStamp.of(Path(file.path))
        if stamp == file.stamp:
            return True
        if self._config.source.on_changed_file is OnChangedFile.FAIL or stamp is None:
            raise changed_file(file.path, file.stamp, stamp)
        # What is there now is found anew, or left out.
        return False

    def _files(self) -> FileLog:
        if self._log is None:
            config = self._config
            self._log = FileLog(Path(config.log_path), config.source, config.time_column)
        return self._log


def file_reader(plan: PhysicalPlan, node: PlannedSource, group_keys: Sequence[int], folder: Path) -> FileStreamReader:
    """How the files of a node are read; `folder` is that of the checkpoint."""
    source = node.source
    assert isinstance(source, ColumnFiles)
    alignment, time_column = _alignment(plan, node, source)
    place_columns = [] if source.channel is None else [source.channel]
    columns = column_intake(plan, node)
    config = FileStreamConfig(
        source,
        PacketMaker(record_intake(plan, node, columns, place_columns), group_keys),
        source.schema.names,
        log_path(folder, "files", node),
        len(group_keys),
        time_column,
        alignment,
    )
    if columns is not None:
        needed = columns.needed(source.schema.names)
        config.columns = needed + [name for name in place_columns if name not in needed]
        config.needs_sequence = columns.needs_records
        config.texts = () if columns.needs_records else columns.text_keys(source.schema)
    return FileStreamReader(config)


def _alignment(
    plan: PhysicalPlan, node: PlannedSource, source: ColumnFiles
) -> tuple[AlignmentParameters | None, str | None]:
    """How channels wait for each other, and the column that says where they are."""
    parameters, assigner = find_alignment(plan, node)
    if parameters is None:
        return None, None
    if not isinstance(assigner, ColumnTimestampAssigner):
        raise UnsupportedError(
            "with_watermark_alignment: the times of files are looked up before they are read, which needs a column; "
            "use with_timestamp_column"
        )
    if source.limits == Limits():
        raise UnsupportedError(
            "with_watermark_alignment: channels wait for each other between batches, and without a limit one batch "
            "reads all that is there; use max_files_per_batch, max_rows_per_batch or max_bytes_per_batch"
        )
    if source.channel is not None:
        raise UnsupportedError(
            f"with_watermark_alignment: a file holds several channels of the column {source.channel!r}, so none can be "
            "left out; write the files of each channel into a sub-folder of its own"
        )
    return parameters, assigner.column
