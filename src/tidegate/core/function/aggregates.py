"""Built-in aggregates over fields: `agg.count()`, `agg.sum("amount")` and so on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.core.function.fields import Field, get_field
from tidegate.core.function.functions import AggregateFunction
from tidegate.errors import InvalidTypeError, InvalidValueError


class Aggregate(ABC):
    """One aggregate. A field that is None does not take part, as in SQL."""

    @abstractmethod
    def create(self) -> Any:
        """The accumulator of no element."""

    @abstractmethod
    def add(self, accumulator: Any, value: Any) -> Any: ...

    @abstractmethod
    def merge(self, left: Any, right: Any) -> Any:
        """Both accumulators as one; `left` has the earlier elements."""

    def result(self, accumulator: Any) -> Any:
        return accumulator


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


@dataclass(frozen=True, slots=True)
class _OverField(Aggregate):
    """An aggregate over the values of one field; its accumulator is None until the first."""

    field: Field

    def create(self) -> Any:
        return None

    def add(self, accumulator: Any, value: Any) -> Any:
        item = get_field(value, self.field)
        if item is None:
            return accumulator
        return self._first(item) if accumulator is None else self._next(accumulator, item)

    def merge(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return self._both(left, right)

    def _first(self, item: Any) -> Any:
        return item

    def _next(self, accumulator: Any, item: Any) -> Any:
        return self._both(accumulator, self._first(item))

    @abstractmethod
    def _both(self, left: Any, right: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Sum(_OverField):
    def _both(self, left: Any, right: Any) -> Any:
        return left + right


@dataclass(frozen=True, slots=True)
class Min(_OverField):
    def _both(self, left: Any, right: Any) -> Any:
        return min(left, right)


@dataclass(frozen=True, slots=True)
class Max(_OverField):
    def _both(self, left: Any, right: Any) -> Any:
        return max(left, right)


@dataclass(frozen=True, slots=True)
class First(_OverField):
    """The field of the element that arrived first."""

    def _both(self, left: Any, right: Any) -> Any:
        return left


@dataclass(frozen=True, slots=True)
class Last(_OverField):
    """The field of the element that arrived last."""

    def _both(self, left: Any, right: Any) -> Any:
        return right


@dataclass(frozen=True, slots=True)
class Mean(_OverField):
    def _first(self, item: Any) -> Any:
        return (item, 1)

    def _both(self, left: Any, right: Any) -> Any:
        return (left[0] + right[0], left[1] + right[1])

    def result(self, accumulator: Any) -> Any:
        return None if accumulator is None else accumulator[0] / accumulator[1]


@dataclass(frozen=True, slots=True)
class Stddev(_OverField):
    """Standard deviation of a sample, None for fewer than two values; stable, by Welford and Chan."""

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


@dataclass(frozen=True, slots=True)
class CollectList(_OverField):
    """All values of a field, in arrival order."""

    def _first(self, item: Any) -> Any:
        return [item]

    def _next(self, accumulator: Any, item: Any) -> Any:
        accumulator.append(item)
        return accumulator

    def _both(self, left: Any, right: Any) -> Any:
        return left + right

    def result(self, accumulator: Any) -> Any:
        return [] if accumulator is None else list(accumulator)


@dataclass(frozen=True, slots=True)
class CountDistinct(_OverField):
    def _first(self, item: Any) -> Any:
        return {item}

    def _next(self, accumulator: Any, item: Any) -> Any:
        accumulator.add(item)
        return accumulator

    def _both(self, left: Any, right: Any) -> Any:
        return left | right

    def result(self, accumulator: Any) -> Any:
        return 0 if accumulator is None else len(accumulator)


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

    @abstractmethod
    def _beats(self, challenger: Any, holder: Any) -> bool: ...


@dataclass(frozen=True, slots=True)
class MinBy(_By):
    def _beats(self, challenger: Any, holder: Any) -> bool:
        return bool(challenger < holder)


@dataclass(frozen=True, slots=True)
class MaxBy(_By):
    def _beats(self, challenger: Any, holder: Any) -> bool:
        return bool(challenger > holder)


class CombinedAggregate(AggregateFunction):
    """Several named aggregates as one function; the result is a tuple in the order of the names."""

    def __init__(self, aggregates: Mapping[str, Aggregate]) -> None:
        if not aggregates:
            raise InvalidValueError("agg() needs at least one aggregate, for example agg(orders=agg.count())")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise InvalidTypeError(f"agg({name}=...): expected an aggregate such as agg.count(), got {aggregate!r}")
        self.names = tuple(aggregates)
        self.aggregates = tuple(aggregates.values())

    def create_accumulator(self) -> Any:
        return [aggregate.create() for aggregate in self.aggregates]

    def add(self, value: Any, accumulator: Any) -> Any:
        for index, aggregate in enumerate(self.aggregates):
            accumulator[index] = aggregate.add(accumulator[index], value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return tuple(aggregate.result(part) for aggregate, part in zip(self.aggregates, accumulator, strict=True))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [a.merge(left, right) for a, left, right in zip(self.aggregates, acc_a, acc_b, strict=True)]
