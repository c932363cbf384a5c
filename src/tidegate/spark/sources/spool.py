"""The spool: what the driver feeds to the query, as files that the query reads exactly once.

Sources that live in the driver (collections, sockets, source functions), clock ticks and the end of input are written
here before they count, so that a restart replays them.
"""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tidegate.core.state.snapshot import Snapshot
from tidegate.engine.messages import Message, Target
from tidegate.errors import SnapshotError, UserCodeError
from tidegate.spark.wire.packets import Rows, packet_rows
from tidegate.storage.kept_file import PRIVATE, KeptFile, make_folder

_NAME: Final = re.compile(r"(\d{12})(-noted)?\.spool")
_FAILURE: Final = "failure"
_VERSION: Final = 2
_ROW: Final = struct.Struct("<iiI")
_HEAD: Final = struct.Struct("<qI")
"""The number of the last file with a note, this one included, and the length of the note here."""


class Spool:
    """Writes files, numbered in order. The query deletes them when their batches are done.

    A file may come with a note of its writer, as plain data. The note counts if and only if the file does: it is in it.
    """

    def __init__(self, folder: Path, group_keys: Sequence[int], position: int = 0) -> None:
        """`position` is how far the query has planned to read."""
        self.folder = folder
        self._group_keys = tuple(group_keys)
        self._lock = threading.Lock()
        make_folder(folder, PRIVATE)
        files = spooled(folder)
        self._next = max((number + 1 for number, _ in files), default=0)
        self._last_noted = read_last_noted(files[-1][1]) if files else -1
        noted = {number: path for number, path in files if is_noted(path)}
        if self._next < position or (self._last_noted >= 0 and self._last_noted not in noted):
            raise SnapshotError(
                f"{folder} lacks files that the query has read, or is to read: what the driver fed, and how far it had "
                "read its sources, is gone; put them back, or start from a new checkpoint"
            )
        self._note = read_note(noted[self._last_noted]) if self._last_noted >= 0 else None

    @property
    def note(self) -> Snapshot | None:
        """The last note, None if there was none."""
        return self._note

    def write(self, messages: Mapping[Target, Sequence[Message]], note: Snapshot | None = None) -> None:
        """Write one file with messages, and with it the note."""
        rows = list(packet_rows(messages, self._group_keys))
        if not rows:
            return
        with self._lock:
            name = f"{self._next:012d}{'' if note is None else '-noted'}.spool"
            last_noted = self._last_noted if note is None else self._next
            KeptFile(self.folder / name, "spool", _VERSION).write(_encoded(rows, note, last_noted))
            self._last_noted = last_noted
            self._next += 1
            if note is not None:
                self._note = note

    def write_failure(self, sentence: str) -> None:
        """Let the query fail of what its feeder failed of."""
        KeptFile(self.folder / _FAILURE, "failure").write(sentence.encode())

    def forget_failure(self) -> None:
        """A new run begins."""
        (self.folder / _FAILURE).unlink(missing_ok=True)


def raise_failure(folder: Path) -> None:
    """Raise what the feeder of a spool failed of, if it did."""
    sentence = KeptFile(folder / _FAILURE, "failure").load(bytes.decode)
    if sentence is not None:
        raise UserCodeError(f"a source that the driver reads failed: {sentence}")


def spooled(folder: Path) -> list[tuple[int, Path]]:
    """The files that are there with their numbers, in order."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(name[1]), path) for name, path in found if name is not None)


def is_noted(path: Path) -> bool:
    return path.stem.endswith("-noted")


def read_note(path: Path) -> Snapshot | None:
    """The note in a file, None if it has none."""
    file = KeptFile(path, "spool", _VERSION)
    return file.load(lambda data: _decoded_note(data)[0])


def read_last_noted(path: Path) -> int:
    """The number of the last file with a note, as a file knows it; -1 if there was none."""
    file = KeptFile(path, "spool", _VERSION)
    number = file.load(lambda data: int(_HEAD.unpack_from(data)[0]))
    return -1 if number is None else number


def read_rows(path: Path) -> Rows:
    """The rows of a file."""
    file = KeptFile(path, "spool", _VERSION)
    rows = file.load(lambda data: list(_decoded_rows(data)))
    if rows is None:
        file.refuse("it is gone, and its batch has not been done")
    return rows


def _encoded(rows: Rows, note: Snapshot | None, last_noted: int) -> bytes:
    text = b"" if note is None else json.dumps(note).encode()
    parts = [_HEAD.pack(last_noted, len(text)), text]
    for stage, gid, payload in rows:
        parts += [_ROW.pack(stage, gid, len(payload)), payload]
    return b"".join(parts)


def _decoded_note(data: bytes) -> tuple[Snapshot | None, int]:
    """The note, and where the rows begin."""
    _, length = _HEAD.unpack_from(data)
    begin = _HEAD.size
    note = json.loads(data[begin : begin + length]) if length else None
    return note, begin + length


def _decoded_rows(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    _, position = _decoded_note(data)
    while position < len(data):
        stage, gid, length = _ROW.unpack_from(data, position)
        position += _ROW.size
        yield stage, gid, data[position : position + length]
        position += length
