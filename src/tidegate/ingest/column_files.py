"""A folder of files with columns as a source: one channel, or one for each sub-folder or each value of a column."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tidegate.core.source.column_source import ColumnSource, MakeElement
from tidegate.errors import InvalidValueError
from tidegate.ingest.changed_files import OnChangedFile
from tidegate.ingest.file_formats import FileFormat
from tidegate.ingest.file_reading import FileReadings, ReadableFiles

_HIDDEN: Final = (".", "_")

MakeRows = Callable[[Sequence[str]], MakeElement]
"""Takes the names of columns and gives what makes a row of their values."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one batch may read at most; None for no limit. One file is always read whole."""

    files: int | None = None
    rows: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("files", "rows", "bytes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidValueError(f"FileSource: max_{name}_per_batch must be a number from 1 on, got {value!r}")


class ColumnFiles(ColumnSource):
    """The files of a folder, in the order of their names; hidden ones, that begin with a dot or `_`, are left out.

    The files of each sub-folder are a channel of their own; `channel` names a column instead, each of whose values is
    one. With `watch` new files are read as they come, and the source never ends. A file must appear whole: write it
    under a hidden name and rename it.
    """

    schema: pa.Schema

    def __init__(
        self,
        file_format: FileFormat,
        path: str,
        make_rows: MakeRows,
        *,
        watch: bool = False,
        channel: str | None = None,
        limits: Limits | None = None,
        on_changed_file: str = "fail",
    ) -> None:
        self.format = file_format
        self.on_changed_file = OnChangedFile.of(on_changed_file)
        self.path = Path(path).absolute()
        if not self.path.exists():
            raise InvalidValueError(f"FileSource: there is no {self.path}")
        self.is_bounded = not watch
        self.is_blocking = watch
        self.limits = limits or Limits()
        self._make_rows = make_rows
        self.schema = file_format.schema([path for _, path in self.files()])
        self.format = file_format.with_schema(self.schema)
        self.channel = channel
        self._readings = FileReadings()
        self._folders = tuple(sorted({folder for folder, _ in self.files()})) or ("",)
        if channel is not None and self.schema.get_field_index(channel) < 0:
            raise InvalidValueError(
                f"FileSource: there is no column {channel!r}; the files have {', '.join(self.schema.names)}"
            )

    @property
    def location(self) -> str:
        return str(self.path)

    def files(self) -> list[tuple[str, Path]]:
        """The files that are there, in order, with the channel that each belongs to by its folder."""
        if self.path.is_file():
            return [("", self.path)]
        found = []
        for folder, folders, names in os.walk(self.path, onerror=_refuse_folder):
            folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
            channel = str(Path(folder).relative_to(self.path)).removeprefix(".")
            paths = (Path(folder) / name for name in names if not name.startswith(_HIDDEN))
            found += [(channel, path) for path in paths if path.is_file()]
        return sorted(found, key=lambda file: (file[1].name, file[0]))

    def channels(self) -> Sequence[str]:
        """The channels that are there. Those of a column are looked for in the files."""
        if self.channel is None:
            return self._folders
        parts = [part for _, path in self.files() for part in self.format.parts(path)]
        values = (batch.column(0).unique() for part in parts for batch in self.format.read(part, [self.channel]))
        return tuple(sorted({str(value) for found in values for value in found.to_pylist()}))

    def make_elements(self, names: Sequence[str]) -> MakeElement:
        return self._make_rows(names)

    def expected_channels(self) -> Sequence[str]:
        """The sub-folders that were there when the source was made; the values of a column are found by reading."""
        return self._folders if self.channel is None else ()

    def read(self, channel: str) -> Iterator[Any]:
        """The elements of a channel, for the local runtime."""
        return self._readings.read(channel, self._files_of(channel))

    def read_state(self, channel: str) -> Any:
        return self._readings.state(channel)

    def resume(self, channel: str, state: Any, position: int) -> None:
        self._readings.resume(channel, self._files_of(channel), state, position)

    def facts(self) -> dict[str, int]:
        return self._readings.facts()

    def _files_of(self, channel: str) -> ReadableFiles:
        """The files that may hold elements of a channel."""

        def find() -> Iterator[Path]:
            return (path for folder, path in self.files() if self.channel is not None or folder == channel)

        return ReadableFiles(find, partial(self._rows, channel), self.is_bounded, self.on_changed_file)

    def _rows(self, channel: str, path: Path) -> Iterator[Any]:
        """The elements of a channel in one file."""
        make = self.make_elements(self.schema.names)
        place = None if self.channel is None else self.schema.get_field_index(self.channel)
        for part in self.format.parts(path):
            for batch in self.format.read(part, self.schema.names):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    if place is None or str(values[place]) == channel:
                        yield make(*values)

    def __getstate__(self) -> dict[str, Any]:
        # What was read belongs to the process that reads.
        return {**self.__dict__, "_readings": FileReadings()}


def _refuse_folder(error: OSError) -> None:
    """A folder that cannot be read is not an empty one; one that is gone by now is."""
    if not isinstance(error, FileNotFoundError):
        raise InvalidValueError(
            f"FileSource: the folder {error.filename} cannot be read: {error.strerror}; let this user read it, or move "
            "it away"
        ) from error
