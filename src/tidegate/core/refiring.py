"""Late but allowed records on columns: each fires its windows again, with all that they hold by then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar_operator import SLICE
from tidegate.core.partials import RECORDS
from tidegate.core.windows import TimeWindow

if TYPE_CHECKING:
    from tidegate.core.sliced_windows import SlicedWindowOperator

Key = tuple[Any, ...]


class Refiring:
    """One batch of late records, in order. What their windows held before is looked up for their keys only."""

    def __init__(self, operator: SlicedWindowOperator, records: pa.Table) -> None:
        self._operator = operator
        self._partials = operator.partials
        self._records = records
        self._held: dict[int, dict[Key, list[Any]]] = {}
        keys = (records[name].to_pylist() for name in operator.keys)
        self._keys: list[Key] = list(zip(*keys, strict=True))

    def run(self) -> None:
        columns = self._partials.columns
        fields = [self._records[column.field].to_pylist() for column in columns]
        starts = self._records[SLICE].to_pylist()
        for index, (key, start) in enumerate(zip(self._keys, starts, strict=True)):
            held = self._slice(start)
            values = [of_record(column.how, field[index]) for column, field in zip(columns, fields, strict=True)]
            held[key] = self._both(held.get(key), [1, *values])
            for window in self._operator.fired(start):
                self._fire(key, window)

    def _fire(self, key: Key, window: TimeWindow) -> None:
        total: list[Any] | None = None
        for other in {*self._operator.slices_of(window), *(s for s in self._held if window.start <= s < window.end)}:
            found = self._slice(other).get(key)
            if found is not None:
                total = self._both(total, found)
        assert total is not None
        names = [RECORDS, *(column.name for column in self._partials.columns)]
        self._operator.emit_one(key, window.start, window.end, dict(zip(names, total, strict=True)))

    def _slice(self, start: int) -> dict[Key, list[Any]]:
        """What a slice holds for the keys of these records."""
        if start not in self._held:
            self._held[start] = dict(self._load(start)) if start in self._operator.log else {}
        return self._held[start]

    def _load(self, start: int) -> list[tuple[Key, list[Any]]]:
        table = self._operator.merged(start)
        for name in self._operator.keys:
            wanted = pc.unique(self._records[name])
            table = table.filter(pc.is_in(table[name], value_set=wanted))
        keys = zip(*(table[name].to_pylist() for name in self._operator.keys), strict=True)
        names = [RECORDS, *(column.name for column in self._partials.columns)]
        values = zip(*(table[name].to_pylist() for name in names), strict=True)
        return [(key, list(parts)) for key, parts in zip(keys, values, strict=True)]

    def _both(self, left: list[Any] | None, right: list[Any]) -> list[Any]:
        if left is None:
            return right
        hows = ["count", *(column.how for column in self._partials.columns)]
        return [combined(how, a, b) for how, a, b in zip(hows, left, right, strict=True)]


def of_record(how: str, value: Any) -> Any:
    """The partial aggregate of one record."""
    return int(value is not None) if how == "count" else value


def combined(how: str, left: Any, right: Any) -> Any:
    """Two partial aggregates as one."""
    if left is None or right is None:
        return right if left is None else left
    if how == "min":
        return min(left, right)
    return max(left, right) if how == "max" else left + right
