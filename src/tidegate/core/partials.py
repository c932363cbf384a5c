"""Built-in aggregates over columns: partial aggregates of each group, merged later, finished when a window fires.

The row-at-a-time form of the same aggregates is in `aggregates`; both give the same results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.aggregates import Aggregate, CombinedAggregate, Count, Max, Mean, Min, Sum
from tidegate.core.groups import Groups
from tidegate.errors import InvalidValueError

RECORDS: Final = "n"
"""The column with the number of records behind a row of partial aggregates."""

_LIMIT: Final = 2**63
_MERGE: Final = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}


@dataclass(frozen=True, slots=True)
class PartialColumn:
    """One column of partial aggregates: how it is made of which field."""

    name: str
    how: str
    field: str


class Partials:
    """Partial aggregates for the aggregates of one window operation.

    Tables of partial aggregates have the columns they are grouped by, `RECORDS`, and those in `columns`.
    """

    def __init__(self, combined: CombinedAggregate) -> None:
        self._aggregates = dict(zip(combined.names, combined.aggregates, strict=True))
        found: dict[tuple[str, str], PartialColumn] = {}
        for aggregate in combined.aggregates:
            for how in _parts_of(aggregate):
                field = str(aggregate.field)  # type: ignore[attr-defined]
                found.setdefault((how, field), PartialColumn(f"a{len(found)}", how, field))
        self.columns = tuple(found.values())
        self._names = {place: column.name for place, column in found.items()}

    @property
    def fields(self) -> list[str]:
        """The fields that the aggregates read, each once."""
        return list(dict.fromkeys(column.field for column in self.columns))

    def reduce(self, table: pa.Table, groups: Groups) -> pa.Table:
        """Records as partial aggregates of each group."""
        parts = [groups.sizes()]
        for column in self.columns:
            if column.how == "sum":
                _check_sum(table[column.field], column.field)
            parts.append(groups.aggregate(column.how, table[column.field]))
        return self._with_parts(groups.distinct, parts)

    def merge(self, table: pa.Table, groups: Groups) -> pa.Table:
        """Partial aggregates of the same groups as one row each."""
        parts = [groups.aggregate("sum", table[RECORDS])]
        for column in self.columns:
            if column.how == "sum":
                _check_sum(table[column.name], column.field)
            parts.append(groups.aggregate(_MERGE[column.how], table[column.name]))
        return self._with_parts(groups.distinct, parts)

    @property
    def part_names(self) -> list[str]:
        """The columns of partial aggregates, the number of records first."""
        return [RECORDS, *(column.name for column in self.columns)]

    def of_record(self, values: Sequence[Any]) -> list[Any]:
        """The partial aggregates of one record, in the order of `part_names`, from its fields."""
        pairs = zip(self.columns, values, strict=True)
        return [1, *(int(value is not None) if column.how == "count" else value for column, value in pairs)]

    def combined(self, left: list[Any] | None, right: list[Any]) -> list[Any]:
        """The partial aggregates of two groups as those of one; None for a group of nothing."""
        if left is None:
            return right
        hows = ["count", *(column.how for column in self.columns)]
        return [_combined(how, a, b) for how, a, b in zip(hows, left, right, strict=True)]

    def finish(self, table: pa.Table) -> dict[str, Any]:
        """The results, a column for each aggregate by name, of a table of partial aggregates."""
        return {name: self._finished(aggregate, table) for name, aggregate in self._aggregates.items()}

    def _with_parts(self, distinct: pa.Table, parts: list[Any]) -> pa.Table:
        for name, part in zip(self.part_names, parts, strict=True):
            distinct = distinct.append_column(name, part)
        return distinct

    def _finished(self, aggregate: Aggregate, table: pa.Table) -> Any:
        if isinstance(aggregate, Count) and aggregate.field is None:
            return table[RECORDS]
        field = str(aggregate.field)  # type: ignore[attr-defined]
        parts = [table[self._names[(how, field)]] for how in _parts_of(aggregate)]
        if isinstance(aggregate, Mean):
            total, count = parts
            return pc.divide(pc.cast(total, pa.float64()), pc.cast(count, pa.float64()))
        return parts[0]


def _combined(how: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    if how == "min":
        return min(left, right)
    return max(left, right) if how == "max" else left + right


def are_columnar(combined: CombinedAggregate, schema: pa.Schema) -> bool:
    """Whether these aggregates over columns of these types can be computed as partial aggregates."""
    for aggregate in combined.aggregates:
        if not isinstance(aggregate, Count | Sum | Min | Max | Mean):
            return False
        field = aggregate.field
        if field is None:
            continue
        if not isinstance(field, str) or schema.get_field_index(field) < 0:
            return False
        kind = schema.field(field).type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if isinstance(aggregate, Mean) and not is_number:
            return False
        if isinstance(aggregate, Sum) and not (is_number or pa.types.is_decimal(kind)):
            return False
        if isinstance(aggregate, Min | Max) and not (is_number or pa.types.is_temporal(kind)):
            return False
    return True


def _parts_of(aggregate: Aggregate) -> tuple[str, ...]:
    """What partial aggregates an aggregate needs."""
    if isinstance(aggregate, Count):
        return () if aggregate.field is None else ("count",)
    if isinstance(aggregate, Mean):
        return ("sum", "count")
    if isinstance(aggregate, Sum | Min | Max):
        return (type(aggregate).__name__.lower(),)
    raise InvalidValueError(f"{aggregate!r} cannot be computed on columns")


def _check_sum(values: pa.ChunkedArray, field: str) -> None:
    """Refuse a sum of whole numbers that may not fit 64 bits: Arrow would wrap around without a word."""
    if not pa.types.is_integer(values.type):
        return
    span = pc.min_max(values).as_py()
    if span["min"] is None or max(abs(span["min"]), abs(span["max"])) * len(values) < _LIMIT:
        return
    if pc.sum(pc.abs(pc.cast(values, pa.float64()))).as_py() >= _LIMIT:
        raise InvalidValueError(
            f"agg.sum({field!r}): the sum may not fit 64 bits; make the column a decimal or double before it comes here"
        )
