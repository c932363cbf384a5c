"""The pane log: columns of each open pane, appended batch by batch and read when the pane fires.

Appending reads nothing, so what a batch costs follows what it brings and not what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.key_hashes import Hashes
from tidegate.core.columnar.table_cache import StoredTable, TableCache
from tidegate.core.columnar.table_codec import decode_table, encode_table
from tidegate.core.state.blobs import Blobs
from tidegate.errors import SnapshotError

_VERSION: Final = b"\x01"


class PaneLog:
    """Tables by pane, a pane being a number such as the start of a slice.

    What is appended waits in memory until `flush` stores it, as one blob for each pane: a pane that is removed before
    never reaches the state store. Blobs do not change, so tables that are still in the cache are not read again. Where
    a cache outlives the log, `attempt` must be unique: what is stored may be lost, and its number be given again.
    `complete` makes of a table that was stored by a program of before what this one would have stored.
    """

    def __init__(
        self,
        blobs: Blobs,
        cache: TableCache | None = None,
        attempt: str = "",
        complete: Callable[[pa.Table], pa.Table] | None = None,
    ) -> None:
        self._blobs = blobs
        self._complete = complete
        self._attempt = attempt
        self._num_named = 0
        self._cache = TableCache() if cache is None else cache
        self._stored: dict[int, list[tuple[str, int]]] = {}
        self._waiting: dict[int, list[StoredTable]] = {}

    def __contains__(self, pane: int) -> bool:
        return pane in self._stored or pane in self._waiting

    @property
    def panes(self) -> list[int]:
        """The panes that hold something, in order."""
        return sorted(self._stored.keys() | self._waiting.keys())

    def num_stored(self, pane: int) -> int:
        """How many tables of a pane are stored."""
        return len(self._stored.get(pane, ()))

    def rows(self, pane: int) -> int:
        """How many rows a pane has, in all its tables."""
        stored = sum(rows for _, rows in self._stored.get(pane, ()))
        return stored + sum(len(waiting.table) for waiting in self._waiting.get(pane, ()))

    def append(self, pane: int, table: pa.Table) -> None:
        self._waiting.setdefault(pane, []).append(StoredTable(table))

    def load(self, pane: int) -> Iterator[pa.Table]:
        """The tables of a pane, in the order in which they were appended, each read when it is asked for."""
        return (stored.table for stored in self._tables(pane))

    def find(self, pane: int, names: Sequence[str], wanted: Hashes) -> Iterator[pa.Table]:
        """The rows of a pane with a key of these hashes; another key may have the same."""
        return (stored.find(names, wanted) for stored in self._tables(pane))

    def replace(self, pane: int, table: pa.Table) -> None:
        """Let one table stand for all of a pane."""
        self.remove(pane)
        self.append(pane, table)

    def remove(self, pane: int) -> None:
        self._waiting.pop(pane, None)
        for name, _ in self._stored.pop(pane, ()):
            self._blobs.remove(name)
            self._cache.remove(name)

    def flush(self) -> None:
        """Store what waits."""
        for pane, waiting in self._waiting.items():
            whole = pa.concat_tables(part.table for part in waiting)
            # A copy: a part of a table would keep the whole of it in memory.
            stored = StoredTable(whole.take(pa.array(np.arange(len(whole)))).combine_chunks())
            self._num_named += 1
            name = f"{pane}/{self._attempt}{self._num_named}"
            self._blobs.put(name, _VERSION + encode_table(stored.table))
            self._cache.put(name, stored)
            self._stored.setdefault(pane, []).append((name, len(stored.table)))
        self._waiting.clear()

    def snapshot(self) -> Any:
        """What panes are stored; their tables are where the blobs are."""
        return self._num_named, {pane: list(tables) for pane, tables in self._stored.items()}

    def restore(self, snapshot: Any) -> None:
        self._num_named, stored = snapshot
        self._stored = {pane: list(tables) for pane, tables in stored.items()}
        self._waiting.clear()

    def _tables(self, pane: int) -> Iterator[StoredTable]:
        for name, _ in self._stored.get(pane, ()):
            stored = self._cache.get(name)
            table = self._read(name) if stored is None else stored.table
            whole = table if self._complete is None else self._complete(table)
            if stored is None or whole is not table:
                stored = StoredTable(whole)
                self._cache.put(name, stored)
            yield stored
        yield from self._waiting.get(pane, ())

    def _read(self, name: str) -> pa.Table:
        return _read(self._blobs, name)


def share_panes(
    logs: Sequence[Any], blobs: Sequence[Blobs], into: Sequence[Blobs], parted: Callable[[pa.Table], list[pa.Table]]
) -> list[Any]:
    """The snapshots of new logs, among which `parted` parts the tables of those before.

    Tables are read, parted and stored one by one: what is in memory at a time is one of them. The name of a part says
    which part it is, so that no other table can have it.
    """
    num_named = max(number for number, _ in logs)
    stored: list[dict[int, list[tuple[str, int]]]] = [{} for _ in into]
    for (_, panes), source in zip(logs, blobs, strict=True):
        for pane, tables in panes.items():
            for name, _ in tables:
                for index, part in enumerate(parted(_read(source, name))):
                    if len(part):
                        new_name = f"{name}/{index}of{len(into)}"
                        into[index].put(new_name, _VERSION + encode_table(part.combine_chunks()))
                        stored[index].setdefault(pane, []).append((new_name, len(part)))
    return [(num_named, panes) for panes in stored]


def _read(blobs: Blobs, name: str) -> pa.Table:
    data = blobs.get(name, is_there=True)
    if data is None or data[:1] != _VERSION:
        raise SnapshotError(
            f"the pane {name} is {'missing' if data is None else f'of version {data[:1]!r}'}; "
            "the state does not belong to this checkpoint or this Tidegate; start from a new checkpoint"
        )
    return decode_table(memoryview(data)[1:])
