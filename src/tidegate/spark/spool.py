"""The spool: what the driver feeds to the query, as files that Spark's own file source reads exactly once.

Sources that live in the driver (collections, sockets, source functions), clock ticks and the end of input are written
here before they count, so that a restart replays them. A line is `stage gid payload`, the payload in base64.
"""

from __future__ import annotations

import base64
import os
import threading
from pathlib import Path

from tidegate.spark.packing import Item, pack

LINE_PATTERN = r"^(-?\d+) (-?\d+) (\S+)$"


class Spool:
    """Writes files that appear all at once, numbered in order."""

    def __init__(self, folder: Path, group_keys: tuple[int, ...]) -> None:
        self._folder = folder
        self._group_keys = group_keys
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.stem) for path in folder.glob("*.txt")]
        self._next = max(numbers, default=-1) + 1

    @property
    def folder(self) -> Path:
        return self._folder

    def write(self, items: dict[tuple[int, int], list[Item]]) -> None:
        """Write one file with items for `(stage, subtask)`."""
        lines = [
            f"{stage} {self._group_keys[subtask]} {base64.b64encode(payload).decode()}\n"
            for (stage, subtask), batch in items.items()
            for payload in pack(batch)
        ]
        if not lines:
            return
        with self._lock:
            # Spark ignores names that begin with a dot, so the file is seen only when it is whole.
            hidden = self._folder / f".{self._next:012d}.tmp"
            hidden.write_text("".join(lines), encoding="ascii")
            os.replace(hidden, self._folder / f"{self._next:012d}.txt")
            self._next += 1
