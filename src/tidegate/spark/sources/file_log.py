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
from tidegate.ingest.changed_files import Changes, FileStamp
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.spark.sources.packet_stream import Positions
from tidegate.storage.kept_file import damaged
from tidegate.storage.kept_log import KeptLog


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and how many rows and which highest time it has where planning had to know.

    `number` is its position in its channel, `time_column` where the time was looked for.
    """

    channel: str
    number: int
    path: str
    bytes: int
    modified: int
    inode: int
    rows: int | None = None
    highest: int | None = None
    time_column: str | None = None

    @property
    def stamp(self) -> FileStamp:
        return FileStamp(self.bytes, self.modified)


def _in_turn(channels: Mapping[str, int], start: Mapping[str, int]) -> list[str]:
    """The channels in the order in which they are read: each batch begins where the one before has left off."""
    names = list(channels)
    first = sum(start.values()) % len(names) if names else 0
    return names[first:] + names[:first]


class FileLog:
    """Files are numbered for each channel when they are found, and written down before they count.

    So a batch that comes again reads the same files, whatever has appeared beside them since. A file that is measured
    is written down once more. One that changed since it was found is an error, is skipped, or is found anew.
    """

    def __init__(self, path: Path, source: ColumnFiles, time_column: str | None = None) -> None:
        self._log = KeptLog(path, "files")
        self._source = source
        self._time_column = time_column
        self._numbers: dict[str, tuple[str, int]] = {}
        self._by_inode: dict[int, FoundFile] = {}
        self._changes = Changes(source.on_changed_file)
        self._unwritten: list[FoundFile] = []
        self.files: dict[str, list[FoundFile]] = defaultdict(list)
        for entry in self._log.read():
            self._put(self._found(entry))

    def check(self, start: Mapping[str, int]) -> None:
        """Refuse a log that does not know what was read: files would get the numbers of others."""
        for channel, count in start.items():
            if len(self.files[channel]) < count:
                raise self._incomplete(channel)

    def discover(self) -> None:
        """Look for new files, and at those that are known."""
        found: list[FoundFile] = []
        counts = {channel: len(files) for channel, files in self.files.items()}
        for channel, path in self._source.files():
            status = path.stat()
            stamp = FileStamp(status.st_size, status.st_mtime_ns)
            known = self._known(str(path))
            if known is not None and known.stamp == stamp:
                continue
            if known is not None and not self._changes.is_to_be_read_again(known.path, known.stamp, stamp):
                continue
            namesake = self._by_inode.get(status.st_ino) if known is None else None
            if namesake is not None:
                self._changes.refuse_renamed(namesake.path, namesake.stamp, path)
            number = counts.setdefault(channel, 0)
            counts[channel] += 1
            found.append(FoundFile(channel, number, str(path), stamp.bytes, stamp.modified, status.st_ino))
        self._write(found)
        for file in found:
            self._put(file)

    @property
    def num_changed(self) -> int:
        """How many changes of files were left out, or read again."""
        return self._changes.count

    def _known(self, path: str) -> FoundFile | None:
        numbered = self._numbers.get(path)
        return None if numbered is None else self.files[numbered[0]][numbered[1]]

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
                raise self._incomplete(channel)
            found += enumerate(files, first)
        return found

    def _incomplete(self, channel: str) -> SnapshotError:
        return SnapshotError(
            f"{self._log.path} knows fewer files of {channel or 'the folder'} than the checkpoint has read: it was "
            "deleted or cut, and without it nobody can say which files were read; put it back as it was, or start from "
            "a new checkpoint"
        )

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
        offset = {channel: start.get(channel, 0) for channel in _in_turn(until, start)}
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
        if file.number > len(files):
            raise damaged(self._log.path, f"file {len(files)} of {file.channel or 'the folder'} is missing")
        files[file.number : file.number + 1] = [file]
        numbered = (file.channel, file.number)
        if self._numbers.get(file.path, numbered) != numbered:
            self._changes.note_read_again()
        self._numbers[file.path] = numbered
        self._by_inode[file.inode] = file

    def _found(self, entry: Any) -> FoundFile:
        try:
            return FoundFile(**entry)
        except TypeError as error:
            raise damaged(self._log.path, str(error)) from error
