"""Tidegate's queues of requests and its retry strategies under a script."""

from __future__ import annotations

from typing import Any

from tests.oracle.script import Script, Step

from tidegate.core.function.async_queue import AsyncQueue, OrderedQueue, Request, UnorderedQueue
from tidegate.core.function.async_retry import AsyncRetryStrategy
from tidegate.core.watermark.records import Watermark


class Queue:
    """A queue as the asynchronous operator uses it: what does not fit is not put."""

    def __init__(self, script: Script) -> None:
        self._queue: AsyncQueue = OrderedQueue() if script["ordered"] else UnorderedQueue()
        self._capacity: int = script["capacity"]
        self._requests: dict[int, Request] = {}

    def step(self, step: Step) -> Any:
        emitted: list[Any] = []
        match step:
            case ["put" | "watermark", *_] if len(self._queue) >= self._capacity:
                return "full"
            case ["put", number, timestamp]:
                entry = self._requests[number] = Request(number, timestamp)
                self._queue.put(entry)
            case ["watermark", time]:
                self._queue.put(Request(None, None, Watermark(time)))
            case ["complete", number, results]:
                request = self._requests.pop(number, None)
                if request is not None and request.complete(results):
                    self._queue.completed(request)
            case _:
                while (done := self._queue.pop()) is not None:
                    if isinstance(done.progress, Watermark):
                        emitted.append(done.progress.timestamp)
                    else:
                        emitted += [[result, done.timestamp] for result in done.results]
        return [emitted, len(self._queue)]


class Retry:
    def __init__(self, script: Script) -> None:
        if script["strategy"] == "fixed":
            self._strategy = AsyncRetryStrategy.fixed_delay(script["attempts"], script["delay"])
        else:
            self._strategy = AsyncRetryStrategy.exponential_backoff(
                script["attempts"], script["delay"], script["limit"], script["multiplier"]
            )

    def step(self, step: Step) -> Any:
        verb, attempts = step
        if verb == "can":
            return self._strategy.can_retry(attempts)
        if verb == "delay":
            return self._strategy.get_backoff_time_millis(attempts)
        return [self._strategy.get_backoff_time_millis(attempt) for attempt in range(1, attempts + 1)]
