"""`CloseableIterator`: the results of `execute_and_collect`, as they come."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Protocol

_STOP_SECONDS: Final = 60.0
"""How long closing waits for a job to stop."""


class _Job(Protocol):
    def wait(self, timeout: float | None = None) -> Any: ...

    def stop(self) -> None: ...


class CloseableIterator(Iterator[Any]):
    """Iterate over it, or use it in a `with` block; closing it stops the job."""

    _END = object()

    def __init__(self) -> None:
        self._results: queue.Queue[Any] = queue.Queue()
        self._job: _Job | None = None
        self._is_over = False

    def attach(self, job: _Job) -> None:
        self._job = job

    def put(self, value: Any) -> None:
        self._results.put(value)

    def finish(self) -> None:
        """The job is over: nothing more will come."""
        self._results.put(self._END)

    def __next__(self) -> Any:
        if self._is_over:
            raise StopIteration
        value = self._results.get()
        if value is self._END:
            self._is_over = True
            if self._job is not None:
                self._job.wait()
            raise StopIteration
        return value

    def next(self) -> Any:
        return self.__next__()

    def close(self) -> None:
        """Stop the job if it still runs, and wait until it has: its checkpoint is complete then.

        What it failed of while nobody wanted its results any more is nobody's error.
        """
        if self._job is not None and not self._is_over:
            self._is_over = True
            self._job.stop()
            with contextlib.suppress(Exception):
                self._job.wait(_STOP_SECONDS)

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
