"""The functions that users write, and lambdas in their place.

Every function may have `open(runtime_context)` and `close()`; results are returned or yielded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from tidegate.core.subscriptable import Subscriptable
from tidegate.errors import InvalidTypeError, InvalidValueError


class Function(Subscriptable, ABC):
    """Base of all functions."""

    def open(self, runtime_context: Any) -> None:
        """Called before the first element, once in each process that the subtask runs in; get state handles here.

        On Spark a subtask may come to another worker, where another instance is opened. One whose batch failed is
        thrown away. What must not be lost belongs into state, not into fields.
        """

    def close(self) -> None:
        """Called when the input ends or the run stops in good order; never promised otherwise."""


class MapFunction(Function):
    @abstractmethod
    def map(self, value: Any) -> Any:
        """One value for one value."""


class FlatMapFunction(Function):
    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Any number of values for one value."""


class FilterFunction(Function):
    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether to keep the value."""


class ReduceFunction(Function):
    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Two values as one of the same type."""


class AggregateFunction(Function):
    """Adds values to an accumulator; `merge` is needed for session windows."""

    @abstractmethod
    def create_accumulator(self) -> Any: ...

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator after the value was added; it may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any: ...

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise InvalidValueError(
            f"{type(self).__name__}.merge is not written, and session windows need it to join two sessions"
        )


class KeySelector(Function):
    @abstractmethod
    def get_key(self, value: Any) -> Any: ...


class Partitioner(Function):
    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The index of the subtask that gets the record, from 0 to `num_partitions - 1`."""


class CoMapFunction(Function):
    @abstractmethod
    def map1(self, value: Any) -> Any: ...

    @abstractmethod
    def map2(self, value: Any) -> Any: ...


class CoFlatMapFunction(Function):
    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None: ...

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None: ...


class JoinFunction(Function):
    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """One result for a pair of one window."""


class FlatJoinFunction(Function):
    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Any number of results for a pair of one window."""


class CoGroupFunction(Function):
    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Any number of results for both groups of one key and window."""


class WindowFunction(Function):
    @abstractmethod
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None: ...


class AllWindowFunction(Function):
    @abstractmethod
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None: ...


class ProcessWindowFunction(Function):
    """Sees all elements of a window, and the context around it."""

    class Context(Subscriptable, ABC):
        """What a window function can ask."""

        @abstractmethod
        def window(self) -> Any: ...

        @abstractmethod
        def current_processing_time(self) -> int: ...

        @abstractmethod
        def current_watermark(self) -> int: ...

        @abstractmethod
        def window_state(self) -> Any:
            """State of this key and window; gone when the window is."""

        @abstractmethod
        def global_state(self) -> Any:
            """State of this key over all windows."""

        @abstractmethod
        def output(self, tag: Any, value: Any) -> None:
            """Send a value to a side output."""

    @abstractmethod
    def process(self, key: Any, context: Context, elements: Iterable[Any]) -> Iterable[Any] | None: ...

    def clear(self, context: Context) -> None:
        """Called when the window is cleaned up; clear per-window state here."""


class ProcessAllWindowFunction(Function):
    """As `ProcessWindowFunction`, for windows over the whole stream."""

    Context: TypeAlias = ProcessWindowFunction.Context

    @abstractmethod
    def process(self, context: ProcessWindowFunction.Context, elements: Iterable[Any]) -> Iterable[Any] | None: ...

    def clear(self, context: ProcessWindowFunction.Context) -> None:
        """Called when the window is cleaned up."""


def as_callable(function: Any, method: str, base: type[Function], where: str) -> Callable[..., Any]:
    """The one method of a function class, or a plain callable as it is."""
    bound: Callable[..., Any] | None = getattr(function, method, None)
    if callable(bound) and not isinstance(function, type):
        return bound
    if not callable(function) or (isinstance(function, type) and issubclass(function, Function)):
        raise InvalidTypeError(f"{where}: expected a {base.__name__} object or a function, got {function!r}")
    plain: Callable[..., Any] = function
    return plain


def as_reduce_function(function: Any) -> Callable[[Any, Any], Any]:
    return as_callable(function, "reduce", ReduceFunction, "reduce")


def as_aggregate_function(function: Any) -> Any:
    for method in ("create_accumulator", "add", "get_result"):
        if isinstance(function, type) or not callable(getattr(function, method, None)):
            raise InvalidTypeError(f"aggregate: expected an AggregateFunction object, got {function!r}")
    return function


def is_stateful(function: Any) -> bool:
    """Whether the function may use state: only one that overrides `open` can get a handle."""
    opener = getattr(type(function), "open", None)
    return opener is not None and opener is not Function.open and not isinstance(function, type)


def check_methods(function: Any, methods: Iterable[str], where: str, wanted: str) -> None:
    """Refuse a function that lacks a method, or a class in place of an object."""
    for method in methods:
        if isinstance(function, type) or not callable(getattr(function, method, None)):
            raise InvalidTypeError(f"{where}: expected a {wanted} object, got {function!r}")
