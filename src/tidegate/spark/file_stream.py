"""Files as a source whose workers read them straight into what the program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from tidegate.core.key.hashing import stable_hash
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.errors import UnsupportedError
from tidegate.graph.nodes import SourceNode
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.ingest.file_formats import FilePart
from tidegate.spark.entry import Entry
from tidegate.spark.file_log import FileLog
from tidegate.spark.fused_stream import (
    FusedStreamReader,
    Offset,
    PacketReader,
    find_alignment,
    packet_reader,
    placed,
)
from tidegate.spark.stage_options import StageOptions

_ROW_BITS: Final = 32
"""A row's place in its channel is the number of its file, and below that many bits its row there."""


@dataclass(slots=True)
class FileStreamConfig:
    """Everything that the source needs, on the driver and on the workers."""

    source: ColumnFiles
    packets: PacketReader
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

    parts: list[tuple[str, int, FilePart]]


class FileStreamReader(FusedStreamReader):
    """Offsets count the files of each channel, as they stand in a log beside the checkpoint."""

    counts = "files"

    def __init__(self, config: FileStreamConfig) -> None:
        super().__init__(config.packets)
        self._config = config
        self._log: FileLog | None = None

    def is_limited(self) -> bool:
        return self._config.source.limits != Limits()

    def end(self) -> Offset:
        log = self._files()
        log.discover()
        return log.end()

    def next_offset(self, start: Offset, until: Offset) -> Offset:
        return self._files().next_offset(start, until, self._config.source.limits, self._config.alignment)

    def splits(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        parts = [
            (file.channel, number, part)
            for number, file in self._files().between(start, end)
            for part in self._config.source.format.parts(Path(file.path))
        ]
        count = min(self._config.parallelism, len(parts))
        bounds = [round(index * len(parts) / count) for index in range(count + 1)] if count else []
        return [_Files(parts[begin:until]) for begin, until in pairwise(bounds)]

    def batches(self, split: Any) -> Iterator[pa.RecordBatch]:
        config = self._config
        assert isinstance(split, _Files)
        for folder, number, part in split.parts:
            row = part.first_row
            for batch in config.source.format.read(part, config.columns, config.texts):
                count = batch.num_rows
                column = config.source.channel
                channels = pa.repeat(folder, count) if column is None else batch.column(column)
                first = (number << _ROW_BITS) + row
                places = np.arange(first, first + count, dtype=np.int64) if config.needs_sequence else None
                row += count
                yield placed(batch, channels, places)

    def _files(self) -> FileLog:
        if self._log is None:
            config = self._config
            self._log = FileLog(Path(config.log_path), config.source, config.time_column)
        return self._log


def file_reader(
    node: SourceNode, entry: Entry | None, options: StageOptions, group_keys: tuple[int, ...], folder: Path
) -> FileStreamReader:
    """How the files of a node are read; `folder` is that of the checkpoint."""
    source: ColumnFiles = node.source
    alignment, time_column = _alignment(node, options, source)
    place_columns = [] if source.channel is None else [source.channel]
    config = FileStreamConfig(
        source,
        packet_reader(node, entry, options, group_keys, place_columns=place_columns),
        source.schema.names,
        str(folder / "files" / f"{stable_hash(options.plan.graph.uid(node)):016x}.log"),
        len(group_keys),
        time_column,
        alignment,
    )
    if entry is not None:
        needed = entry.needed(source.schema.names)
        config.columns = needed + [name for name in place_columns if name not in needed]
        config.needs_sequence = entry.needs_records
        config.texts = () if entry.needs_records else entry.text_keys(source.schema)
    return FileStreamReader(config)


def _alignment(
    node: SourceNode, options: StageOptions, source: ColumnFiles
) -> tuple[AlignmentParameters | None, str | None]:
    """How channels wait for each other, and the column that says where they are."""
    parameters, assigner = find_alignment(node, options)
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
