"""Rows in groups: rows with equal values get the same number, and columns are aggregated by number in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]

_SPARSE: Final = 4
"""Numbers may be so many times the rows before they are counted afresh."""
_FEW: Final = 4_096
_UFUNCS: Final[dict[str, Any]] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(slots=True, eq=False)
class Groups:
    """The group of each row as a number from 0, and what the rows of each group have in common.

    >>> table = pa.table({"user": ["a", "b", "a"], "amount": [1, 2, 3]})
    >>> groups = Groups.of(table, ["user"])
    >>> groups.numbers.tolist(), groups.distinct["user"].to_pylist()
    ([0, 1, 0], ['a', 'b'])
    >>> groups.aggregate("sum", table["amount"]).to_pylist()
    [4, 2]
    """

    numbers: Numbers
    distinct: pa.Table

    @staticmethod
    def of(table: pa.Table, names: Sequence[str]) -> Groups:
        """Rows grouped by columns; by one column, groups come in the order of their first rows."""
        numbers, values = _encoded(table[names[0]])
        groups = Groups(numbers, pa.table({names[0]: values}))
        for name in names[1:]:
            further, values = _encoded(table[name])
            numbers, found = _compressed(groups.numbers * len(values) + further, len(groups) * len(values))
            left, right = np.divmod(found, max(len(values), 1))
            distinct = groups.distinct.take(pa.array(left)).append_column(name, values.take(pa.array(right)))
            groups = Groups(numbers, distinct)
        return groups

    @staticmethod
    def each(count: int) -> Groups:
        """So many rows, each a group of its own."""
        numbers = np.arange(count)
        return Groups(numbers, pa.table({"row": numbers}))

    def __len__(self) -> int:
        return len(self.distinct)

    def split(self, name: str, values: Numbers, step: int = 1) -> tuple[Groups, Numbers]:
        """The groups split by a number of each row, in the order of that number; and which of these each is part of.

        The numbers are multiples of `step` apart.
        """
        ranks, found = _ranked(values, step)
        numbers, places = _compressed(ranks * len(self) + self.numbers, len(found) * len(self))
        which, parents = np.divmod(places, max(len(self), 1))
        distinct = self.distinct.take(pa.array(parents)).add_column(0, name, pa.array(found[which]))
        return Groups(numbers, distinct), parents

    def part(self, begin: int, end: int) -> Groups:
        """The groups of some of the rows."""
        numbers, found = _compressed(self.numbers[begin:end], len(self))
        return Groups(numbers, self.distinct.take(pa.array(found)) if len(found) < len(self) else self.distinct)

    def sizes(self) -> pa.Array:
        """How many rows each group has."""
        return pa.array(np.bincount(self.numbers, minlength=len(self)))

    def aggregate(self, how: str, column: pa.ChunkedArray) -> pa.Array:
        """The count, sum, min or max of a column in each group: of what is not null, null where nothing is."""
        numbers = self.numbers
        mask = None
        if column.null_count:
            numbers = numbers[pc.is_valid(column).to_numpy()]
            column = column.drop_null()
            mask = np.bincount(numbers, minlength=len(self)) == 0
        if how == "count":
            return pa.array(np.bincount(numbers, minlength=len(self)))
        kind = column.type
        if how == "sum" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            wide = pa.float64() if pa.types.is_floating(kind) else _widest(kind)
            return pa.array(self._scattered("sum", numbers, column.to_numpy(), wide), mask=mask)
        if pa.types.is_integer(kind):
            return pa.array(self._scattered(how, numbers, column.to_numpy(), kind), mask=mask)
        if pa.types.is_timestamp(kind):
            ticks = column.cast(pa.int64()).to_numpy()
            return pa.array(self._scattered(how, numbers, ticks, pa.int64()), mask=mask).cast(kind)
        return self._by_arrow(how, numbers, column)

    def _scattered(self, how: str, numbers: Numbers, values: Any, kind: pa.DataType) -> Any:
        dtype = kind.to_pandas_dtype()
        limits: Any = np.iinfo(dtype) if how != "sum" else None
        neutral = 0 if limits is None else limits.max if how == "min" else limits.min
        result = np.full(len(self), neutral, dtype)
        _UFUNCS[how].at(result, numbers, values.astype(dtype, copy=False))
        return result

    def _by_arrow(self, how: str, numbers: Numbers, column: pa.ChunkedArray) -> pa.Array:
        """For types that numpy does not have, or treats in another way."""
        table = pa.table({"group": numbers, "value": column}).group_by("group", use_threads=False)
        found = table.aggregate([("value", how)])
        places = np.full(len(self), -1)
        places[found["group"].to_numpy()] = np.arange(len(found))
        return found[f"value_{how}"].combine_chunks().take(pa.array(places, mask=places < 0))


def _encoded(column: pa.ChunkedArray) -> tuple[Numbers, pa.Array]:
    """The place of each value among the distinct ones, and those."""
    if not pa.types.is_dictionary(column.type) or column.null_count:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        coded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
        return coded.indices.to_numpy().astype(np.int64), coded.dictionary
    # A dictionary may hold what no row has.
    coded = column.unify_dictionaries().combine_chunks()
    numbers, found = _compressed(coded.indices.to_numpy().astype(np.int64), len(coded.dictionary))
    return numbers, coded.dictionary.take(pa.array(found))


def _ranked(values: Numbers, step: int) -> tuple[Numbers, Numbers]:
    """The place of each number in a sorted list of numbers, and the list."""
    if len(values):
        lowest, highest = int(values.min()), int(values.max())
        if (highest - lowest) // step < _FEW:
            return (values - lowest) // step, np.arange(lowest, highest + 1, step)
    found, ranks = np.unique(values, return_inverse=True)
    return ranks, found


def _compressed(numbers: Numbers, limit: int) -> tuple[Numbers, Numbers]:
    """Numbers below a limit as places among those that occur, and those, in order."""
    if limit > _SPARSE * len(numbers) + 1_000:
        found, places = np.unique(numbers, return_inverse=True)
        return places.astype(np.int64, copy=False), found
    is_there = np.zeros(limit, bool)
    is_there[numbers] = True
    found = np.flatnonzero(is_there)
    if len(found) == limit:
        return numbers, found
    ranks = np.cumsum(is_there) - 1
    return ranks[numbers], found


def _widest(kind: pa.DataType) -> pa.DataType:
    return pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64()
