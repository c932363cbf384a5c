"""What connects the subtasks of a local job: elements to one subtask, watermarks and statuses to all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tidegate.core.key.hashing import stable_hash
from tidegate.core.operator.operator import Accept
from tidegate.core.operator.task import Task
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import InvalidValueError, TidegateError, UserCodeError
from tidegate.graph.nodes import Broadcast, Custom, Forward, KeyBy, Partitioning, Rebalance


class Exchange:
    """One upstream channel's way into all subtasks of one input."""

    def __init__(
        self, tasks: Sequence[Task], input_index: int, channel: int, partitioning: Partitioning, name: str
    ) -> None:
        self._tasks = tuple(tasks)
        self._input_index = input_index
        self._channel = channel
        self._accepts: tuple[Accept, ...] = tuple(task.operator.inputs()[input_index] for task in tasks)
        self._name = name
        self.process_element = self._sender(partitioning)

    def process_watermark(self, watermark: Watermark) -> None:
        for task in self._tasks:
            task.process_watermark(watermark, self._input_index, self._channel)

    def process_status(self, status: WatermarkStatus) -> None:
        for task in self._tasks:
            task.process_status(status, self._input_index, self._channel)

    def _sender(self, partitioning: Partitioning) -> Callable[[Any, int | None], None]:
        match partitioning:
            case KeyBy(selector=selector):
                return self._by_key(selector)
            case Broadcast():
                return self._to_all
            case Rebalance():
                return self._in_turn()
            case Custom(partition=partition, selector=selector):
                return self._by_partitioner(partition, selector)
            case Forward():
                accept = self._accepts[self._channel % len(self._accepts)]
                return lambda value, timestamp: accept(None, value, timestamp)

    def _by_key(self, selector: Callable[[Any], Any]) -> Callable[[Any, int | None], None]:
        accepts = self._accepts
        count = len(accepts)
        only = accepts[0] if count == 1 else None

        def send(value: Any, timestamp: int | None) -> None:
            try:
                key = selector(value)
            except Exception as error:
                self._fail("the key selector", error, value)
            if only is not None:
                only(key, value, timestamp)
            else:
                accepts[stable_hash(key) % count](key, value, timestamp)

        return send

    def _to_all(self, value: Any, timestamp: int | None) -> None:
        for accept in self._accepts:
            accept(None, value, timestamp)

    def _in_turn(self) -> Callable[[Any, int | None], None]:
        accepts = self._accepts
        turn = self._channel

        def send(value: Any, timestamp: int | None) -> None:
            nonlocal turn
            accepts[turn % len(accepts)](None, value, timestamp)
            turn += 1

        return send

    def _by_partitioner(
        self, partition: Callable[[Any, int], int], selector: Callable[[Any], Any]
    ) -> Callable[[Any, int | None], None]:
        accepts = self._accepts

        def send(value: Any, timestamp: int | None) -> None:
            try:
                target = partition(selector(value), len(accepts))
            except Exception as error:
                self._fail("the partitioner", error, value)
            if not isinstance(target, int) or not 0 <= target < len(accepts):
                raise InvalidValueError(
                    f"{self._name}: the partitioner gave {target!r} for {value!r}; "
                    f"it must give an index from 0 to {len(accepts) - 1}"
                )
            accepts[target](None, value, timestamp)

        return send

    def _fail(self, what: str, error: Exception, value: Any) -> NoReturn:
        if isinstance(error, TidegateError):
            raise error.named(self._name) from error
        message = f"{self._name}: {what} raised {type(error).__name__}: {error}, for the record {value!r}"
        raise UserCodeError(message) from error
