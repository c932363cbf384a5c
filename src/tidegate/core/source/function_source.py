"""A `SourceFunction` as a source: it pushes through a source context, an instance for each channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.core.source.source import ParallelSourceFunction, Source, SourceFunction
from tidegate.errors import InvalidTypeError


class FunctionSource(Source):
    """One instance of a source function, or several if it is a `ParallelSourceFunction`."""

    is_bounded = False
    is_blocking = True

    def __init__(self, function: SourceFunction, instances: int = 1) -> None:
        if not isinstance(function, SourceFunction):
            raise InvalidTypeError(f"add_source: expected a SourceFunction object, got {function!r}")
        self.function = function
        self.is_parallel = isinstance(function, ParallelSourceFunction)
        self._instances = instances

    def with_parallelism(self, parallelism: int) -> FunctionSource:
        return FunctionSource(self.function, parallelism) if self.is_parallel else self

    def channels(self) -> Sequence[str]:
        return tuple(map(str, range(self._instances)))

    def read(self, channel: str) -> Iterator[Any]:
        raise InvalidTypeError("a source function pushes; it is run with a source context")
