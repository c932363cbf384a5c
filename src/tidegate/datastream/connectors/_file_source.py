"""`FileSource`: files, read once from beginning to end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from tidegate.common.row import row_maker
from tidegate.core.source.source import Source
from tidegate.datastream.connectors._local_paths import as_local_path
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.ingest.file_formats import Csv, JsonLines, Parquet
from tidegate.ingest.file_reading import FileReadings, ReadableFiles
from tidegate.ingest.schemas import as_arrow_schema

_OPENERS: Final[Mapping[str, Callable[[Path], Any]]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_HIDDEN: Final = (".", "_")


class StreamFormat(ABC):
    """How the bytes of a file become elements. Subclass it for a format of your own."""

    __slots__ = ()

    @abstractmethod
    def read(self, stream: IO[bytes]) -> Iterator[Any]:
        """The elements of one file, in order. The bytes are unpacked already."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """One element for each line, without its end. What the charset cannot say is replaced, as in Flink."""
        return _TextLines(charset_name)


@dataclass(frozen=True, slots=True)
class _TextLines(StreamFormat):
    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        try:
            "".encode(self.charset)
        except (LookupError, TypeError):
            raise InvalidValueError(
                f"text_line_format: unknown charset {self.charset!r}; use for example 'UTF-8'"
            ) from None

    def read(self, stream: IO[bytes]) -> Iterator[str]:
        with io.TextIOWrapper(stream, encoding=self.charset, errors="replace") as text:
            for line in text:
                yield line.removesuffix("\n")


class FileEnumeratorProvider:
    """How Flink would look for files; accepted, and of no effect."""

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        return FileEnumeratorProvider()


class FileSplitAssignerProvider:
    """How Flink would share files out among readers; accepted, and of no effect."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        return FileSplitAssignerProvider()


class FileSource(Source):
    """Files of this machine, in one channel for each path that was given.

    The files of a folder, and of the folders in it, are read one after the other in the order of their names; hidden
    ones, whose names begin with a dot or an underscore, are left out. Files that end in .gz, .bz2 or .xz are unpacked.
    After a restart from a checkpoint reading goes on where it stopped; a file that changed after it was read, or while
    it was, is an error.
    """

    def __init__(self, stream_format: StreamFormat, paths: Sequence[Path]) -> None:
        self._format = stream_format
        self._paths = {str(path): path for path in paths}
        self._readings = FileReadings()

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """A source of these files and folders: `for_record_stream_format(StreamFormat.text_line_format(), path)`."""
        return FileSourceBuilder(stream_format, *paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: Any, *paths: str) -> NoReturn:
        raise UnsupportedError("for_bulk_file_format: files are read by lines; use for_record_stream_format")

    @staticmethod
    def parquet(
        path: str,
        *,
        watch: bool = False,
        channel: str | None = None,
        max_files_per_batch: int | None = None,
        max_rows_per_batch: int | None = None,
        max_bytes_per_batch: int | None = None,
        on_changed_file: str = "fail",
    ) -> ColumnFiles:
        """Parquet files of a folder. Elements are rows; `watch` waits for more files.

        The files of each sub-folder are a channel, or the rows of each value of the column `channel`. On Spark the
        workers read them, and windows with `agg` start where they are read. A file that changes after it was found is
        an error; with `on_changed_file="skip"` the change is left out, with `"read"` the file is read again.
        """
        limits = Limits(max_files_per_batch, max_rows_per_batch, max_bytes_per_batch)
        return ColumnFiles(
            Parquet(),
            _folder(path),
            row_maker,
            watch=watch,
            channel=channel,
            limits=limits,
            on_changed_file=on_changed_file,
        )

    @staticmethod
    def csv(
        path: str,
        schema: Any,
        *,
        header: bool = True,
        delimiter: str = ",",
        watch: bool = False,
        channel: str | None = None,
        max_files_per_batch: int | None = None,
        max_rows_per_batch: int | None = None,
        max_bytes_per_batch: int | None = None,
        on_changed_file: str = "fail",
    ) -> ColumnFiles:
        """CSV files of a folder, with these columns: DDL text, a StructType or a pyarrow.Schema. Else as `parquet`."""
        file_format = Csv(as_arrow_schema(schema), header, delimiter)
        limits = Limits(max_files_per_batch, max_rows_per_batch, max_bytes_per_batch)
        return ColumnFiles(
            file_format,
            _folder(path),
            row_maker,
            watch=watch,
            channel=channel,
            limits=limits,
            on_changed_file=on_changed_file,
        )

    @staticmethod
    def json_lines(
        path: str,
        schema: Any,
        *,
        watch: bool = False,
        channel: str | None = None,
        max_files_per_batch: int | None = None,
        max_rows_per_batch: int | None = None,
        max_bytes_per_batch: int | None = None,
        on_changed_file: str = "fail",
    ) -> ColumnFiles:
        """Files with a JSON object on each line, of which these columns are read. Else as `csv`."""
        limits = Limits(max_files_per_batch, max_rows_per_batch, max_bytes_per_batch)
        file_format = JsonLines(as_arrow_schema(schema))
        return ColumnFiles(
            file_format,
            _folder(path),
            row_maker,
            watch=watch,
            channel=channel,
            limits=limits,
            on_changed_file=on_changed_file,
        )

    def channels(self) -> Sequence[str]:
        return tuple(self._paths)

    def read(self, channel: str) -> Iterator[Any]:
        return self._readings.read(channel, self._files_of(channel))

    def read_state(self, channel: str) -> Any:
        return self._readings.state(channel)

    def resume(self, channel: str, state: Any, position: int) -> None:
        self._readings.resume(channel, self._files_of(channel), state, position)

    def _files_of(self, channel: str) -> ReadableFiles:
        return ReadableFiles(partial(_files, self._paths[channel]), self._elements)

    def _elements(self, file: Path) -> Iterator[Any]:
        opener = _OPENERS.get(file.suffix.lower())
        with file.open("rb") if opener is None else opener(file) as stream:
            yield from self._format.read(stream)


class FileSourceBuilder:
    """Get one with `FileSource.for_record_stream_format(...)`, then `build()`."""

    def __init__(self, stream_format: StreamFormat, *paths: str) -> None:
        if not isinstance(stream_format, StreamFormat):
            raise InvalidTypeError(
                f"FileSource: expected a StreamFormat such as StreamFormat.text_line_format(), got {stream_format!r}"
            )
        if not paths:
            raise InvalidValueError("FileSource: give the path of a file or folder")
        self._format = stream_format
        self._paths = [as_local_path(path, "FileSource") for path in paths]

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read what is there when the job runs, and end. This is the default."""
        return self

    def monitor_continuously(self, discovery_interval: Any) -> NoReturn:
        raise UnsupportedError(
            "monitor_continuously: files that come later are not waited for; leave it out and run the job again, "
            "or read the folder with Spark and from_dataframe"
        )

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Accepted for Flink's sake: files are found by name, and each is read as a whole."""
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accepted for Flink's sake: each path is read by one reader."""
        return self

    def build(self) -> FileSource:
        for path in self._paths:
            if not path.exists():
                raise InvalidValueError(f"FileSource: there is no file or folder {path}")
        if len(set(self._paths)) < len(self._paths):
            raise InvalidValueError(f"FileSource: a path is given twice in {', '.join(map(str, self._paths))}")
        return FileSource(self._format, self._paths)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for entry in sorted(path.iterdir(), key=lambda entry: entry.name):
        if not entry.name.startswith(_HIDDEN):
            yield from _files(entry)


def _folder(path: str) -> str:
    return str(as_local_path(path, "FileSource"))
