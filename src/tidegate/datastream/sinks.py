"""The sinks that need no connector."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tidegate.core.sink import Sink, SinkContext

__all__ = ["CollectSink", "PrintSink", "Sink"]


class PrintSink(Sink):
    """Writes every element to standard output, with the subtask in front where there are several."""

    def __init__(self, identifier: str | None = None) -> None:
        self._identifier = identifier
        self._prefix = ""

    def open(self, runtime_context: Any) -> None:
        parts = [] if self._identifier is None else [self._identifier]
        if runtime_context.get_number_of_parallel_subtasks() > 1:
            parts.append(str(runtime_context.get_index_of_this_subtask() + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""

    def write(self, value: Any, context: SinkContext) -> None:
        sys.stdout.write(f"{self._prefix}{value}\n")

    def flush(self) -> None:
        sys.stdout.flush()


class CollectSink(Sink):
    """Keeps every element in a list; for tests and small results.

    >>> sink = CollectSink()
    >>> sink.results
    []
    """

    def __init__(self, on_result: Callable[[Any], None] | None = None) -> None:
        self.results: list[Any] = []
        self._on_result = self.results.append if on_result is None else on_result

    def write(self, value: Any, context: SinkContext) -> None:
        self._on_result(value)

    def __reduce__(self) -> Any:
        # The list belongs to the driver's process; a copy elsewhere starts empty.
        return CollectSink, ()
