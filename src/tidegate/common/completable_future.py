"""`CompletableFuture`: the answer of a running job, perhaps not yet there."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class CompletableFuture(Future[T]):
    """A result that may still be on its way: `done()`, `result()`, `exception()`, `cancel()`, `cancelled()`.

    It is a `concurrent.futures.Future`, so `result(timeout=...)` and `add_done_callback` work too.

    >>> CompletableFuture.completed(5).result()
    5
    """

    @staticmethod
    def completed(value: Any) -> CompletableFuture[Any]:
        """A future whose result is already there."""
        future: CompletableFuture[Any] = CompletableFuture()
        future.set_result(value)
        return future
