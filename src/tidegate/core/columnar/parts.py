"""Parts of aggregates: the columns in which what is known of a group so far is kept, and how they are merged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.groups import Groups, Numbers
from tidegate.errors import InvalidValueError

ARRIVAL: Final = "__arrival"
"""The column of records with their place among all that the operator has seen, where a part asks for it."""

_LIMIT: Final = 2**63


def is_part(name: str) -> bool:
    """Whether a column is one of a part, by its name."""
    return name.startswith("__") and "(" in name


class Part(ABC):
    """Columns of partial aggregates. Each of the methods gives one array, or one list, for each of the columns.

    Its columns are named by what it is, so that stored ones are known again by a program that has changed around them.
    """

    needs_order = False
    """Whether it depends on the order in which records arrive: they have `ARRIVAL` then."""

    def __init__(self, how: str, fields: Sequence[str], num_columns: int = 1) -> None:
        self.fields = tuple(fields)
        self.key = f"{how}({', '.join(fields)})"
        self.names = tuple(f"__{self.key}.{index}" for index in range(num_columns))

    @abstractmethod
    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        """Of the records of each group."""

    @abstractmethod
    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        """Of what is known of the parts of each group."""

    @abstractmethod
    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        """Of groups of nothing; `schema` has the types of the fields."""

    def finish(self, table: pa.Table) -> Any:
        """What the part says of each group."""
        return table[self.names[0]]

    @abstractmethod
    def of_records(self, table: pa.Table) -> list[list[Any]]:
        """Of each record by itself, as values."""

    @abstractmethod
    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        """Of two groups as one, as values; `left` has the earlier records."""


class Total(Part):
    """The count, sum, min or max of a field."""

    def __init__(self, how: str, field: str) -> None:
        super().__init__(how, [field])
        self._how = how
        self._field = field

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        if self._how == "count":
            return [pa.array(np.zeros(count, np.int64))]
        nothing = pa.chunked_array([pa.nulls(count, schema[self._field])])
        return self.reduce(pa.table({self._field: nothing}), Groups.each(count))

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        return [self._aggregate(self._how, table[self._field], groups)]

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        return [self._aggregate("sum" if self._how == "count" else self._how, table[self.names[0]], groups)]

    def _aggregate(self, how: str, column: pa.ChunkedArray, groups: Groups) -> Any:
        if how == "sum":
            _check_sum(column, self._field)
        return groups.aggregate(how, column)

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        values = table[self._field].to_pylist()
        return [[int(value is not None) for value in values] if self._how == "count" else values]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        (a,), (b,) = left, right
        if a is None or b is None:
            return [b if a is None else a]
        if self._how == "min":
            return [min(a, b)]
        return [max(a, b)] if self._how == "max" else [a + b]


class Moments(Part):
    """How many values a field has, their mean, and the sum of the squares of their distances from it."""

    def __init__(self, field: str) -> None:
        super().__init__("moments", [field], 3)
        self._field = field

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        return [pa.array(np.zeros(count)) for _ in self.names]

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        column = table[self._field]
        is_valid = column.is_valid().to_numpy()
        values = column.drop_null().cast(pa.float64(), safe=False).to_numpy()
        ones, zeros = np.ones(len(values)), np.zeros(len(values))
        return _moments(groups.numbers[is_valid], len(groups), ones, values, zeros)

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        counts, means, squares = (table[name].to_numpy() for name in self.names)
        return _moments(groups.numbers, len(groups), counts, means, squares)

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        values = table[self._field].to_pylist()
        means = [0.0 if value is None else float(value) for value in values]
        return [[float(value is not None) for value in values], means, [0.0] * len(values)]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        count = left[0] + right[0]
        if not left[0] or not right[0]:
            return left if left[0] else right
        delta = right[1] - left[1]
        mean = left[1] + delta * right[0] / count
        return [count, mean, left[2] + right[2] + delta * delta * left[0] * right[0] / count]

    def finish(self, table: pa.Table) -> Any:
        """The standard deviation of a sample, null for fewer than two values."""
        counts, _, squares = (table[name].to_numpy() for name in self.names)
        return pa.array(np.sqrt(squares / np.maximum(counts - 1, 1)), mask=counts < 2)


class Distinct(Part):
    """The distinct values of a field, as a list."""

    def __init__(self, field: str) -> None:
        super().__init__("distinct", [field])
        self._field = field

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        return [_empty_lists(schema[self._field], count)]

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        column = table[self._field]
        return [self._lists(groups.numbers[column.is_valid().to_numpy()], column.drop_null(), len(groups))]

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        lists = table[self.names[0]].combine_chunks()
        numbers = np.repeat(groups.numbers, pc.list_value_length(lists).to_numpy())
        return [self._lists(numbers, pa.chunked_array([lists.flatten()]), len(groups))]

    def _lists(self, numbers: Numbers, values: pa.ChunkedArray, count: int) -> Any:
        known = Groups.of(pa.table({"value": values}), ["value"])
        pairs = np.unique(numbers * max(len(known), 1) + known.numbers)
        owners, places = np.divmod(pairs, max(len(known), 1))
        distinct = known.distinct["value"].combine_chunks()
        return _list_array(owners, distinct.take(pa.array(places)), count)

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        return [[[] if value is None else [value] for value in table[self._field].to_pylist()]]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        return [list(dict.fromkeys([*left[0], *right[0]]))]

    def finish(self, table: pa.Table) -> Any:
        """How many there are."""
        return pc.list_value_length(table[self.names[0]]).cast(pa.int64())


class Chosen(Part):
    """The field of one record: of the first or the last, or of that with the lowest or highest other field."""

    needs_order = True

    def __init__(self, how: str, field: str, by: str | None = None) -> None:
        super().__init__(how, [field] if by is None else [field, by], 2 if by is None else 3)
        self._how = how
        self._field = field
        self._by = by

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        kinds = [schema[self._field], pa.int64(), *([] if self._by is None else [schema[self._by]])]
        return [pa.nulls(count, kind) for kind in kinds]

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        columns = [table[self._field], table[ARRIVAL], *([] if self._by is None else [table[self._by]])]
        return self._choose(columns, groups, columns[-1] if self._by else columns[0])

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        columns = [table[name] for name in self.names]
        return self._choose(columns, groups, columns[1])

    def _choose(self, columns: list[pa.ChunkedArray], groups: Groups, must_be: pa.ChunkedArray) -> list[Any]:
        """The winner of each group, among the rows where a column is not null."""
        rows = np.flatnonzero(must_be.is_valid().to_numpy())
        numbers = groups.numbers[rows]
        arrivals = columns[1].combine_chunks().fill_null(0).to_numpy()[rows]
        ranks = None if self._by is None else whole_numbers(columns[2])[rows]
        winners = np.full(len(groups), -1)
        chosen = winning(numbers, arrivals, ranks, self._how)
        winners[numbers[chosen]] = rows[chosen]
        places = pa.array(winners, mask=winners < 0)
        return [column.combine_chunks().take(places) for column in columns]

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        columns = [table[self._field], table[ARRIVAL], *([] if self._by is None else [table[self._by]])]
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        kept = [row if row[-1 if self._by else 0] is not None else (None,) * len(row) for row in rows]
        return [[row[index] for row in kept] for index in range(len(columns))]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        if left[1] is None or right[1] is None:
            return right if left[1] is None else left
        if self._by is not None and left[2] != right[2]:
            return left if (left[2] < right[2]) == (self._how == "min_by") else right
        return left if (left[1] < right[1]) == (self._how != "last") else right


class Listed(Part):
    """All values of a field, and when they arrived, as lists."""

    needs_order = True

    def __init__(self, field: str) -> None:
        super().__init__("listed", [field], 2)
        self._field = field

    def empty(self, schema: Mapping[str, pa.DataType], count: int) -> list[Any]:
        return [_empty_lists(schema[self._field], count), _empty_lists(pa.int64(), count)]

    def reduce(self, table: pa.Table, groups: Groups) -> list[Any]:
        column = table[self._field]
        is_valid = column.is_valid().to_numpy()
        arrivals = table[ARRIVAL].to_numpy()[is_valid]
        return _in_lists(groups.numbers[is_valid], column.drop_null().combine_chunks(), arrivals, len(groups))

    def merge(self, table: pa.Table, groups: Groups) -> list[Any]:
        values, arrivals = (table[name].combine_chunks() for name in self.names)
        numbers = np.repeat(groups.numbers, pc.list_value_length(values).to_numpy())
        return _in_lists(numbers, values.flatten(), arrivals.flatten().to_numpy(), len(groups))

    def of_records(self, table: pa.Table) -> list[list[Any]]:
        pairs = list(zip(table[self._field].to_pylist(), table[ARRIVAL].to_pylist(), strict=True))
        values = [[] if value is None else [value] for value, _ in pairs]
        return [values, [[] if value is None else [place] for value, place in pairs]]

    def combined(self, left: list[Any], right: list[Any]) -> list[Any]:
        arrivals = [*left[1], *right[1]]
        values = [*left[0], *right[0]]
        order = sorted(range(len(values)), key=arrivals.__getitem__)
        return [[values[index] for index in order], [arrivals[index] for index in order]]


def winning(numbers: Numbers, arrivals: Numbers, ranks: Numbers | None, how: str) -> Numbers:
    """The row of each group that was the first or the last, or is the first with the lowest or highest rank."""
    keys = [~arrivals if how == "last" else arrivals]
    if ranks is not None:
        keys.append(~ranks if how == "max_by" else ranks)
    order = np.lexsort((*keys, numbers))
    return order[np.flatnonzero(np.diff(numbers[order], prepend=-1))]


def _moments(numbers: Numbers, size: int, counts: Any, means: Any, squares: Any) -> list[Any]:
    def added(weights: Any) -> Any:
        return np.bincount(numbers, weights, size).astype(np.float64)

    total = added(counts)
    mean = added(counts * means) / np.maximum(total, 1)
    spread = added(squares + counts * (means - mean[numbers]) ** 2)
    return [pa.array(total), pa.array(mean), pa.array(spread)]


def _in_lists(numbers: Numbers, values: pa.Array, arrivals: Numbers, count: int) -> list[Any]:
    order = np.lexsort((arrivals, numbers))
    places = pa.array(order)
    return [_list_array(numbers[order], part.take(places), count) for part in (values, pa.array(arrivals))]


def _list_array(owners: Numbers, values: pa.Array, count: int) -> Any:
    """Values in the lists of their owners, which come in order."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _empty_lists(kind: pa.DataType, count: int) -> Any:
    return _list_array(np.empty(0, np.int64), pa.array([], kind), count)


def whole_numbers(column: pa.ChunkedArray) -> Numbers:
    """A column of whole numbers or times as numbers in the same order; anything where it is null."""
    whole = column.combine_chunks()
    if pa.types.is_date32(whole.type) or pa.types.is_time32(whole.type):
        whole = whole.cast(pa.int32())
    return whole.cast(pa.int64()).fill_null(0).to_numpy()  # type: ignore[no-any-return]


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
