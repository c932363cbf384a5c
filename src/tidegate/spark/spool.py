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
_KEPT_NOTES: Final = 2


class Spool:
    """Writes files that appear all at once, numbered in order.

    A file may come with a note of its writer. The note counts if and only if the file does: it is saved first, under
    the number that the file will have, and after a crash those of files that never appeared are dropped.
    """

    def __init__(self, folder: Path, group_keys: tuple[int, ...]) -> None:
        self._folder = folder
        self._group_keys = group_keys
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.stem) for path in folder.glob("*.txt")]
        self._next = max(numbers, default=-1) + 1
        self._notes_file = folder.parent / "spool.notes"
        self._notes: list[tuple[int, Any]] = [note for note in self._load_notes() if note[0] < self._next]
        # Before anything else is written: a dropped note must not come back with the next file of its number.
        self._save_notes()

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def note(self) -> Any:
        """The note of the last file that had one, None if none had."""
        return self._notes[-1][1] if self._notes else None

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
            if note is not None:
                self._notes = [*self._notes[1 - _KEPT_NOTES :], (self._next, note)]
                self._save_notes()
            # Spark ignores names that begin with a dot, so the file is seen only when it is whole.
            hidden = self._folder / f".{self._next:012d}.tmp"
            hidden.write_text("".join(lines), encoding="ascii")
            os.replace(hidden, self._folder / f"{self._next:012d}.txt")
            self._next += 1

    def _load_notes(self) -> list[tuple[int, Any]]:
        if not self._notes_file.exists():
            return []
        try:
            notes: list[tuple[int, Any]] = cloudpickle.loads(self._notes_file.read_bytes())
        except Exception as error:
            raise SnapshotError(
                f"{self._notes_file} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder"
            ) from error
        return notes

    def _save_notes(self) -> None:
        temporary = self._notes_file.with_suffix(".tmp")
        temporary.write_bytes(cloudpickle.dumps(self._notes))
        os.replace(temporary, self._notes_file)
