"""Where the outputs of a subtask go: to subtasks of later stages, and to sinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import pyarrow as pa

from tidegate.core.key.hashing import stable_hash
from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.engine.messages import Element, Message, Moved, Order, Port, Results, Target
from tidegate.errors import InvalidValueError, TidegateError, UserCodeError
from tidegate.graph.nodes import Automatic, Broadcast, ByPartitioner, Forward, KeyBy, Partitioning, Rebalance


class Sender(Protocol):
    """A subtask that sends: it knows the order of what it processes."""

    def next_order(self) -> Order: ...

    def send(self, target: Target, message: Message) -> None: ...


class Carrier:
    """Sends everything of a channel to one subtask."""

    def __init__(self, sender: Sender, target: Target, port: Port, channel: str) -> None:
        self._sender = sender
        self._target = target
        self._port = port
        self._channel = channel

    def process_element(self, value: Any, timestamp: int | None) -> None:
        sender = self._sender
        sender.send(self._target, Element(sender.next_order(), self._port, self._channel, None, value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self._move(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._move(status)

    def _move(self, progress: Progress) -> None:
        self._sender.send(self._target, Moved(self._sender.next_order(), self._port, self._channel, progress))


class SinkCarrier(Carrier):
    """Sends everything of a channel to a sink, many results at once as columns."""

    def process_table(self, table: pa.Table) -> None:
        self._sender.send(self._target, Results(self._sender.next_order(), self._port, self._channel, table))


Choice = tuple[Any, Sequence[Target]]
"""The key of an element, and where it goes."""


class Exchange:
    """Sends the elements of a channel to the subtasks that the partitioning says, watermarks and statuses to all.

    `subtask` is the number of the one that sends, `max_parallelism` the number of key groups. `turn` says whose turn it
    is where elements go in turn; it is part of the state, so that where a batch is cut does not change where they go.
    """

    def __init__(
        self,
        sender: Sender,
        targets: Sequence[Target],
        partitioning: Partitioning,
        port: Port,
        channel: str,
        *,
        subtask: int,
        reader: str,
        max_parallelism: int,
    ) -> None:
        self._sender = sender
        self._targets = tuple(targets)
        self._port = port
        self._channel = channel
        self._reader = reader
        self._groups = KeyGroups(max_parallelism, len(targets))
        self.turn = stable_hash(channel) % len(targets)
        self._choose = self._chooser(partitioning, subtask)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        order = self._sender.next_order()
        key, targets = self._choose(value)
        element = Element(order, self._port, self._channel, key, value, timestamp)
        for target in targets:
            self._sender.send(target, element)

    def process_watermark(self, watermark: Watermark) -> None:
        self._move(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._move(status)

    def _move(self, progress: Progress) -> None:
        moved = Moved(self._sender.next_order(), self._port, self._channel, progress)
        for target in self._targets:
            self._sender.send(target, moved)

    def _chooser(self, partitioning: Partitioning, subtask: int) -> Callable[[Any], Choice]:
        targets = self._targets
        match partitioning:
            case KeyBy(selector=selector):
                return self._by_key(selector)
            case Broadcast():
                return lambda _: (None, targets)
            case Rebalance():
                return lambda _: (None, (self._next_in_turn(),))
            case ByPartitioner(partition=partition, selector=selector):
                return self._by_partitioner(partition, selector)
            case Forward() | Automatic():
                mine = (targets[subtask],)
                return lambda _: (None, mine)

    def _by_key(self, selector: Callable[[Any], Any]) -> Callable[[Any], Choice]:
        groups = self._groups
        holders = [(self._targets[groups.subtask_of_group(group)],) for group in range(groups.count)]

        def choose(value: Any) -> Choice:
            try:
                key = selector(value)
                return key, holders[groups.group_of(key)]
            except Exception as error:
                self._fail("the key selector", error, value)

        return choose

    def _next_in_turn(self) -> Target:
        target = self._targets[self.turn]
        self.turn = (self.turn + 1) % len(self._targets)
        return target

    def _by_partitioner(
        self, partition: Callable[[Any, int], int], selector: Callable[[Any], Any]
    ) -> Callable[[Any], Choice]:
        targets = self._targets

        def choose(value: Any) -> Choice:
            try:
                chosen = partition(selector(value), len(targets))
            except Exception as error:
                self._fail("the partitioner", error, value)
            if isinstance(chosen, bool) or not isinstance(chosen, int) or not 0 <= chosen < len(targets):
                raise InvalidValueError(
                    f"{self._reader}: the partitioner gave {chosen!r} for {value!r}; "
                    f"it must give an index from 0 to {len(targets) - 1}"
                )
            return None, (targets[chosen],)

        return choose

    def _fail(self, what: str, error: Exception, value: Any) -> NoReturn:
        if isinstance(error, TidegateError):
            raise error.named(self._reader) from error
        message = f"{self._reader}: {what} raised {type(error).__name__}: {error}, for the record {value!r}"
        raise UserCodeError(message) from error
