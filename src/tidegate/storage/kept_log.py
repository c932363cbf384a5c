"""A file that grows by entries: each is on disk before it counts, and damage is found when the log is read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate.storage.kept_file import damaged, flush_folder, flush_to_disk, write_whole


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
            if _line(rest[9:-1])[:-1] == rest[:-1]:
                raise damaged(self.path, f"line {len(lines) + 2}: it does not end as a line does")
            write_whole(self.path, content[: len(content) - len(rest)])
        return entries

    def append(self, entries: Sequence[Any]) -> None:
        """Add entries; they are on disk when this returns."""
        if not entries:
            return
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            if is_new:
                file.write(self._title)
            for entry in entries:
                file.write(_line(json.dumps(entry).encode()))
            flush_to_disk(file)
        if is_new:
            flush_folder(self.path.parent)

    def _entry(self, line: bytes, number: int) -> Any:
        data = line[9:]
        try:
            if _line(data)[:-1] != line:
                raise ValueError("it does not have its checksum")
            return json.loads(data)
        except ValueError as error:
            raise damaged(self.path, f"line {number}: {error}") from error


def _line(data: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(data), data)
