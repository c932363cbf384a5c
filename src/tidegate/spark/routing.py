"""Where the outputs of a stage go: subtasks of later stages, and sinks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tidegate.core.key.hashing import stable_hash
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import InvalidValueError, TidegateError, UserCodeError
from tidegate.graph.nodes import (
    Broadcast,
    Custom,
    Forward,
    Input,
    KeyBy,
    Node,
    Partitioning,
    Rebalance,
    SourceNode,
    Stream,
    TaskNode,
)
from tidegate.graph.plan import Plan
from tidegate.spark.packing import Columns, Item, Order


@dataclass(frozen=True, slots=True)
class Target:
    """Where a packet goes: a stage and a subtask of it; sinks have no subtask."""

    stage: int
    subtask: int


class Sender(Protocol):
    """A stage that sends: it knows the order of what it processes."""

    def next_order(self) -> Order: ...

    def send(self, target: Target, item: Item) -> None: ...


class Outbox:
    """Sends everything to one target."""

    def __init__(self, stage: Sender, target: Target, edge: str, channel: str) -> None:
        self._stage = stage
        self._target = target
        self._edge = edge
        self._channel = channel

    def process_element(self, value: Any, timestamp: int | None) -> None:
        order = self._stage.next_order()
        self._stage.send(self._target, Item(order, self._edge, self._channel, None, value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self._progress(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._progress(status)

    def _progress(self, progress: Watermark | WatermarkStatus) -> None:
        item = Item(self._stage.next_order(), self._edge, self._channel, progress=progress)
        self._stage.send(self._target, item)


class SinkOutbox(Outbox):
    """Sends everything to a sink, many results at once as columns."""

    def process_table(self, table: Any) -> None:
        item = Item(self._stage.next_order(), self._edge, self._channel, None, table, progress=Columns())
        self._stage.send(self._target, item)


class ValveInput:
    """The channel of an entry in the subtask itself: its progress goes straight into the valve of a task."""

    def __init__(self, stage: Any, reader: TaskNode, input_index: int, position: int, channel: str) -> None:
        self._deliver = partial(stage.deliver_progress, reader, input_index, f"{position}:{channel}")

    def process_element(self, value: Any, timestamp: int | None) -> None:
        raise AssertionError("the records of an entry travel as columns")

    def process_watermark(self, watermark: Watermark) -> None:
        self._deliver(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._deliver(status)


class Exchange:
    """Sends elements to the subtask of their key, watermarks and statuses to all."""

    def __init__(
        self, stage: Sender, plan: Plan, reader: TaskNode, partitioning: Partitioning, edge: str, channel: str
    ) -> None:
        self._stage = stage
        self._edge = edge
        self._channel = channel
        self._name = plan.graph.name(reader)
        count = plan.graph.parallelism[reader.number]
        self._targets = [Target(plan.stage_of[reader.number], index) for index in range(count)]
        self._choose = self._chooser(partitioning)
        self._turn = stable_hash(channel)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        order = self._stage.next_order()
        key, targets = self._choose(value)
        item = Item(order, self._edge, self._channel, key, value, timestamp)
        for target in targets:
            self._stage.send(target, item)

    def process_watermark(self, watermark: Watermark) -> None:
        self._progress(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._progress(status)

    def _progress(self, progress: Watermark | WatermarkStatus) -> None:
        item = Item(self._stage.next_order(), self._edge, self._channel, progress=progress)
        for target in self._targets:
            self._stage.send(target, item)

    def _chooser(self, partitioning: Partitioning) -> Callable[[Any], tuple[Any, list[Target]]]:
        targets = self._targets
        count = len(targets)
        match partitioning:
            case KeyBy(selector=selector):
                return lambda value: self._by_key(selector, value)
            case Broadcast():
                return lambda _: (None, targets)
            case Forward():
                mine = [targets[stable_hash(self._channel) % count]]
                return lambda _: (None, mine)
            case Rebalance():
                return lambda _: (None, [targets[self._next_turn() % count]])
            case Custom(partition=partition, selector=selector):
                return lambda value: (None, [self._by_partitioner(partition, selector, value)])

    def _by_key(self, selector: Callable[[Any], Any], value: Any) -> tuple[Any, list[Target]]:
        try:
            key = selector(value)
        except TidegateError as error:
            raise error.named(self._name) from error
        except Exception as error:
            raise UserCodeError(
                f"{self._name}: the key selector raised {type(error).__name__}: {error}, for the record {value!r}"
            ) from error
        return key, [self._targets[stable_hash(key) % len(self._targets)]]

    def _by_partitioner(self, partition: Any, selector: Any, value: Any) -> Target:
        chosen = partition(selector(value), len(self._targets))
        if not isinstance(chosen, int) or not 0 <= chosen < len(self._targets):
            raise InvalidValueError(
                f"{self._name}: the partitioner gave {chosen!r} for {value!r}; "
                f"it must give an index from 0 to {len(self._targets) - 1}"
            )
        return self._targets[chosen]

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn


def edge_name(reader: Node, input_index: int, position: int) -> str:
    """The name of one stream into one input of a node."""
    return f"{reader.number}.{input_index}.{position}"


def source_edge(uid: str) -> str:
    """The name of the way into a source. It waits in the spool, so it is by uid: numbers change with the program."""
    return f"@{uid}"


def parse_edge(edge: str) -> tuple[int, int, int]:
    number, input_index, position = edge.split(".")
    return int(number), int(input_index), int(position)


Reader = tuple[Node, int, int, Stream]


def readers_of(plan: Plan) -> dict[int, list[Reader]]:
    """Who reads each node: the reader, its input, the place of the stream there, and the stream."""
    readers: dict[int, list[Reader]] = defaultdict(list)
    for node in plan.graph.nodes:
        inputs = node.inputs if isinstance(node, TaskNode) else [Input(node.upstream, Forward())]
        for input_index, task_input in enumerate(inputs):
            for position, stream in enumerate(task_input.streams):
                readers[stream.node.number].append((node, input_index, position, stream))
    return readers


def known_channels(task_input: Input, plan: Plan) -> dict[str, int]:
    """The channels of an input that are known before anything came, by name, with their index in the valve."""
    names = [
        f"{position}:{channel}"
        for position, stream in enumerate(task_input.streams)
        for channel in channels_of(stream.node, plan)
    ]
    return {name: index for index, name in enumerate(names)}


def channels_of(node: Node, plan: Plan) -> list[str]:
    if isinstance(node, SourceNode):
        return list(node.source.expected_channels())
    if isinstance(node, TaskNode):
        return [f"{plan.graph.uid(node)}/{index}" for index in range(plan.graph.parallelism[node.number])]
    return [channel for stream in node.upstream for channel in channels_of(stream.node, plan)]
