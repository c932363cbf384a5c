"""Late but allowed records on columns: each fires its windows again, with all that they hold by then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.columnar_operator import SLICE, Fired
from tidegate.core.window.windows import TimeWindow

if TYPE_CHECKING:
    from tidegate.core.columnar.sliced_windows import SlicedWindowOperator

Key = tuple[Any, ...]


class Refiring:
    """One batch of late records, in order. What their windows held before is looked up for their keys only."""

    def __init__(self, operator: SlicedWindowOperator, records: pa.Table) -> None:
        self._operator = operator
        self._partials = operator.partials
        self._records = records
        self._held: dict[int, dict[Key, list[Any]]] = {}
        self._fired: list[Fired] = []
        keys = (records[name].to_pylist() for name in operator.keys)
        self._keys: list[Key] = list(zip(*keys, strict=True))

    def run(self) -> None:
        starts = self._records[SLICE].to_pylist()
        for key, start, parts in zip(self._keys, starts, self._partials.of_records(self._records), strict=True):
            held = self._slice(start)
            held[key] = self._partials.combined(held.get(key), parts)
            for window in self._operator.fired(start):
                self._fire(key, window)
        self._operator.emit_each(self._fired)

    def _fire(self, key: Key, window: TimeWindow) -> None:
        total: list[Any] | None = None
        for other in {*self._operator.slices_of(window), *(s for s in self._held if window.start <= s < window.end)}:
            found = self._slice(other).get(key)
            if found is not None:
                total = self._partials.combined(total, found)
        assert total is not None
        self._fired.append((key, window.start, window.end, total))

    def _slice(self, start: int) -> dict[Key, list[Any]]:
        """What a slice holds for the keys of these records."""
        if start not in self._held:
            self._held[start] = self._load(start)
        return self._held[start]

    def _load(self, start: int) -> dict[Key, list[Any]]:
        found: dict[Key, list[Any]] = {}
        for table in self._operator.log.load(start):
            table = _touching(table, self._operator.keys, self._records)
            keys = zip(*(table[name].to_pylist() for name in self._operator.keys), strict=True)
            values = zip(*(table[name].to_pylist() for name in self._partials.part_names), strict=True)
            for key, parts in zip(keys, values, strict=True):
                found[key] = self._partials.combined(found.get(key), list(parts))
        return found


def _touching(table: pa.Table, names: list[str], wanted: pa.Table) -> pa.Table:
    """The rows of a table whose key may be among those wanted: each column is looked at by itself."""
    for name in names:
        table = table.filter(pc.is_in(table[name], value_set=pc.unique(wanted[name])))
    return table
