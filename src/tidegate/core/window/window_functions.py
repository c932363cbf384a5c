"""What a window keeps of its elements, and what it makes of them when it fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.core.function.fields import described_reducer
from tidegate.core.function.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
    as_aggregate_function,
    as_reduce_function,
)
from tidegate.errors import InvalidTypeError


class WindowContents(ABC):
    """How the elements of a window are kept."""

    @abstractmethod
    def first(self, value: Any) -> Any:
        """The contents after the first element."""

    @abstractmethod
    def add(self, contents: Any, value: Any) -> Any:
        """The contents after one more element."""

    @abstractmethod
    def merge(self, left: Any, right: Any) -> Any:
        """The contents of two windows as one."""

    @abstractmethod
    def elements(self, contents: Any) -> list[Any]:
        """What the window function gets to see."""

    @property
    def meaning(self) -> str:
        """What contents are, as far as it can be told."""
        return "the elements"

    @property
    def aggregates(self) -> dict[str, str]:
        """The built-in aggregates that contents hold, by the names of their results."""
        return {}


class ListContents(WindowContents):
    """All elements, in arrival order."""

    def first(self, value: Any) -> Any:
        return [value]

    def add(self, contents: Any, value: Any) -> Any:
        contents.append(value)
        return contents

    def merge(self, left: Any, right: Any) -> Any:
        return left + right

    def elements(self, contents: Any) -> list[Any]:
        return list(contents)


class ReducedContents(WindowContents):
    """One value, into which each element was reduced."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._reduce = as_reduce_function(function)

    def first(self, value: Any) -> Any:
        return value

    def add(self, contents: Any, value: Any) -> Any:
        return self._reduce(contents, value)

    def merge(self, left: Any, right: Any) -> Any:
        return self._reduce(left, right)

    def elements(self, contents: Any) -> list[Any]:
        return [contents]

    @property
    def meaning(self) -> str:
        return described_reducer(self.function)


class AggregatedContents(WindowContents):
    """The accumulator of an `AggregateFunction`."""

    def __init__(self, function: Any) -> None:
        self.function = as_aggregate_function(function)
        self._add = function.add

    def first(self, value: Any) -> Any:
        return self._add(value, self.function.create_accumulator())

    def add(self, contents: Any, value: Any) -> Any:
        return self._add(value, contents)

    def merge(self, left: Any, right: Any) -> Any:
        return self.function.merge(left, right)

    def elements(self, contents: Any) -> list[Any]:
        return [self.function.get_result(contents)]

    @property
    def meaning(self) -> str:
        return "aggregates" if isinstance(self.function, CombinedAggregate) else "the accumulator of a function"

    @property
    def aggregates(self) -> dict[str, str]:
        function = self.function
        if not isinstance(function, CombinedAggregate):
            return {}
        return dict(zip(function.names, map(str, function.aggregates), strict=True))


@runtime_checkable
class MakesRows(Protocol):
    """A window function whose results are rows: of the key, the window's start and end, and the aggregates."""

    def make_row(self, values: Iterable[Any]) -> Any: ...


WindowProcess = Callable[[Any, ProcessWindowFunction.Context, list[Any]], Iterable[Any] | None]


def as_window_process(function: Any, *, keyed: bool) -> WindowProcess:
    """Any kind of window function as `(key, context, elements) -> results`; None passes the elements on."""
    if function is None:
        return _pass_on
    if isinstance(function, ProcessWindowFunction) and keyed:
        return function.process
    if isinstance(function, WindowFunction) and keyed:
        return lambda key, context, elements: function.apply(key, context.window(), elements)
    if isinstance(function, ProcessAllWindowFunction) and not keyed:
        return lambda _, context, elements: function.process(context, elements)
    if isinstance(function, AllWindowFunction) and not keyed:
        return lambda _, context, elements: function.apply(context.window(), elements)
    if callable(function) and not isinstance(function, type):
        if keyed:
            return lambda key, context, elements: function(key, context.window(), elements)
        return lambda _, context, elements: function(context.window(), elements)
    wanted = "ProcessWindowFunction or WindowFunction" if keyed else "ProcessAllWindowFunction or AllWindowFunction"
    raise InvalidTypeError(f"window: expected a {wanted} object or a function, got {function!r}")


def _pass_on(key: Any, context: ProcessWindowFunction.Context, elements: list[Any]) -> Iterable[Any]:
    return elements
