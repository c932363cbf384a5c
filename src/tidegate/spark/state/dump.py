"""The blobs of a subtask outside of the state store: one behind the other, each with its name before it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from tidegate.spark.state.blobs import state_of
from tidegate.storage.signing import unseal

_HEAD: Final = struct.Struct("<IQ")
"""The length of a name, and that of what it names."""


def framed(name: str, data: bytes) -> bytes:
    """A blob as it stands among others."""
    encoded = name.encode()
    return _HEAD.pack(len(encoded), len(data)) + encoded + data


def unframed(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The blobs that stand one behind the other."""
    position = 0
    while position < len(data):
        name_length, length = _HEAD.unpack_from(data, position)
        begin = position + _HEAD.size + name_length
        yield data[position + _HEAD.size : begin].decode(), data[begin : begin + length]
        position = begin + length


class DumpWriter:
    """Writes blobs as they are in the state store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] = path.open("wb")
        self.num_blobs = 0
        self.num_bytes = 0

    def put(self, name: str, data: bytes) -> None:
        self.num_blobs += 1
        self.num_bytes += len(data)
        self._file.write(framed(name, data))

    def close(self) -> None:
        self._file.close()


class Dump:
    """Blobs of a subtask as they were dumped. Nothing of them is in memory but where they are."""

    def __init__(self, path: Path, stage: int, subtask: int) -> None:
        self._owner = (stage, subtask)
        self._places: dict[str, tuple[int, int]] = {}
        self._file = path.open("rb")
        while head := self._file.read(_HEAD.size):
            name_length, length = _HEAD.unpack(head)
            name = self._file.read(name_length).decode()
            self._places[name] = (self._file.tell(), length)
            self._file.seek(length, 1)

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        place = self._places.get(name)
        if place is None:
            return None
        self._file.seek(place[0])
        return unseal(self._file.read(place[1]), state_of(name, *self._owner))

    def put(self, name: str, data: bytes) -> None:
        """What is read is shared out and forgotten: nothing of it is written back."""

    def remove(self, name: str) -> None:
        """The same."""

    def close(self) -> None:
        self._file.close()
