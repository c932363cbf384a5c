"""Built-in aggregates over columns: partial aggregates of each group, merged later, finished when a window fires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from tidegate.core.aggregate.aggregate import Aggregate
from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.parts import Part, is_part

RECORDS: Final = "__records"
"""The column with the number of records behind a row of partial aggregates."""


class PartialAggregates:
    """Partial aggregates for the aggregates of one window operation.

    Tables of partial aggregates have the columns they are grouped by, `RECORDS`, and those of the parts.
    """

    def __init__(self, parts: Mapping[str, Part], aggregates: Mapping[str, Aggregate]) -> None:
        self._parts = parts
        self._aggregates = aggregates
        ends = [1]
        for part in self._parts.values():
            ends.append(ends[-1] + len(part.names))
        self._spans = list(pairwise(ends))

    @staticmethod
    def of(combined: CombinedAggregate) -> PartialAggregates:
        parts = {part.key: part for aggregate in combined.aggregates for part in aggregate.parts()}
        return PartialAggregates(parts, dict(zip(combined.names, combined.aggregates, strict=True)))

    @property
    def fields(self) -> list[str]:
        """The fields that the aggregates read, each once."""
        return list(dict.fromkeys(field for part in self._parts.values() for field in part.fields))

    @property
    def parts_by_aggregate(self) -> dict[str, list[str]]:
        """The parts that each aggregate is made of, by what both are. The number of records is always there."""
        return {str(aggregate): [part.key for part in aggregate.parts()] for aggregate in self._aggregates.values()}

    @property
    def needs_order(self) -> bool:
        """Whether some aggregate depends on the order in which records arrive."""
        return any(part.needs_order for part in self._parts.values())

    @property
    def part_names(self) -> list[str]:
        """The columns of partial aggregates, the number of records first."""
        return [RECORDS, *(name for part in self._parts.values() for name in part.names)]

    def completed(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """A stored table with the columns that these partial aggregates have, in their order.

        It may be from before the program changed: parts that it lacks are empty there, and what is no longer asked for
        goes.
        """
        names = self.part_names
        stored = table.column_names
        if [name for name in stored if is_part(name)] == names[1:]:
            return table
        kinds = {field.name: field.type for field in schema}
        for part in self._parts.values():
            if part.names[0] not in stored:
                for name, column in zip(part.names, part.empty(kinds, len(table)), strict=True):
                    table = table.append_column(name, column)
        place = stored.index(RECORDS)
        behind = [name for name in stored[place + 1 :] if not is_part(name)]
        return table.select([*stored[:place], *names, *behind])

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
        parts = aggregate.parts()
        return aggregate.finish([part.finish(table) for part in parts]) if parts else table[RECORDS]


def are_columnar(combined: CombinedAggregate, schema: pa.Schema) -> bool:
    """Whether these aggregates over columns of these types can be computed as partial aggregates."""
    columns = {field.name: field.type for field in schema}
    return all(aggregate.takes(columns) for aggregate in combined.aggregates)
