"""Window join and co-group: both inputs as one tagged stream under one window."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tidegate.core.function.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    WindowFunction,
    as_callable,
)


class Tagged(NamedTuple):
    """An element with the input it came from, 0 or 1."""

    input_index: int
    value: Any


class TagInput:
    """The map that marks the elements of one input."""

    def __init__(self, input_index: int) -> None:
        self._input_index = input_index

    def __call__(self, value: Any) -> Tagged:
        return Tagged(self._input_index, value)


class TaggedKey:
    """The key of a tagged element, by the selector of its input."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._selectors = (first, second)

    def __call__(self, tagged: Tagged) -> Any:
        return self._selectors[tagged.input_index](tagged.value)


class CoGroupWindow(WindowFunction):
    """Splits a window's tagged elements into both groups."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._co_group = as_callable(function, "co_group", CoGroupFunction, "co_group")

    def open(self, runtime_context: Any) -> None:
        if isinstance(self.function, CoGroupFunction):
            self.function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self.function, CoGroupFunction):
            self.function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterable[Any] | None:
        first, second = _groups(inputs)
        return self._co_group(first, second)  # type: ignore[no-any-return]


class JoinWindow(WindowFunction):
    """Every pair of a window, as an inner join."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._join = as_callable(function, "join", JoinFunction, "join")
        self._is_flat = isinstance(function, FlatJoinFunction)

    def open(self, runtime_context: Any) -> None:
        if isinstance(self.function, JoinFunction | FlatJoinFunction):
            self.function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self.function, JoinFunction | FlatJoinFunction):
            self.function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterable[Any]:
        first, second = _groups(inputs)
        for left in first:
            for right in second:
                if self._is_flat:
                    yield from self._join(left, right) or ()
                else:
                    yield self._join(left, right)


def _groups(inputs: Iterable[Tagged]) -> tuple[list[Any], list[Any]]:
    groups: tuple[list[Any], list[Any]] = ([], [])
    for tagged in inputs:
        groups[tagged.input_index].append(tagged.value)
    return groups
