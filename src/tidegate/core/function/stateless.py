"""Operators that look at one element at a time: map, filter, flat_map and their kin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidegate.core.function.functions import FilterFunction, FlatMapFunction, MapFunction, as_callable
from tidegate.core.operator.operator import ChainOperator
from tidegate.core.operator.spec import OperatorSpec


class _FunctionOperator(ChainOperator):
    """Around one function of the user; failures name the record, or bury it."""

    def __init__(self, function: Any, call: Callable[[Any], Any], *, buries: bool = False) -> None:
        self.function = function
        self._call = call
        self._buries = buries

    def open(self) -> None:
        self.open_function(self.function)

    def close(self) -> None:
        self.close_function(self.function)

    def _failed(self, error: Exception, value: Any, timestamp: int | None) -> None:
        if not self._buries:
            self.fail(error, value)
        self.bury(error, value, timestamp)


@dataclass(frozen=True, slots=True)
class MapSpec(OperatorSpec):
    function: Any
    on_error: str = "fail"

    def __post_init__(self) -> None:
        as_callable(self.function, "map", MapFunction, "map")

    def create(self) -> MapOperator:
        call = as_callable(self.function, "map", MapFunction, "map")
        return MapOperator(self.function, call, buries=self.on_error == "side_output")


class MapOperator(_FunctionOperator):
    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            result = self._call(value)
        except Exception as error:
            self._failed(error, value, timestamp)
            return
        self.output.collect(result, timestamp)


@dataclass(frozen=True, slots=True)
class FilterSpec(OperatorSpec):
    function: Any
    on_error: str = "fail"

    def __post_init__(self) -> None:
        as_callable(self.function, "filter", FilterFunction, "filter")

    def create(self) -> FilterOperator:
        call = as_callable(self.function, "filter", FilterFunction, "filter")
        return FilterOperator(self.function, call, buries=self.on_error == "side_output")


class FilterOperator(_FunctionOperator):
    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            keeps = self._call(value)
        except Exception as error:
            self._failed(error, value, timestamp)
            return
        if keeps:
            self.output.collect(value, timestamp)


@dataclass(frozen=True, slots=True)
class FlatMapSpec(OperatorSpec):
    function: Any
    on_error: str = "fail"

    def __post_init__(self) -> None:
        as_callable(self.function, "flat_map", FlatMapFunction, "flat_map")

    def create(self) -> FlatMapOperator:
        call = as_callable(self.function, "flat_map", FlatMapFunction, "flat_map")
        return FlatMapOperator(self.function, call, buries=self.on_error == "side_output")


class FlatMapOperator(_FunctionOperator):
    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            results = self._call(value)
            if self._buries:
                results = self.results_in_full(results)
        except Exception as error:
            self._failed(error, value, timestamp)
            return
        self.emit_for(value, results, timestamp)
