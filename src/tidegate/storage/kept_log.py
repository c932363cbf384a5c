"""A file that grows by entries: each is on disk before it counts, and damage is found when the log is read."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tidegate.storage.kept_file import PRIVATE, damaged, flush_folder, flush_to_disk, make_folder, write_whole
from tidegate.storage.signing import check_signature, signature

_SIGNATURE: Final = re.compile(rb"([0-9a-f]{64}) ")


class KeptLog:
    """Entries of JSON, a line each behind its checksum; the first line says the kind and the version of the log.

    A crash while an entry is written leaves a part of it at the end, which never counted and is cut off. Any other line
    that is not as it was written is damage.
    """

    def __init__(self, path: Path, kind: str, version: int = 1) -> None:
        self.path = path
        self._title = f"tidegate {kind} {version}\n".encode()

    def read(self) -> list[Any]:
        """The entries, in the order in which they were written."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        if self._title.startswith(content):
            # A crash while it was begun.
            self.path.unlink()
            return []
        if not content.startswith(self._title):
            raise damaged(self.path, f"it does not begin with {self._title.decode().strip()!r}")
        *lines, rest = content[len(self._title) :].split(b"\n")
        entries = [self._entry(line, number) for number, line in enumerate(lines, 2)]
        if rest:
            if self._is_whole(rest[:-1]):
                raise damaged(self.path, f"line {len(lines) + 2}: it does not end as a line does")
            write_whole(self.path, content[: len(content) - len(rest)])
        return entries

    def append(self, entries: Sequence[Any]) -> None:
        """Add entries; they are on disk when this returns."""
        if not entries:
            return
        is_new = not self.path.exists()
        make_folder(self.path.parent, PRIVATE)
        with self.path.open("ab") as file:
            if is_new:
                file.write(self._title)
            for entry in entries:
                file.write(self._line(json.dumps(entry).encode()))
            flush_to_disk(file)
        if is_new:
            flush_folder(self.path.parent)

    def _entry(self, line: bytes, number: int) -> Any:
        if not self._is_whole(line):
            raise damaged(self.path, f"line {number}: it does not have its checksum")
        signed, data = _parts(line)
        check_signature(data, self._what, signed, f"{self.path}, line {number},")
        try:
            return json.loads(data)
        except ValueError as error:
            raise damaged(self.path, f"line {number}: {error}") from error

    @property
    def _what(self) -> str:
        """What is signed: an entry of this log."""
        return f"{self._title.decode().strip()} {self.path.name}"

    def _line(self, data: bytes) -> bytes:
        signed = signature(data, self._what)
        rest = data if signed is None else signed.hex().encode() + b" " + data
        return b"%08x %s\n" % (zlib.crc32(rest), rest)

    def _is_whole(self, line: bytes) -> bool:
        return line[:9] == b"%08x " % zlib.crc32(line[9:])


def _parts(line: bytes) -> tuple[bytes | None, bytes]:
    """The signature of an entry, if it has one, and its data; no JSON looks like a signature."""
    found = _SIGNATURE.match(line, 9)
    return (None, line[9:]) if found is None else (bytes.fromhex(found[1].decode()), line[found.end() :])
