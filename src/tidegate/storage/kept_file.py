"""A file that is replaced as a whole: a crash leaves the one before, and damage is found when it is read."""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from tidegate.errors import InvalidValueError, SnapshotError
from tidegate.storage.signing import check_signature, signature

_HEADER: Final = re.compile(rb"tidegate ([a-z_]+) (\d+) ([0-9a-f]{8}) (\d+)(?: ([0-9a-f]{64}))?\n")
_LONGEST_HEADER: Final = 256

PRIVATE: Final = 0o700
"""The mode of folders that are kept: state and results are nobody's but their owner's."""

_Value = TypeVar("_Value")


class KeptFile:
    """One file with a kind and a version. Its first line says both, with the checksum and the length of the rest.

    Whoever reads it finds what was written last and wholly: data goes into a hidden file first, is flushed to disk, and
    takes its name only then. With a key (see `signing`) the signature of the data stands in the first line too.
    """

    def __init__(self, path: Path, kind: str, version: int = 1) -> None:
        self.path = path
        self._kind = kind
        self._version = version

    def write(self, data: bytes) -> None:
        """Replace what is there."""
        header = f"tidegate {self._kind} {self._version} {zlib.crc32(data):08x} {len(data)}"
        signed = signature(data, self._what)
        line = header if signed is None else f"{header} {signed.hex()}"
        write_whole(self.path, f"{line}\n".encode() + data)

    def read(self) -> bytes | None:
        """What was written, None if nothing was."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        header = _HEADER.match(content[:_LONGEST_HEADER])
        if header is None:
            self.refuse("it does not begin as a file of Tidegate does")
        kind, version, checksum, length, signed = header.groups()
        data = content[header.end() :]
        if kind.decode() != self._kind:
            self.refuse(f"it is a file of kind {kind.decode()!r}, not {self._kind!r}")
        if len(data) != int(length):
            self.refuse(f"it has {len(data)} bytes where it should have {int(length)}")
        if zlib.crc32(data) != int(checksum, 16):
            self.refuse("it does not have its checksum")
        if int(version) != self._version:
            self.refuse(f"it has version {int(version)}, this Tidegate reads version {self._version}")
        found = None if signed is None else bytes.fromhex(signed.decode())
        check_signature(data, self._what, found, str(self.path))
        return data

    @property
    def _what(self) -> str:
        """What is signed: the data as that of a file of this kind and name."""
        return f"{self._kind} {self._version} {self.path.name}"

    def load(self, decode: Callable[[bytes], _Value]) -> _Value | None:
        """What was written, decoded; None if nothing was."""
        data = self.read()
        if data is None:
            return None
        try:
            return decode(data)
        except Exception as error:
            self.refuse(f"{type(error).__name__}: {error}")

    def refuse(self, why: str) -> NoReturn:
        raise damaged(self.path, why)


def damaged(path: Path, why: str) -> SnapshotError:
    """The error for a file of ours that cannot be used."""
    return SnapshotError(f"{path} cannot be read: {why}; choose another checkpoint folder, or restore all of this one")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears with all of its data, and is on disk when this returns."""
    make_folder(path.parent, PRIVATE)
    hidden = path.with_name(f".{path.name}.new")
    with hidden.open("wb") as file:
        file.write(data)
        flush_to_disk(file)
    put_in_place(hidden, path)


def flush_to_disk(file: Any) -> None:
    """Everything written to an open file is on disk when this returns."""
    file.flush()
    os.fsync(file.fileno())


def put_in_place(hidden: Path, path: Path) -> None:
    """Give a whole file its name, for good: the folder is on disk too when this returns."""
    os.replace(hidden, path)
    flush_folder(path.parent)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """A folder that is there for good when this returns; those that are made have the mode, as far as may be."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode, exist_ok=True)
        flush_folder(path.parent)


@contextlib.contextmanager
def usable(folder: Path, what: str) -> Iterator[None]:
    """Where a folder is first used: one that this user cannot use is told as such."""
    try:
        yield
    except (PermissionError, NotADirectoryError, FileNotFoundError) as error:
        raise InvalidValueError(
            f"{what} {folder} cannot be used: {error.strerror} ({error.filename}); choose another folder, or let this "
            "user write there"
        ) from error


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
