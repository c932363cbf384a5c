"""Files as a streaming source of Spark's that gives packets: workers read them straight into what the program does."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import cloudpickle
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from tidegate.core.assign_watermarks import AssignWatermarksSpec
from tidegate.core.columnar_operator import CHANNEL
from tidegate.core.hashing import stable_hash
from tidegate.core.timestamps import ColumnTimestampAssigner
from tidegate.errors import UnsupportedError
from tidegate.graph.nodes import SourceNode
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.ingest.file_formats import FilePart, Parquet
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.entry import Entry
from tidegate.spark.file_log import FileLog, Offset
from tidegate.spark.processor import ROW_SCHEMA
from tidegate.spark.routing import readers_of, source_edge
from tidegate.spark.row_packer import RowPacker
from tidegate.spark.stage_options import StageOptions
from tidegate.spark.summaries import EntryReader

_FORMAT: Final = "tidegate_files"
_CHANNELS: Final = pa.dictionary(pa.int32(), pa.string())
_ROW_BITS: Final = 32
"""A row's place in its channel is the number of its file, and below that many bits its row there."""


@dataclass(slots=True)
class FileStreamConfig:
    """Everything that the source needs, on the driver and on the workers."""

    source: ColumnFiles
    reader: Any
    columns: list[str]
    log_path: str
    parallelism: int
    time_column: str | None = None
    max_drift: int | None = None
    needs_sequence: bool = True
    texts: tuple[str, ...] = ()
    """Columns of text that may come as dictionaries."""


@dataclass
class _Files(InputPartition):
    """Parts of files for one task: the channel by folder, the number of the file there, and the part."""

    parts: list[tuple[str, int, FilePart]]


class FileStream(DataSource):
    """The source as Spark knows it. Its configuration travels in an option."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> FileStreamReader:  # noqa: N802
        return FileStreamReader(cloudpickle.loads(base64.b64decode(self.options["config"])))


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches of files on the driver, reads them on the workers."""

    def __init__(self, config: FileStreamConfig) -> None:
        self._config = config
        self._log: FileLog | None = None
        self._target: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"files": {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._config.source.limits
        if limit == Limits() and self._config.max_drift is None:
            return ReadAllAvailable()
        # Spark only hands it back: our own limits are those of the source.
        return ReadMaxFiles(limit.files or 2**31 - 1)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        log = self._files()
        log.discover()
        self._target = log.end()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        log = self._files()
        if self._target is None:
            log.discover()
        until = log.end() if self._target is None else self._target
        if isinstance(limit, ReadAllAvailable):
            return {"files": dict(until)}
        return {"files": log.next_offset(start["files"], until, self._config.source.limits, self._config.max_drift)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        parts = [
            (file.channel, number, part)
            for number, file in self._files().between(start["files"], end["files"])
            for part in self._config.source.format.parts(Path(file.path))
        ]
        count = min(self._config.parallelism, len(parts))
        bounds = [round(index * len(parts) / count) for index in range(count + 1)] if count else []
        return [_Files(parts[begin:until]) for begin, until in pairwise(bounds)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Files)
        yield from self._config.reader(self._batches(partition.parts))

    def _batches(self, parts: list[tuple[str, int, FilePart]]) -> Iterator[pa.RecordBatch]:
        config = self._config
        for folder, number, part in parts:
            row = part.first_row
            for batch in config.source.format.read(part, config.columns, config.texts):
                count = batch.num_rows
                column = config.source.channel
                names = pa.repeat(folder, count) if column is None else batch.column(column)
                names = names.dictionary_encode().cast(_CHANNELS)
                columns = [*batch.columns, names]
                fields = [*batch.schema.names, CHANNEL]
                if config.needs_sequence:
                    first = (number << _ROW_BITS) + row
                    columns.append(pa.array(np.arange(first, first + count, dtype=np.int64)))
                    fields.append(SEQUENCE)
                row += count
                yield pa.RecordBatch.from_arrays(columns, fields)

    def _files(self) -> FileLog:
        if self._log is None:
            config = self._config
            self._log = FileLog(Path(config.log_path), config.source, config.time_column)
        return self._log


def file_config(
    node: SourceNode, entry: Entry | None, options: StageOptions, group_keys: tuple[int, ...], folder: Path
) -> FileStreamConfig:
    """How the source of a node is read: straight into windows if it is an entry, else row by row."""
    source: ColumnFiles = node.source
    uid = options.plan.graph.uid(node)
    log_path = str(folder / f"{stable_hash(uid):016x}.log")
    drift, time_column = _alignment(node, options, source)
    if entry is not None:
        columns = entry.needed(source.schema.names)
        if source.channel is not None and source.channel not in columns:
            columns.append(source.channel)
        reader: Any = EntryReader(entry, options, group_keys, has_sequence=entry.needs_records)
        return FileStreamConfig(
            source,
            reader,
            columns,
            log_path,
            len(group_keys),
            time_column,
            drift,
            needs_sequence=entry.needs_records,
            texts=() if entry.needs_records else entry.text_keys(source.schema),
        )
    reader = RowPacker(
        source_edge(uid),
        group_keys,
        is_common_order=False,
        has_sequence=True,
        place_columns=[] if source.channel is None else [source.channel],
        needs_clock=options.needs_clock,
    )
    return FileStreamConfig(source, reader, source.schema.names, log_path, len(group_keys), time_column, drift)


def _alignment(node: SourceNode, options: StageOptions, source: ColumnFiles) -> tuple[int | None, str | None]:
    """How far channels may be ahead of each other, and the column that says where they are."""
    for reader, _, _, _ in readers_of(options.plan)[node.number]:
        spec = getattr(reader, "spec", None)
        if not isinstance(spec, AssignWatermarksSpec) or spec.strategy.alignment is None:
            continue
        assigner = spec.strategy.timestamp_assigner
        if not isinstance(source.format, Parquet) or not isinstance(assigner, ColumnTimestampAssigner):
            raise UnsupportedError(
                "with_watermark_alignment: only parquet files with with_timestamp_column say what times they hold "
                "before they are read"
            )
        return spec.strategy.alignment.max_drift, assigner.column
    return None, None


def file_rows(session: SparkSession, config: FileStreamConfig) -> DataFrame:
    """The packets of a source of files."""
    session.dataSource.register(FileStream)
    text = base64.b64encode(cloudpickle.dumps(config)).decode()
    return session.readStream.format(_FORMAT).option("config", text).load()
