"""Aggregates that are numbers: how many, how much, the least, the greatest, the mean and its spread."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.aggregate.aggregate import Aggregate, OverField
from tidegate.core.columnar.column_types import can_be_added, can_be_compared, is_number
from tidegate.core.columnar.parts import Moments, Part, Total
from tidegate.core.function.fields import Field, get_field
from tidegate.errors import InvalidTypeError

__all__ = ["count", "max", "mean", "min", "stddev", "sum"]

_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """How many elements, or how many with a field that is not None."""

    field: Field | None = None

    def create(self) -> Any:
        return 0

    def add(self, accumulator: Any, value: Any) -> Any:
        return accumulator + (self.field is None or get_field(value, self.field) is not None)

    def merge(self, left: Any, right: Any) -> Any:
        return left + right

    def parts(self) -> tuple[Part, ...]:
        return () if self.field is None else (Total("count", str(self.field)),)

    def takes(self, columns: Mapping[str, pa.DataType]) -> bool:
        return self.field is None or self.field in columns

    def result_type(self, columns: Mapping[Field, str]) -> str:
        return "bigint"

    __str__ = Aggregate.__str__


def count(field: Field | None = None) -> Aggregate:
    """How many elements, or how many whose field is not None."""
    return Count(field)


class Sum(OverField):
    __slots__ = ()

    def _first(self, item: Any) -> Any:
        if isinstance(item, str):
            raise InvalidTypeError(
                f"agg.sum({self.field!r}): {item!r} is a text, and texts are not added; make it a number before, with "
                "map, or declare the column as one"
            )
        return item

    def _both(self, left: Any, right: Any) -> Any:
        return left + right

    def parts(self) -> tuple[Part, ...]:
        return (Total("sum", str(self.field)),)

    def _takes(self, kind: pa.DataType) -> bool:
        return can_be_added(kind)

    def result_type(self, columns: Mapping[Field, str]) -> str:
        kind = columns[self.field]
        return "bigint" if kind in _WHOLE else "double" if kind == "float" else kind


def sum(field: Field) -> Aggregate:  # noqa: A001
    return Sum(field)


class Min(OverField):
    __slots__ = ()

    def _both(self, left: Any, right: Any) -> Any:
        return builtins.min(left, right)

    def parts(self) -> tuple[Part, ...]:
        return (Total("min", str(self.field)),)

    def _takes(self, kind: pa.DataType) -> bool:
        return can_be_compared(kind)


def min(field: Field) -> Aggregate:  # noqa: A001
    return Min(field)


class Max(OverField):
    __slots__ = ()

    def _both(self, left: Any, right: Any) -> Any:
        return builtins.max(left, right)

    def parts(self) -> tuple[Part, ...]:
        return (Total("max", str(self.field)),)

    def _takes(self, kind: pa.DataType) -> bool:
        return can_be_compared(kind)


def max(field: Field) -> Aggregate:  # noqa: A001
    return Max(field)


class Mean(OverField):
    __slots__ = ()

    def _first(self, item: Any) -> Any:
        return (item, 1)

    def _both(self, left: Any, right: Any) -> Any:
        return (left[0] + right[0], left[1] + right[1])

    def result(self, accumulator: Any) -> Any:
        return None if accumulator is None else accumulator[0] / accumulator[1]

    def parts(self) -> tuple[Part, ...]:
        return Total("sum", str(self.field)), Total("count", str(self.field))

    def _takes(self, kind: pa.DataType) -> bool:
        return is_number(kind)

    def finish(self, columns: list[Any]) -> Any:
        total, count = columns
        return pc.divide(pc.cast(total, pa.float64()), pc.cast(count, pa.float64()))

    def result_type(self, columns: Mapping[Field, str]) -> str:
        return "double"


def mean(field: Field) -> Aggregate:
    return Mean(field)


class Stddev(OverField):
    """Standard deviation of a sample, None for fewer than two values; stable, by Welford and Chan."""

    __slots__ = ()

    def _first(self, item: Any) -> Any:
        return (1, float(item), 0.0)

    def _both(self, left: Any, right: Any) -> Any:
        count = left[0] + right[0]
        delta = right[1] - left[1]
        mean = left[1] + delta * right[0] / count
        return (count, mean, left[2] + right[2] + delta * delta * left[0] * right[0] / count)

    def result(self, accumulator: Any) -> Any:
        if accumulator is None or accumulator[0] < 2:
            return None
        return math.sqrt(accumulator[2] / (accumulator[0] - 1))

    def parts(self) -> tuple[Part, ...]:
        return (Moments(str(self.field)),)

    def _takes(self, kind: pa.DataType) -> bool:
        return is_number(kind)

    def result_type(self, columns: Mapping[Field, str]) -> str:
        return "double"


def stddev(field: Field) -> Aggregate:
    """Standard deviation of a sample; None for fewer than two values."""
    return Stddev(field)
