"""Aggregates that keep values: all of them, or the distinct ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tidegate.core.aggregate.aggregate import Aggregate, OverField
from tidegate.core.columnar.column_types import can_be_told_apart
from tidegate.core.columnar.parts import Distinct, Listed, Part
from tidegate.core.function.fields import Field

__all__ = ["collect_list", "count_distinct"]


class CollectList(OverField):
    """All values of a field, in arrival order."""

    __slots__ = ()

    def _first(self, item: Any) -> Any:
        return [item]

    def _next(self, accumulator: Any, item: Any) -> Any:
        accumulator.append(item)
        return accumulator

    def _both(self, left: Any, right: Any) -> Any:
        return left + right

    def result(self, accumulator: Any) -> Any:
        return [] if accumulator is None else list(accumulator)

    def parts(self) -> tuple[Part, ...]:
        return (Listed(str(self.field)),)

    def result_type(self, columns: Mapping[Field, str]) -> str:
        return f"array<{columns[self.field]}>"


def collect_list(field: Field) -> Aggregate:
    """All values of the field, in arrival order."""
    return CollectList(field)


class CountDistinct(OverField):
    __slots__ = ()

    def _first(self, item: Any) -> Any:
        return {item}

    def _next(self, accumulator: Any, item: Any) -> Any:
        accumulator.add(item)
        return accumulator

    def _both(self, left: Any, right: Any) -> Any:
        return left | right

    def result(self, accumulator: Any) -> Any:
        return 0 if accumulator is None else len(accumulator)

    def parts(self) -> tuple[Part, ...]:
        return (Distinct(str(self.field)),)

    def _takes(self, kind: pa.DataType) -> bool:
        return can_be_told_apart(kind)

    def result_type(self, columns: Mapping[Field, str]) -> str:
        return "bigint"


def count_distinct(field: Field) -> Aggregate:
    return CountDistinct(field)
