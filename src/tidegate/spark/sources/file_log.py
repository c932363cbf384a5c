"""Which files a source has found, in the order in which they are read: what the offsets of a query count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tidegate.core.time.millis import MIN_TIME, check_timestamp
from tidegate.core.watermark.alignment import AlignmentParameters, channels_to_read
from tidegate.core.watermark.timestamps import to_millis
from tidegate.errors import SnapshotError
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.spark.sources.packet_stream import Positions
from tidegate.storage.kept_file import damaged
from tidegate.storage.kept_log import KeptLog


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and how many rows and which highest time it has where planning had to know.

    `time_column` is where the time was looked for.
    """

    channel: str
    path: str
    bytes: int
    rows: int | None = None
    highest: int | None = None
    time_column: str | None = None


class FileLog:
    """Files are numbered for each channel when they are found, and written down before they count.

    So a batch that comes again reads the same files, whatever has appeared beside them since. A file that is measured
    is written down once more.
    """

    def __init__(self, path: Path, source: ColumnFiles, time_column: str | None = None) -> None:
        self._log = KeptLog(path, "files")
        self._source = source
        self._time_column = time_column
        self._numbers: dict[str, int] = {}
        self._unwritten: list[FoundFile] = []
        self.files: dict[str, list[FoundFile]] = defaultdict(list)
        for entry in self._log.read():
            self._put(self._found(entry))

    def discover(self) -> None:
        """Look for new files."""
        places = [place for place in self._source.files() if str(place[1]) not in self._numbers]
        found = [FoundFile(channel, str(path), path.stat().st_size) for channel, path in places]
        self._write(found)
        for file in found:
            self._put(file)

    def end(self) -> Positions:
        """Behind everything that was found."""
        return {channel: len(files) for channel, files in self.files.items()}

    def between(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[tuple[int, FoundFile]]:
        """The files of a batch, each with its number in its channel."""
        found: list[tuple[int, FoundFile]] = []
        for channel, until in end.items():
            first = start.get(channel, 0)
            files = self.files[channel][first:until]
            if len(files) < until - first:
                raise SnapshotError(
                    f"{self._log.path} knows fewer files of {channel or 'the folder'} than the checkpoint has read; "
                    "restore all of the checkpoint, or start from a new one"
                )
            found += enumerate(files, first)
        return found

    def next_positions(
        self,
        start: Mapping[str, int],
        until: Mapping[str, int],
        limits: Limits,
        alignment: AlignmentParameters | None = None,
    ) -> Positions:
        """How far a batch may read: channels in turn, a file each, within the limits and the alignment."""
        offset = self._plan(start, until, limits, alignment)
        self._write(self._unwritten)
        self._unwritten = []
        return offset

    def _plan(
        self,
        start: Mapping[str, int],
        until: Mapping[str, int],
        limits: Limits,
        alignment: AlignmentParameters | None,
    ) -> Positions:
        offset = {channel: start.get(channel, 0) for channel in until}
        reached = {} if alignment is None else {channel: self._reached(channel, offset[channel]) for channel in offset}
        files, rows, size = 0, 0, 0
        while True:
            ready = [channel for channel in offset if offset[channel] < until[channel]]
            if alignment is not None:
                ready = channels_to_read(alignment, {channel: reached[channel] for channel in ready})
            if not ready:
                return offset
            for channel in ready:
                number = offset[channel]
                is_measured = alignment is not None or limits.rows is not None
                file = self._measured(channel, number) if is_measured else self.files[channel][number]
                files, rows, size = files + 1, rows + (file.rows or 0), size + file.bytes
                is_over = (
                    (limits.files is not None and files > limits.files)
                    or (limits.rows is not None and rows > limits.rows)
                    or (limits.bytes is not None and size > limits.bytes)
                )
                if is_over and files > 1:
                    return offset
                offset[channel] += 1
                if alignment is not None and file.highest is not None:
                    reached[channel] = max(reached[channel], file.highest)

    def _reached(self, channel: str, count: int) -> int:
        """The highest time among the files that a channel has read, as far as they are known; of the last it is."""
        if count:
            self._measured(channel, count - 1)
        times = (file.highest for file in self.files[channel][:count] if file.highest is not None)
        return max(times, default=MIN_TIME)

    def _measured(self, channel: str, number: int) -> FoundFile:
        file = self.files[channel][number]
        column = self._time_column
        if file.rows is None or column not in (None, file.time_column):
            facts = self._source.format.facts(Path(file.path), column, self._source.schema.names)
            highest = to_millis(facts.highest)
            if highest is not None:
                check_timestamp(highest, f"{file.path}: column {column!r}")
            file = replace(file, rows=facts.rows, highest=highest, time_column=column)
            self._put(file)
            self._unwritten.append(file)
        return file

    def _write(self, files: Sequence[FoundFile]) -> None:
        self._log.append([asdict(file) for file in files])

    def _put(self, file: FoundFile) -> None:
        files = self.files[file.channel]
        number = self._numbers.setdefault(file.path, len(files))
        files[number : number + 1] = [file]

    def _found(self, entry: Any) -> FoundFile:
        try:
            return FoundFile(**entry)
        except TypeError as error:
            raise damaged(self._log.path, str(error)) from error
