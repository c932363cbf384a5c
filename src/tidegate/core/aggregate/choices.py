"""Aggregates that choose: a field of the first or the last element, or of the one with the least or greatest other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.core.aggregate.aggregate import Aggregate, OverField
from tidegate.core.columnar.column_types import has_an_order
from tidegate.core.columnar.parts import Chosen, Part
from tidegate.core.function.fields import Field, get_field

__all__ = ["first", "last", "max_by", "min_by"]


class First(OverField):
    """The field of the element that arrived first."""

    __slots__ = ()

    def _both(self, left: Any, right: Any) -> Any:
        return left

    def parts(self) -> tuple[Part, ...]:
        return (Chosen("first", str(self.field)),)


def first(field: Field) -> Aggregate:
    """The field of the element that arrived first."""
    return First(field)


class Last(OverField):
    """The field of the element that arrived last."""

    __slots__ = ()

    def _both(self, left: Any, right: Any) -> Any:
        return right

    def parts(self) -> tuple[Part, ...]:
        return (Chosen("last", str(self.field)),)


def last(field: Field) -> Aggregate:
    """The field of the element that arrived last."""
    return Last(field)


@dataclass(frozen=True, slots=True)
class _By(Aggregate):
    """The field of the element whose other field is the lowest or highest; the earliest of equals."""

    field: Field
    by: Field

    def create(self) -> Any:
        return None

    def add(self, accumulator: Any, value: Any) -> Any:
        order = get_field(value, self.by)
        if order is None:
            return accumulator
        return self.merge(accumulator, (order, get_field(value, self.field)))

    def merge(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return right if self._beats(right[0], left[0]) else left

    def result(self, accumulator: Any) -> Any:
        return None if accumulator is None else accumulator[1]

    def parts(self) -> tuple[Part, ...]:
        how = "min_by" if self._beats(0, 1) else "max_by"
        return (Chosen(how, str(self.field), str(self.by)),)

    def takes(self, columns: Mapping[str, pa.DataType]) -> bool:
        return (
            self.field in columns and isinstance(self.by, str) and self.by in columns and has_an_order(columns[self.by])
        )

    @abstractmethod
    def _beats(self, challenger: Any, holder: Any) -> bool: ...

    __str__ = Aggregate.__str__


class MinBy(_By):
    __slots__ = ()

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return bool(challenger < holder)


def min_by(field: Field, by: Field) -> Aggregate:
    """`field` of the element with the lowest `by`."""
    return MinBy(field, by)


class MaxBy(_By):
    __slots__ = ()

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return bool(challenger > holder)


def max_by(field: Field, by: Field) -> Aggregate:
    """`field` of the element with the highest `by`."""
    return MaxBy(field, by)
