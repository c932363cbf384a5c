"""The sinks that need no connector."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tidegate.core.operator.sink import BatchId, Sink, SinkContext
from tidegate.errors import InvalidTypeError

__all__ = ["CollectSink", "ForeachBatchSink", "PrintSink", "Sink"]


class PrintSink(Sink):
    """Writes every element to standard output, with the subtask in front where there are several."""

    is_shared = False

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


class ForeachBatchSink(Sink):
    """Calls `function(values, batch_id)` once for each batch that has elements.

    After a crash the last batch comes again with the same id and the same values: a function that replaces what it
    stored under the id is exactly once. `batch_id.token` tells batches with the same number apart, where a job goes on
    from an older copy of its checkpoint. In process the whole run is one batch.

    >>> stored = {}
    >>> sink = ForeachBatchSink(lambda values, batch_id: stored.update({batch_id: values}))
    """

    def __init__(self, function: Callable[[list[Any], BatchId], None]) -> None:
        if not callable(function):
            raise InvalidTypeError(f"ForeachBatchSink: expected a function of (values, batch_id), got {function!r}")
        self._function = function
        self._values: list[Any] = []

    def begin_batch(self, batch_id: BatchId) -> None:
        self._values = []

    def write(self, value: Any, context: SinkContext) -> None:
        self._values.append(value)

    def commit_batch(self, batch_id: BatchId) -> None:
        values, self._values = self._values, []
        if values:
            self._function(values, batch_id)

    def __reduce__(self) -> Any:
        # The function may hold a connection; it is called in the driver's process only.
        return ForeachBatchSink, (_ignore,)


def _ignore(values: list[Any], batch_id: int) -> None:
    pass
