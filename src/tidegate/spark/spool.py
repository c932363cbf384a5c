"""The spool: what the driver feeds to the query, as files that Spark's own file source reads exactly once.

Sources that live in the driver (collections, sockets, source functions), clock ticks and the end of input are written
here before they count, so that a restart replays them. A line is `stage gid payload`, the payload in base64.
"""

from __future__ import annotations

import base64
import os
import threading
from pathlib import Path
from typing import Any, Final

import cloudpickle

from tidegate.errors import SnapshotError
from tidegate.spark.packing import Item, pack

LINE_PATTERN = r"^(-?\d+) (-?\d+) (\S+)$"
_RESERVED_AT_ONCE: Final = 1_000


class Spool:
    """Writes files that appear all at once, numbered in order. Spark deletes them when their batch is done.

    A file may come with a note of its writer. The note counts if and only if the file does: the file is written under
    a hidden name, then its note is saved, then the file appears; a restart lets appear what has its note.
    """

    def __init__(self, folder: Path, group_keys: tuple[int, ...]) -> None:
        self._folder = folder
        self._group_keys = group_keys
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._next_file = folder.parent / "spool.next"
        self._reserved = self._load_reserved()
        self._note_file = folder.parent / "spool.note"
        self._noted, self._note = self._load_note()
        self._complete_last()
        numbers = [_checked_number(path) for path in folder.glob("*.txt")]
        self._next = max([self._reserved, *(number + 1 for number in numbers)])

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def note(self) -> Any:
        """The note of the last file that had one, None if none had."""
        return self._note

    def write(self, items: dict[tuple[int, int], list[Item]], note: Any = None) -> None:
        """Write one file with items for `(stage, subtask)`, and with it the note."""
        lines = [
            f"{stage} {self._group_keys[subtask]} {base64.b64encode(payload).decode()}\n"
            for (stage, subtask), batch in items.items()
            for payload in pack(batch)
        ]
        if not lines:
            return
        with self._lock:
            self._reserve()
            # Spark ignores names that begin with a dot, so the file is seen only when it is whole.
            hidden = self._folder / f".{self._next:012d}-{len(lines)}.tmp"
            with hidden.open("w", encoding="ascii") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            if note is not None:
                self._noted, self._note = self._next, note
                self._save_note()
            _appear(hidden)
            self._next += 1

    def _complete_last(self) -> None:
        """A file whose note was saved before a crash appears now; one without a note never was."""
        for hidden in self._folder.glob(".*.tmp"):
            if int(hidden.stem[1:].partition("-")[0]) == self._noted:
                _appear(hidden)
            else:
                hidden.unlink()

    def _reserve(self) -> None:
        """No number is given twice, though files are deleted: Spark knows files that it has read by their names."""
        if self._next >= self._reserved:
            self._reserved = self._next + _RESERVED_AT_ONCE
            temporary = self._next_file.with_suffix(".new")
            temporary.write_text(str(self._reserved), encoding="ascii")
            os.replace(temporary, self._next_file)

    def _load_reserved(self) -> int:
        if not self._next_file.exists():
            return 0
        text = self._next_file.read_text(encoding="ascii", errors="replace")
        if not text.isdigit():
            raise SnapshotError(f"{self._next_file} cannot be read: {text[:20]!r}; choose another checkpoint folder")
        return int(text)

    def _load_note(self) -> tuple[int, Any]:
        """The number of the last file that had a note, -1 if none had, and the note."""
        if not self._note_file.exists():
            return -1, None
        try:
            number, note = cloudpickle.loads(self._note_file.read_bytes())
        except Exception as error:
            raise SnapshotError(
                f"{self._note_file} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder"
            ) from error
        return number, note

    def _save_note(self) -> None:
        temporary = self._note_file.with_suffix(".tmp")
        temporary.write_bytes(cloudpickle.dumps((self._noted, self._note)))
        os.replace(temporary, self._note_file)


def _appear(hidden: Path) -> None:
    os.replace(hidden, hidden.with_name(hidden.stem[1:] + ".txt"))


def _checked_number(path: Path) -> int:
    """The number of a file, which must have as many lines as its name says: Spark would read fewer without a word."""
    number, _, lines = path.stem.partition("-")
    found = path.read_bytes().count(b"\n")
    if not lines.isdigit() or found != int(lines):
        raise SnapshotError(
            f"{path} has {found} lines where it should have {lines or '?'}; restore the checkpoint from a copy, or "
            "start from a new one"
        )
    return int(number)
