"""`sum`, `min`, `max`, `min_by` and `max_by` of windows on columns: a record of each group, with a field aggregated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.column_types import has_an_order, is_number
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.partials import PartialAggregates
from tidegate.core.columnar.parts import ARRIVAL, Part, Total, whole_numbers, winning
from tidegate.core.function.fields import FieldReducer
from tidegate.errors import InvalidValueError


class KeptRows(PartialAggregates):
    """Partial aggregates that are records: the first of each group with the sum, min or max, or the chosen one."""

    def __init__(self, reducer: FieldReducer, schema: pa.Schema) -> None:
        self._part = _KeptRow(reducer.how, str(reducer.field), schema)
        super().__init__({self._part.key: self._part}, {})

    def finish(self, table: pa.Table) -> dict[str, Any]:
        """The records, a column for each of theirs."""
        return {name: table[column] for name, column in zip(self._part.fields, self._part.names, strict=False)}


def is_reducible(reducer: Any, schema: pa.Schema) -> bool:
    """Whether a field of such records can be aggregated on columns, with the same results."""
    if not isinstance(reducer, FieldReducer) or not isinstance(reducer.field, str):
        return False
    index = schema.get_field_index(reducer.field)
    if index < 0:
        return False
    kind = schema.field(index).type
    return is_number(kind) if reducer.how == "sum" else has_an_order(kind)


class _KeptRow(Part):
    """All fields of a record, and when it arrived."""

    needs_order = True

    def __init__(self, how: str, field: str, schema: pa.Schema) -> None:
        super().__init__(f"row by {how} of {field}", schema.names, len(schema) + 1)
        self._how = how
        self._field = field
        self._place = schema.get_field_index(field)
        self._is_choice = how.endswith("_by")
        self._total = None if self._is_choice else Total(how, field)

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        raise AssertionError("a window keeps the records of one function")

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        return self._keep([*(table[name] for name in self.fields), table[ARRIVAL]], groups)

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        return self._keep([table[name] for name in self.names], groups)

    def _keep(self, columns: list[pa.ChunkedArray], groups: Groups) -> list[Any]:
        values = columns[self._place]
        self._check(values, groups)
        ranks = whole_numbers(values) if self._is_choice else None
        arrivals = columns[-1].combine_chunks().to_numpy()
        places = np.empty(len(groups), np.int64)
        chosen = winning(groups.numbers, arrivals, ranks, self._how)
        places[groups.numbers[chosen]] = chosen
        kept = [column.combine_chunks().take(pa.array(places)) for column in columns]
        if self._total is not None:
            kept[self._place] = self._total.reduce(pa.table({self._field: values}), groups)[0]
        return kept

    def _check(self, values: pa.ChunkedArray, groups: Groups) -> None:
        if values.null_count:
            is_null = values.is_null().to_numpy()
            if np.bincount(groups.numbers)[groups.numbers[is_null]].max() > 1:
                raise self._no_value()

    def _no_value(self) -> InvalidValueError:
        return InvalidValueError(
            f"{self._how}({self._field!r}): the field is null in some records; filter them out before, or use "
            f"agg(...), which leaves them out"
        )

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        return [table[name].to_pylist() for name in (*self.fields, ARRIVAL)]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        a, b = left[self._place], right[self._place]
        if a is None or b is None:
            raise self._no_value()
        first, second = (left, right) if left[-1] < right[-1] else (right, left)
        if self._total is None:
            one, other = first[self._place], second[self._place]
            is_beaten = other < one if self._how == "min_by" else other > one
            return second if is_beaten else first
        kept = list(first)
        kept[self._place] = self._total.combined([a], [b])[0]
        return kept
