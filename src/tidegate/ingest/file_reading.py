"""How the local runtime reads a channel of files: which files it has begun, in which order, and as what.

A position counts elements from the beginning. It means something only while the files before it are those that were
read: so what was read is remembered with it, and looked at before reading goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Final

from tidegate.ingest.changed_files import Changes, FileStamp, OnChangedFile, changed_file, gone_file

_POLL_SECONDS: Final = 0.5


@dataclass(slots=True)
class _BegunFile:
    """A file that was begun, as it was then; `count` is how many elements it gave, None while it is read."""

    path: str
    bytes: int
    modified: int
    inode: int
    count: int | None = None

    @property
    def stamp(self) -> FileStamp:
        return FileStamp(self.bytes, self.modified)


@dataclass(slots=True)
class ReadableFiles:
    """The files of a channel: those that are there in order, the elements of one, and what the source was told."""

    find: Callable[[], Iterable[Path]]
    rows: Callable[[Path], Iterator[Any]]
    is_bounded: bool = True
    on_changed_file: OnChangedFile = OnChangedFile.FAIL


class FileReading:
    """Reads the files of one channel, in the order in which they are found. `state` is of a run before."""

    def __init__(self, files: ReadableFiles, state: list[dict[str, Any]] | None = None, skip: int = 0) -> None:
        """`skip` is how many elements were read before: they come again as anything, and are not looked at."""
        self._files = files
        self._loaded: list[_BegunFile] | None = [_BegunFile(**entry) for entry in state] if state else None
        self._begun: list[_BegunFile] = []
        self._by_path: dict[str, _BegunFile] = {}
        self._by_inode: dict[int, _BegunFile] = {}
        self._skip = skip
        self._changes = Changes(files.on_changed_file)

    @property
    def num_changed(self) -> int:
        """How many changes of files were left out, or read again."""
        return self._changes.count

    def state(self) -> list[dict[str, Any]]:
        """What was begun; until a run that goes on has come to where it was, what was begun by then."""
        begun = self._begun if self._loaded is None else self._loaded
        return [asdict(file) for file in begun]

    def read(self) -> Iterator[Any]:
        """The elements from the beginning; those that were read before as anything."""
        yield from self._read_before()
        while True:
            for path in self._files.find():
                if self._is_to_be_read(path):
                    yield from self._read_file(path)
            if self._files.is_bounded:
                return
            time.sleep(_POLL_SECONDS)

    def _read_before(self) -> Iterator[Any]:
        """What was read before the restart, and the rest of the file in which it ended."""
        left = self._skip
        for file in self._loaded or ():
            if left <= 0:
                # It was begun, and nothing of it counted.
                break
            if file.count is not None and file.count <= left:
                self._remember(file)
                left -= file.count
                yield from repeat(None, file.count)
                continue
            rest = self._read_rest(file, left)
            yield from islice(rest, left)
            # What comes now counts again.
            self._loaded = None
            yield from rest
            return
        self._loaded = None

    def _read_rest(self, file: _BegunFile, count: int) -> Iterator[Any]:
        """The file in which reading had stopped, behind so many of its elements."""
        path = Path(file.path)
        if FileStamp.of(path) == file.stamp:
            yield from self._read_file(path)
            return
        yield from repeat(None, count)
        self._remember(replace(file, count=count))
        if not self._is_to_be_read(path, must_be_there=True):
            return
        yield from self._read_file(path)

    def _read_file(self, path: Path) -> Iterator[Any]:
        stamp = FileStamp.of(path)
        if stamp is None:
            raise gone_file(path)
        file = _BegunFile(str(path), stamp.bytes, stamp.modified, path.stat().st_ino)
        self._remember(file)
        count = 0
        for element in self._files.rows(path):
            count += 1
            yield element
        after = FileStamp.of(path)
        if after is not None and after != stamp and self._files.on_changed_file is OnChangedFile.FAIL:
            raise changed_file(str(path), stamp, after)
        file.count = count

    def _remember(self, file: _BegunFile) -> None:
        self._begun.append(file)
        self._by_path[file.path] = file
        self._by_inode[file.inode] = file

    def _is_to_be_read(self, path: Path, *, must_be_there: bool = False) -> bool:
        """Whether a file is new, or has changed and is to be read again."""
        known = self._by_path.get(str(path))
        stamp = FileStamp.of(path)
        if known is None:
            namesake = None if stamp is None else self._by_inode.get(path.stat().st_ino)
            if namesake is not None:
                self._changes.refuse_renamed(namesake.path, namesake.stamp, path)
            return True
        if stamp == known.stamp or (stamp is None and not must_be_there):
            return False
        is_read_again = self._changes.is_to_be_read_again(known.path, known.stamp, stamp)
        if is_read_again:
            self._changes.note_read_again()
        return is_read_again


class FileReadings:
    """The readings of all channels of a source: begun anew by each `read`, unless a run goes on."""

    def __init__(self) -> None:
        self._resumed: dict[str, FileReading] = {}
        self._readings: dict[str, FileReading] = {}

    def resume(self, channel: str, files: ReadableFiles, state: Any, position: int) -> None:
        self._resumed[channel] = FileReading(files, state, position)

    def read(self, channel: str, files: ReadableFiles) -> Iterator[Any]:
        reading = self._resumed.pop(channel) if channel in self._resumed else FileReading(files)
        self._readings[channel] = reading
        return reading.read()

    def state(self, channel: str) -> Any:
        reading = self._readings.get(channel) or self._resumed.get(channel)
        return None if reading is None else reading.state()

    def facts(self) -> dict[str, int]:
        changed = sum(reading.num_changed for reading in self._readings.values())
        return {"num_changed_files": changed} if changed else {}
