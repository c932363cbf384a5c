"""A streaming query of ours while it lives: started, watched, taken up again where a worker was slow, stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark.sql.streaming.query import StreamingQuery

from tidegate.spark.query.errors import is_transient, translate

_LOGGER = logging.getLogger("tidegate")
_ATTEMPTS: Final = 3

_Result = TypeVar("_Result")


class LiveQuery:
    """What `start` gives. If the query dies because a worker came too late, it goes on from its checkpoint."""

    def __init__(self, start: Callable[[], StreamingQuery], checkpoint: Path | None) -> None:
        """`checkpoint` is None where nobody could go on from it."""
        self._start = start
        self._checkpoint = checkpoint
        self._query: StreamingQuery | None = None
        self.is_stopping = False
        """Whether the query was told to stop: then it may say that it failed."""

    @property
    def is_active(self) -> bool:
        return self._query is not None and bool(self._query.isActive)

    @property
    def is_idle(self) -> bool:
        """Whether the query waits for data: no batch runs, and none is being made."""
        status = self._running().status if self.is_active else None
        return status is not None and not status["isDataAvailable"] and not status["isTriggerActive"]

    @property
    def last_progress(self) -> Any:
        """What Spark says of the last batch."""
        return None if self._query is None else self._query.lastProgress

    def start(self) -> None:
        self._query = self._persevere(self._start)

    def wait(self, seconds: float) -> None:
        """Wait until the query has ended, or that long."""
        self._running().awaitTermination(seconds)  # type: ignore[arg-type]  # fractions are taken too

    def check(self) -> None:
        """Raise what the query died of."""
        error = self._running().exception()
        if error is not None:
            raise error

    def raise_failure(self) -> None:
        """Raise what the query died of, as our errors say it."""
        self._persevere(self.check)

    def process_all(self) -> None:
        """Wait until everything that is there has been processed."""
        self.supervise(lambda: self._running().processAllAvailable())

    def supervise(self, action: Callable[[], None]) -> None:
        """Do something with the query; if it died of a slow worker, start it again.

        A query that was told to stop may say that it failed, since its batch did.
        """
        try:
            self._persevere(action, before_next=self.start)
        except Exception:
            if not self.is_stopping:
                raise

    def end(self) -> None:
        """Stop the query, if it runs."""
        query, self._query = self._query, None
        if query is None:
            return
        try:
            query.stop()
        except Exception as error:
            # Spark may be gone, and with it the query.
            _LOGGER.debug("the query could not be stopped: %s", error)

    def _running(self) -> StreamingQuery:
        assert self._query is not None, "the query has not been started"
        return self._query

    def _persevere(self, action: Callable[[], _Result], before_next: Callable[[], None] | None = None) -> _Result:
        """The result of an action, tried again where it failed because a worker was slow to start."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return action()
            except Exception as error:
                if attempt == _ATTEMPTS or self.is_stopping or not is_transient(error):
                    raise translate(error, self._checkpoint) from None
                if before_next is not None:
                    before_next()
        raise AssertionError("unreachable")
