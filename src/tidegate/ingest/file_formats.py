"""Files of columns: parquet, CSV and JSON lines, read as Arrow batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from tidegate.errors import InvalidValueError
from tidegate.ingest.fitting import Fitting

_BATCH_ROWS = 250_000
_SMALL_DICTIONARY = 128 * 1024
_FIRST_BYTES = 1024


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file that can be read by itself: some of its row groups, None for all. `first_row` is its place."""

    path: str
    groups: tuple[int, ...] | None = None
    first_row: int = 0


@dataclass(frozen=True, slots=True)
class FileFacts:
    """How many rows a file has, and the highest value of a column; None if it has none, or nobody asked."""

    rows: int
    highest: Any = None


class FileFormat(ABC):
    """How files become columns."""

    @abstractmethod
    def schema(self, files: Sequence[Path]) -> pa.Schema:
        """The columns of these files."""

    @abstractmethod
    def read(self, part: FilePart, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The columns of a part. Those in `texts` may come as dictionaries, where that is faster."""

    def facts(self, path: Path, column: str | None, names: Sequence[str]) -> FileFacts:
        """The rows of a file with these columns, and the highest of one of them. Text does not say, so it is read."""
        rows, highest = 0, None
        for batch in self.read(FilePart(str(path)), [column or names[0]]):
            rows += batch.num_rows
            found = None if column is None else pa.compute.max(batch.column(0)).as_py()
            if found is not None and (highest is None or found > highest):
                highest = found
        return FileFacts(rows, highest)

    def parts(self, path: Path) -> list[FilePart]:
        """The parts of a file, in order."""
        return [FilePart(str(path))]

    def with_schema(self, schema: pa.Schema) -> FileFormat:
        """The same, for files that all have these columns."""
        return self


@dataclass(frozen=True, slots=True)
class Parquet(FileFormat):
    """Columns with types of their own, which must be those of `columns`, or hold less than they can."""

    columns: pa.Schema | None = None

    def with_schema(self, schema: pa.Schema) -> Parquet:
        return Parquet(schema)

    def schema(self, files: Sequence[Path]) -> pa.Schema:
        if not files:
            raise InvalidValueError("FileSource.parquet: there is no file yet that says what the columns are")
        return _explained(files[0], lambda: pa.parquet.read_schema(files[0]).remove_metadata())

    def read(self, part: FilePart, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        path = Path(part.path)
        metadata = _explained(path, lambda: pa.parquet.read_metadata(path)) if texts else None
        coded = [name for name in texts if _has_few_values(metadata, name)]
        try:
            with pa.parquet.ParquetFile(path, metadata=metadata, read_dictionary=coded) as file:
                fit = Fitting.of(part.path, file.schema_arrow, columns, self.columns)
                groups = None if part.groups is None else list(part.groups)
                for batch in file.iter_batches(_BATCH_ROWS, groups, list(columns), use_threads=False):
                    yield fit.apply(batch)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error

    def facts(self, path: Path, column: str | None, names: Sequence[str]) -> FileFacts:
        metadata = _explained(path, lambda: pa.parquet.read_metadata(path))
        if column is None:
            return FileFacts(metadata.num_rows)
        chunks = [chunk.statistics for chunk in _chunks(metadata, column)]
        if any(statistics is None or not statistics.has_min_max for statistics in chunks):
            return super(Parquet, self).facts(path, column, names)
        return FileFacts(metadata.num_rows, max((statistics.max for statistics in chunks), default=None))

    def parts(self, path: Path) -> list[FilePart]:
        metadata = _explained(path, lambda: pa.parquet.read_metadata(path))
        found: list[FilePart] = []
        first = 0
        for number in range(metadata.num_row_groups):
            found.append(FilePart(str(path), (number,), first))
            first += metadata.row_group(number).num_rows
        return found


def _has_few_values(metadata: pa.parquet.FileMetaData, name: str) -> bool:
    """Whether the values of a column are few in every row group: where its dictionary is small, all are in it."""
    return all(
        chunk.has_dictionary_page and chunk.data_page_offset - chunk.dictionary_page_offset < _SMALL_DICTIONARY
        for chunk in _chunks(metadata, name)
    )


def _chunks(metadata: pa.parquet.FileMetaData, name: str) -> list[pa.parquet.ColumnChunkMetaData]:
    """What each row group says of a column. Columns are counted there with those inside of others."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = range(metadata.num_columns)
    return [group.column(i) for group in groups for i in columns if group.column(i).path_in_schema == name]


@dataclass(frozen=True, slots=True)
class Csv(FileFormat):
    """Text with a line for each record, the names of the columns in the first unless `header` is false."""

    columns: pa.Schema
    header: bool = True
    delimiter: str = ","

    def schema(self, files: Sequence[Path]) -> pa.Schema:
        return self.columns

    def read(self, part: FilePart, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        options = pa.csv.ConvertOptions(
            column_types={field.name: field.type for field in self.columns},
            include_columns=list(columns),
            strings_can_be_null=True,
        )
        names = None if self.header else self.columns.names
        try:
            with pa.csv.open_csv(
                part.path,
                read_options=pa.csv.ReadOptions(column_names=names, block_size=8 << 20, use_threads=False),
                parse_options=pa.csv.ParseOptions(delimiter=self.delimiter),
                convert_options=options,
            ) as reader:
                yield from reader
        except (pa.ArrowInvalid, KeyError) as error:
            raise InvalidValueError(
                f"{part.path} is not the CSV that was declared: {error}{self._advice(str(error))}"
            ) from error

    def _advice(self, error: str) -> str:
        if self.header and "does not exist in CSV file" in error:
            return "; if its first line is not one of names, say header=False"
        if "expected a zone offset" in error:
            return "; declare times without a zone as timestamp_ntz"
        return ""


@dataclass(frozen=True, slots=True)
class JsonLines(FileFormat):
    """An object on each line."""

    columns: pa.Schema

    def schema(self, files: Sequence[Path]) -> pa.Schema:
        return self.columns

    def read(self, part: FilePart, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        if not Path(part.path).stat().st_size:
            return
        # Arrow's parser crashes on lines that are all null, and says little of others that are no objects.
        with Path(part.path).open("rb") as file:
            first = file.read(_FIRST_BYTES).lstrip()[:1]
        if first not in (b"{", b""):
            raise InvalidValueError(f"{part.path} is not the JSON that was declared: its first line is no object")
        parse = pa.json.ParseOptions(explicit_schema=self.columns, unexpected_field_behavior="ignore")
        try:
            with pa.json.open_json(
                part.path, read_options=pa.json.ReadOptions(use_threads=False), parse_options=parse
            ) as reader:
                for batch in reader:
                    yield batch.select(list(columns))
        except pa.ArrowInvalid as error:
            raise InvalidValueError(f"{part.path} is not the JSON that was declared: {error}") from error


def _explained(path: Path, read: Any) -> Any:
    try:
        return read()
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InvalidValueError:
    return InvalidValueError(f"{path} cannot be read as parquet: {error}")
