"""Built-in aggregates over columns: partial aggregates of each group, merged later, finished when a window fires.

The row-at-a-time form of the same aggregates is in `aggregates`; both give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.parts import Chosen, Distinct, Listed, Moments, Part, Total
from tidegate.core.function.aggregates import (
    Aggregate,
    CollectList,
    CombinedAggregate,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    MaxBy,
    Mean,
    Min,
    MinBy,
    Stddev,
    Sum,
)
from tidegate.errors import InvalidValueError

RECORDS: Final = "__records"
"""The column with the number of records behind a row of partial aggregates."""

_TOTALS: Final = {Sum: ("sum",), Min: ("min",), Max: ("max",), Mean: ("sum", "count"), Count: ("count",)}
_CHOICES: Final = {First: "first", Last: "last", MinBy: "min_by", MaxBy: "max_by"}
_OTHERS: Final[dict[type[Aggregate], type[Moments | Distinct | Listed]]] = {
    Stddev: Moments,
    CountDistinct: Distinct,
    CollectList: Listed,
}


class Partials:
    """Partial aggregates for the aggregates of one window operation.

    Tables of partial aggregates have the columns they are grouped by, `RECORDS`, and those of the parts.
    """

    def __init__(self, parts: Mapping[Any, Part], aggregates: Mapping[str, Aggregate]) -> None:
        self._parts = parts
        self._aggregates = aggregates
        ends = [1]
        for part in self._parts.values():
            ends.append(ends[-1] + len(part.names))
        self._spans = list(pairwise(ends))

    @staticmethod
    def of(combined: CombinedAggregate) -> Partials:
        parts: dict[Any, Part] = {}
        for aggregate in combined.aggregates:
            for place in _places(aggregate):
                if place not in parts:
                    parts[place] = _part(f"__{len(parts)}", place)
        return Partials(parts, dict(zip(combined.names, combined.aggregates, strict=True)))

    @property
    def fields(self) -> list[str]:
        """The fields that the aggregates read, each once."""
        return list(dict.fromkeys(field for part in self._parts.values() for field in part.fields))

    @property
    def needs_order(self) -> bool:
        """Whether some aggregate depends on the order in which records arrive."""
        return any(part.needs_order for part in self._parts.values())

    @property
    def part_names(self) -> list[str]:
        """The columns of partial aggregates, the number of records first."""
        return [RECORDS, *(name for part in self._parts.values() for name in part.names)]

    def reduce(self, table: pa.Table, groups: Groups) -> pa.Table:
        """Records as partial aggregates of each group."""
        columns = [groups.sizes()]
        for part in self._parts.values():
            columns += part.reduce(table, groups)
        return self._with_columns(groups.distinct, columns)

    def merge(self, table: pa.Table, groups: Groups) -> pa.Table:
        """Partial aggregates of the same groups as one row each."""
        columns = [groups.aggregate("sum", table[RECORDS])]
        for part in self._parts.values():
            columns += part.merge(table, groups)
        return self._with_columns(groups.distinct, columns)

    def _with_columns(self, distinct: pa.Table, columns: list[Any]) -> pa.Table:
        for name, column in zip(self.part_names, columns, strict=True):
            distinct = distinct.append_column(name, column)
        return distinct

    def of_records(self, table: pa.Table) -> Iterator[list[Any]]:
        """The partial aggregates of each record by itself, in the order of `part_names`."""
        columns = [[1] * len(table)]
        for part in self._parts.values():
            columns += part.of_records(table)
        return (list(values) for values in zip(*columns, strict=True))

    def combined(self, left: list[Any] | None, right: list[Any]) -> list[Any]:
        """The partial aggregates of two groups as those of one; None for a group of nothing."""
        if left is None:
            return right
        found = [left[0] + right[0]]
        for part, (begin, end) in zip(self._parts.values(), self._spans, strict=True):
            found += part.combined(left[begin:end], right[begin:end])
        return found

    def finish(self, table: pa.Table) -> dict[str, Any]:
        """The results, a column for each aggregate by name, of a table of partial aggregates."""
        return {name: self._finished(aggregate, table) for name, aggregate in self._aggregates.items()}

    def _finished(self, aggregate: Aggregate, table: pa.Table) -> Any:
        parts = [self._parts[place] for place in _places(aggregate)]
        if not parts:
            return table[RECORDS]
        if isinstance(parts[0], Moments | Distinct | Chosen | Listed):
            return parts[0].finish(table)
        columns = [table[part.names[0]] for part in parts]
        if isinstance(aggregate, Mean):
            total, count = columns
            return pc.divide(pc.cast(total, pa.float64()), pc.cast(count, pa.float64()))
        return columns[0]


Place = tuple[Any, ...]


def _places(aggregate: Aggregate) -> list[Place]:
    """What parts an aggregate is made of: their kind and fields. Aggregates share parts that are alike."""
    kind = type(aggregate)
    field = getattr(aggregate, "field", None)
    if kind is Count and field is None:
        return []
    if kind in _TOTALS:
        return [(how, field) for how in _TOTALS[kind]]
    if kind in _CHOICES:
        return [(_CHOICES[kind], field, getattr(aggregate, "by", None))]
    if kind in _OTHERS:
        return [(kind, field)]
    raise InvalidValueError(f"{aggregate!r} cannot be computed on columns")


def _part(name: str, place: Place) -> Part:
    how, field, *by = place
    if by:
        return Chosen(name, how, field, *by)
    return _OTHERS[how](name, field) if how in _OTHERS else Total(name, how, field)


Test = Callable[[pa.DataType], bool]


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def has_an_order(kind: pa.DataType) -> bool:
    """Whether values can be compared as whole numbers of 64 bits."""
    return bool((pa.types.is_integer(kind) and kind != pa.uint64()) or pa.types.is_temporal(kind))


def _can_be_told_apart(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_temporal(kind))


_TESTS: Final[dict[type[Aggregate], Test]] = {
    Count: lambda kind: True,
    Sum: lambda kind: bool(is_number(kind) or pa.types.is_decimal(kind)),
    Min: lambda kind: bool(is_number(kind) or pa.types.is_temporal(kind)),
    Max: lambda kind: bool(is_number(kind) or pa.types.is_temporal(kind)),
    Mean: is_number,
    Stddev: is_number,
    CountDistinct: _can_be_told_apart,
    CollectList: lambda kind: True,
    First: lambda kind: True,
    Last: lambda kind: True,
    MinBy: lambda kind: True,
    MaxBy: lambda kind: True,
}


def are_columnar(combined: CombinedAggregate, schema: pa.Schema) -> bool:
    """Whether these aggregates over columns of these types can be computed as partial aggregates."""
    return all(_is_columnar(aggregate, schema) for aggregate in combined.aggregates)


def _is_columnar(aggregate: Aggregate, schema: pa.Schema) -> bool:
    test = _TESTS.get(type(aggregate))
    if test is None:
        return False
    if isinstance(aggregate, Count) and aggregate.field is None:
        return True
    if isinstance(aggregate, MinBy | MaxBy) and not _holds(schema, aggregate.by, has_an_order):
        return False
    return _holds(schema, getattr(aggregate, "field", None), test)


def _holds(schema: pa.Schema, field: Any, test: Test) -> bool:
    return isinstance(field, str) and schema.get_field_index(field) >= 0 and test(schema.field(field).type)
