"""Tables in memory that are also stored: as long as they fit, each is read and decoded once, its keys indexed once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.key_hashes import Hashes, key_hashes

MAX_BYTES: Final = 256 * 1024 * 1024
"""What a cache holds at most, if nothing else is said."""


class StoredTable:
    """A table that does not change, with an index of its keys that is made when it is first asked for."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._hashes: Hashes | None = None

    @property
    def num_bytes(self) -> int:
        """What it takes in memory, with the index that it has or will have."""
        size: int = self.table.nbytes
        return size + 16 * len(self.table)

    def find(self, names: Sequence[str], wanted: Hashes) -> pa.Table:
        """The rows with a key of these hashes; another key may have the same."""
        if self._hashes is None:
            hashes = key_hashes(self.table, names)
            self._order = np.argsort(hashes, kind="stable")
            self._hashes = hashes[self._order]
        lefts = np.searchsorted(self._hashes, wanted, "left")
        counts = np.searchsorted(self._hashes, wanted, "right") - lefts
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(lefts - (ends - counts), counts)
        return self.table.take(pa.array(self._order[places]))


class TableCache:
    """Tables by the name of their blob; beyond the limit those go that were used longest ago."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._tables: OrderedDict[str, StoredTable] = OrderedDict()
        self.num_bytes = 0

    def get(self, name: str) -> StoredTable | None:
        found = self._tables.get(name)
        if found is not None:
            self._tables.move_to_end(name)
        return found

    def put(self, name: str, stored: StoredTable) -> None:
        self.remove(name)
        self._tables[name] = stored
        self.num_bytes += stored.num_bytes
        while self.num_bytes > self._max_bytes:
            self.remove(next(iter(self._tables)))

    def remove(self, name: str) -> None:
        found = self._tables.pop(name, None)
        if found is not None:
            self.num_bytes -= found.num_bytes
