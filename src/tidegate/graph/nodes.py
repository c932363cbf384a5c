"""The nodes of a program. They are immutable; what runs is created from their specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tidegate.core.operator.operator import Operator


class OperatorSpec(Protocol):
    """A frozen value that describes an operator; every subtask creates its own from it."""

    def create(self) -> Operator: ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Something that gives a stream. `number` is its place in the order of the program text."""

    number: int
    kind: str

    @property
    def upstream(self) -> tuple[Stream, ...]:
        """Every stream this node reads."""
        return ()


@dataclass(frozen=True, slots=True)
class Stream:
    """The main output of a node, or one of its side outputs."""

    node: Node
    side: str | None = None


@dataclass(frozen=True, slots=True)
class KeyBy:
    """Every element to the subtask that holds its key."""

    selector: Callable[[Any], Any]
    label: str = "key"


@dataclass(frozen=True, slots=True)
class Forward:
    """Each channel to one subtask."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The elements of each channel to all subtasks in turn."""


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Every element to every subtask."""


@dataclass(frozen=True, slots=True)
class Custom:
    """Every element where the user's partitioner says."""

    partition: Callable[[Any, int], int]
    selector: Callable[[Any], Any]


Partitioning = KeyBy | Forward | Rebalance | Broadcast | Custom


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a task: any number of streams on one valve, and how their elements find their subtask."""

    streams: tuple[Stream, ...]
    partitioning: Partitioning


@dataclass(frozen=True, slots=True, eq=False)
class SourceNode(Node):
    """Where data enters. Each of its channels has its own watermarks."""

    source: Any
    may_have_timestamps: bool = False
    output_type: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ChainNode(Node):
    """An operator that runs wherever its input does, once for each channel."""

    spec: OperatorSpec
    streams: tuple[Stream, ...]
    output_type: Any = None

    @property
    def upstream(self) -> tuple[Stream, ...]:
        return self.streams


@dataclass(frozen=True, slots=True, eq=False)
class TaskNode(Node):
    """An operator with subtasks of its own behind a shuffle. `parallelism` None stands for that of the job."""

    spec: OperatorSpec
    inputs: tuple[Input, ...]
    parallelism: int | None = None
    gives_timestamps: bool = False
    output_type: Any = None

    @property
    def upstream(self) -> tuple[Stream, ...]:
        return tuple(stream for task_input in self.inputs for stream in task_input.streams)


def may_have_timestamps(stream: Stream) -> bool:
    """Whether records of this stream can have timestamps: somebody upstream gives them."""
    node = stream.node
    if isinstance(node, SourceNode):
        return node.may_have_timestamps
    if isinstance(node, ChainNode) and node.kind == "assign_timestamps_and_watermarks":
        return True
    if isinstance(node, TaskNode) and node.gives_timestamps:
        return True
    return any(may_have_timestamps(parent) for parent in node.upstream)


def ancestors(streams: tuple[Stream, ...]) -> Iterator[Node]:
    """Every node that these streams come from, each once."""
    seen: set[int] = set()
    waiting = [stream.node for stream in streams]
    while waiting:
        node = waiting.pop()
        if node.number not in seen:
            seen.add(node.number)
            yield node
            waiting.extend(stream.node for stream in node.upstream)
