"""Asynchronous requests: many on their way at once, answers in order or as they come."""

from __future__ import annotations

import asyncio
import enum
import inspect
from abc import abstractmethod
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.core.function.async_queue import AsyncQueue, OrderedQueue, Request, UnorderedQueue
from tidegate.core.function.async_retry import AsyncRetryStrategy, NoRetryStrategy
from tidegate.core.function.functions import Function, check_methods
from tidegate.core.operator.operator import ChainOperator, OperatorContext
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.format import StateFormat
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import add
from tidegate.core.watermark.records import Watermark, WatermarkStatus, load_progress, save_progress
from tidegate.errors import InvalidTypeError, InvalidValueError, TidegateError, UserCodeError


class AsyncFunction(Function):
    """Asks for each element; the answer is a list of results."""

    @abstractmethod
    async def async_invoke(self, value: Any) -> list[Any]:
        """Ask, and return the results."""

    def timeout(self, value: Any) -> list[Any]:
        """What to emit if no answer came in time; raises unless overridden."""
        raise TimeoutError(f"async request for {value!r} timed out")


class OutputMode(enum.Enum):
    ORDERED = 0
    UNORDERED = 1


@dataclass(frozen=True, slots=True)
class AsyncSpec(OperatorSpec):
    """An asynchronous operation as a value; times in milliseconds, timeout 0 for none."""

    function: Any
    mode: OutputMode
    timeout: int
    capacity: int = 100
    retry: AsyncRetryStrategy = NoRetryStrategy()  # noqa: RUF009  # it has no state

    def __post_init__(self) -> None:
        check_methods(self.function, ("async_invoke",), "AsyncDataStream", "AsyncFunction")
        if not inspect.iscoroutinefunction(self.function.async_invoke):
            raise InvalidTypeError(
                f"AsyncDataStream: {type(self.function).__name__}.async_invoke must be written as 'async def'"
            )
        if self.capacity < 1:
            raise InvalidValueError(f"AsyncDataStream: capacity must be 1 or more, got {self.capacity}")
        if self.timeout < 0:
            raise InvalidValueError(f"AsyncDataStream: timeout must not be negative, got {self.timeout} ms")
        if self.timeout == 0 and not isinstance(self.retry, NoRetryStrategy):
            raise InvalidValueError("AsyncDataStream: retries need a timeout above 0, or they might never end")

    def state_format(self) -> StateFormat:
        return StateFormat("asynchronous requests")

    def share_chain(self, saved: Sequence[Snapshot], lowest: Snapshot, count: int) -> list[Snapshot]:
        # Watermarks that wait are said again by whoever sent them.
        waiting: list[list[Any]] = [[] for _ in range(count)]
        for index, one in enumerate(saved):
            waiting[index % count] += [request for request in one["waiting"] if request[2] is None]
        return [{**lowest, "waiting": requests} for requests in waiting]

    def create(self) -> AsyncWaitOperator:
        return AsyncWaitOperator(self)


class AsyncWaitOperator(ChainOperator):
    """Sends a request for each element and emits the answers.

    Ordered: answers and watermarks leave in arrival order. Unordered: between two watermarks as they come, never
    across one. The queue holds at most `capacity` entries, watermarks counted; what does not fit waits in a backlog.
    With `is_blocking`, as runtimes use it, the operator waits for room before it takes the next element.

    What has not left is part of the state and is asked again after a restart.
    """

    def __init__(self, spec: AsyncSpec, *, is_blocking: bool = True) -> None:
        self._spec = spec
        self._function = spec.function
        self.is_blocking = is_blocking
        self._queue: AsyncQueue = OrderedQueue() if spec.mode is OutputMode.ORDERED else UnorderedQueue()
        self._backlog: deque[Request] = deque()
        self._in_flight: dict[Request, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending: asyncio.Event | None = None

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._now = context.clock if context.real_clock is None else context.real_clock

    def open(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._is_ending = asyncio.Event()
        self.open_function(self._function)
        self._admit()
        self._settle()

    def close(self) -> None:
        self.close_function(self._function)
        self.discard()

    def discard(self) -> None:
        if self._loop is not None:
            # Requests that timed out were cancelled, but may not know it yet.
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()
            self._loop = None

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._take(Request(value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        if watermark.is_end and self._is_ending is not None:
            self._is_ending.set()
        self._take(Request(None, None, watermark))
        if watermark.is_end and self.is_blocking:
            self.drain()

    def process_status(self, status: WatermarkStatus) -> None:
        self._take(Request(None, None, status))

    def on_clock(self) -> None:
        for request in list(self._in_flight):
            if self._is_overdue(request):
                self._time_out(request)
        self._settle()

    def poll(self) -> None:
        """Let the requests run for a moment and emit what is ready."""
        if self._in_flight:
            self._spin()
            self._settle()

    def drain(self) -> None:
        """Wait until every request has been answered and has left."""
        while self._in_flight or self._backlog:
            self._wait()

    def snapshot(self) -> Snapshot:
        waiting = [*self._queue.requests(), *self._backlog]
        return make_snapshot(
            "async",
            1,
            base=super().snapshot(),
            waiting=[
                [e.value, e.timestamp, None if e.progress is None else save_progress(e.progress)] for e in waiting
            ],
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "async", 1)
        super().restore(fields["base"])
        self._backlog.extend(
            Request(value, timestamp, None if progress is None else load_progress(progress))
            for value, timestamp, progress in fields["waiting"]
        )

    def _take(self, request: Request) -> None:
        self._backlog.append(request)
        self._admit()
        self._settle()
        while self.is_blocking and self._backlog:
            self._wait()

    def _admit(self) -> None:
        """Move what fits from the backlog into the queue, and send its requests."""
        started = False
        while self._backlog and len(self._queue) < self._spec.capacity:
            request = self._backlog.popleft()
            self._queue.put(request)
            if request.progress is None:
                self._start(request)
                started = True
        if started:
            self._spin()

    def _start(self, request: Request) -> None:
        if self._spec.timeout:
            request.deadline = add(self._now(), self._spec.timeout)
        self._in_flight[request] = None
        assert self._loop is not None, "open() comes before the first element"
        request.task = self._loop.create_task(self._ask(request))

    async def _ask(self, request: Request) -> None:
        assert self._is_ending is not None
        strategy = self._spec.retry
        predicate = strategy.get_retry_predicate()
        attempt = 1
        while True:
            results: Any = None
            failure: Exception | None = None
            try:
                results = await self._function.async_invoke(request.value)
            except Exception as error:
                failure = error
            if failure is None and results is None:
                self._answer(request, None, self._no_answer("async_invoke", request.value))
                return
            check = predicate.result_predicate() if failure is None else predicate.exception_predicate()
            wants_retry = check is not None and check(results if failure is None else failure)
            if not wants_retry or self._is_ending.is_set() or not strategy.can_retry(attempt):
                self._answer(request, results, failure)
                return
            await self._pause(strategy.get_backoff_time_millis(attempt))
            attempt += 1

    async def _pause(self, milliseconds: int) -> None:
        """Wait before a retry; at the end of input it is tried once more at once."""
        assert self._is_ending is not None
        try:
            await asyncio.wait_for(self._is_ending.wait(), milliseconds / 1000)
        except TimeoutError:
            return

    def _answer(self, request: Request, results: Any, error: BaseException | None) -> None:
        """The request has been answered; an answer that comes too late is dropped."""
        if self._is_overdue(request):
            self._time_out(request)
        else:
            self._complete(request, results, error)

    def _complete(self, request: Request, results: Any, error: BaseException | None) -> None:
        if request.complete(results, error):
            self._in_flight.pop(request, None)
            self._queue.completed(request)

    def _is_overdue(self, request: Request) -> bool:
        return request.deadline is not None and request.deadline < self._now()

    def _time_out(self, request: Request) -> None:
        if request.task is not None:
            request.task.cancel()
        try:
            results = self._function.timeout(request.value)
        except Exception as error:
            self._complete(request, None, error)
            return
        self._complete(request, results, self._no_answer("timeout", request.value) if results is None else None)

    def _no_answer(self, method: str, value: Any) -> UserCodeError:
        return UserCodeError(
            f"{self.name}: {type(self._function).__name__}.{method} returned None for the record {value!r}; return a "
            "list of results, an empty one for none"
        )

    def _settle(self) -> None:
        """Emit what may leave; room in the queue lets the backlog in, which may let more leave."""
        while (request := self._queue.pop()) is not None:
            if request.error is not None:
                raise self._failed(request.error, request.value) from request.error
            if request.progress is not None:
                self.output.emit(request.progress)
            else:
                self.emit(request.results, request.timestamp)
            if self._backlog:
                self._admit()

    def _failed(self, error: BaseException, value: Any) -> Exception:
        if isinstance(error, TidegateError):
            return error
        return UserCodeError(f"{self.name}: {type(error).__name__}: {error}, for the record {value!r}")

    def _spin(self) -> None:
        self._run(asyncio.sleep(0))

    def _wait(self) -> None:
        """Block until an answer comes or the next deadline passes."""
        tasks = [request.task for request in self._in_flight]
        if tasks:
            deadline = self._next_deadline()
            timeout = None if deadline is None else max(deadline + 1 - self._now(), 0) / 1000
            self._run(asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED))
        self._admit()
        self.on_clock()

    def _next_deadline(self) -> int | None:
        return min((request.deadline for request in self._in_flight if request.deadline is not None), default=None)

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        assert self._loop is not None, "open() comes before the first element"
        self._loop.run_until_complete(coroutine)
