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
from typing import Any, Final

from tidegate.engine.messages import Message, Target
from tidegate.spark.wire.packets import Rows, packet_rows
from tidegate.storage.kept_file import KeptFile

_NAME: Final = re.compile(r"(\d{12})(-noted)?\.spool")
_ROW: Final = struct.Struct("<iiI")
_NOTE_LENGTH: Final = struct.Struct("<I")


class Spool:
    """Writes files, numbered in order. The query deletes them when their batches are done.

    A file may come with a note of its writer, as plain data. The note counts if and only if the file does: it is in it.
    """

    def __init__(self, folder: Path, group_keys: Sequence[int]) -> None:
        self.folder = folder
        self._group_keys = tuple(group_keys)
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        files = spooled(folder)
        self._next = max((number + 1 for number, _ in files), default=0)
        noted = [path for _, path in files if is_noted(path)]
        self._note: Any = None if not noted else read_note(noted[-1])

    @property
    def note(self) -> Any:
        """The last note, None if there was none."""
        return self._note

    def write(self, messages: Mapping[Target, Sequence[Message]], note: Any = None) -> None:
        """Write one file with messages, and with it the note."""
        rows = list(packet_rows(messages, self._group_keys))
        if not rows:
            return
        with self._lock:
            name = f"{self._next:012d}{'' if note is None else '-noted'}.spool"
            KeptFile(self.folder / name, "spool").write(_encoded(rows, note))
            self._next += 1
            if note is not None:
                self._note = note


def spooled(folder: Path) -> list[tuple[int, Path]]:
    """The files that are there with their numbers, in order."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(name[1]), path) for name, path in found if name is not None)


def is_noted(path: Path) -> bool:
    return path.stem.endswith("-noted")


def read_note(path: Path) -> Any:
    """The note in a file, None if it has none."""
    file = KeptFile(path, "spool")
    return file.load(lambda data: _decoded_note(data)[0])


def read_rows(path: Path) -> Rows:
    """The rows of a file."""
    file = KeptFile(path, "spool")
    rows = file.load(lambda data: list(_decoded_rows(data)))
    if rows is None:
        file.refuse("it is gone, and its batch has not been done")
    return rows


def _encoded(rows: Rows, note: Any) -> bytes:
    head = b"" if note is None else json.dumps(note).encode()
    parts = [_NOTE_LENGTH.pack(len(head)), head]
    for stage, gid, payload in rows:
        parts += [_ROW.pack(stage, gid, len(payload)), payload]
    return b"".join(parts)


def _decoded_note(data: bytes) -> tuple[Any, int]:
    """The note, and where the rows begin."""
    (length,) = _NOTE_LENGTH.unpack_from(data)
    begin = _NOTE_LENGTH.size
    note = json.loads(data[begin : begin + length]) if length else None
    return note, begin + length


def _decoded_rows(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    _, position = _decoded_note(data)
    while position < len(data):
        stage, gid, length = _ROW.unpack_from(data, position)
        position += _ROW.size
        yield stage, gid, data[position : position + length]
        position += length
