"""Several named aggregates as one function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.aggregate.aggregate import Aggregate
from tidegate.core.function.functions import AggregateFunction
from tidegate.errors import InvalidTypeError, InvalidValueError


class CombinedAggregate(AggregateFunction):
    """The result is a tuple in the order of the names.

    Accumulators are known by what they aggregate: one that a restored state has not begins empty, and one that is no
    longer asked for is left behind.
    """

    def __init__(self, aggregates: Mapping[str, Aggregate]) -> None:
        if not aggregates:
            raise InvalidValueError("agg() needs at least one aggregate, for example agg(orders=agg.count())")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise InvalidTypeError(f"agg({name}=...): expected an aggregate such as agg.count(), got {aggregate!r}")
        self.names = tuple(aggregates)
        self.aggregates = tuple(aggregates.values())
        self._by_key = {str(aggregate): aggregate for aggregate in self.aggregates}
        self._keys = tuple(map(str, self.aggregates))

    def create_accumulator(self) -> Any:
        return {key: aggregate.create() for key, aggregate in self._by_key.items()}

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator = self._current(accumulator)
        for key, aggregate in self._by_key.items():
            accumulator[key] = aggregate.add(accumulator[key], value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        accumulator = self._current(accumulator)
        results = {key: aggregate.result(accumulator[key]) for key, aggregate in self._by_key.items()}
        return tuple(results[key] for key in self._keys)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        left, right = self._current(acc_a), self._current(acc_b)
        return {key: aggregate.merge(left[key], right[key]) for key, aggregate in self._by_key.items()}

    def _current(self, accumulator: Any) -> Any:
        """An accumulator with what is asked for now."""
        if accumulator.keys() == self._by_key.keys():
            return accumulator
        return {
            key: accumulator[key] if key in accumulator else aggregate.create()
            for key, aggregate in self._by_key.items()
        }
