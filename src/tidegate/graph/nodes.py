"""The nodes of a program. They are immutable; what runs is created from their specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tidegate.core.operator.sink import SinkSpec
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.source.source import Source


class OutputType(Protocol):
    """What a node declares its elements to be. Elements are converted to it where they leave the node."""

    def convert(self, value: Any, where: str) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Something that gives a stream. `number` is its place in the order of the program text."""

    number: int
    kind: str

    @property
    def inputs(self) -> tuple[Input, ...]:
        return ()

    @property
    def upstream(self) -> tuple[Stream, ...]:
        """Every stream this node reads."""
        return tuple(connection.stream for task_input in self.inputs for connection in task_input.connections)


@dataclass(frozen=True, slots=True)
class Stream:
    """The main output of a node, or one of its side outputs."""

    node: Node
    side: str | None = None


@dataclass(frozen=True, slots=True)
class Automatic:
    """Nothing was said: elements stay where they are if they can, and else go to all subtasks in turn."""


@dataclass(frozen=True, slots=True)
class Forward:
    """Elements stay in the subtask of the same number. Between different parallelism it is refused, as in Flink."""


@dataclass(frozen=True, slots=True)
class KeyBy:
    """Every element to the subtask that holds its key."""

    selector: Callable[[Any], Any]
    label: str = "key"
    key_type: str | None = None
    """What keys are, where it was said or is known from columns."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The elements of each channel to all subtasks in turn."""


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Every element to every subtask."""


@dataclass(frozen=True, slots=True)
class ByPartitioner:
    """Every element where the user's partitioner says."""

    partition: Callable[[Any, int], int]
    selector: Callable[[Any], Any]


Partitioning = Automatic | Forward | KeyBy | Rebalance | Broadcast | ByPartitioner
"""How the elements of a stream find their subtask."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A stream on its way into an input."""

    stream: Stream
    partitioning: Partitioning = Automatic()


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an operator: any number of streams, whose channels meet in one valve."""

    connections: tuple[Connection, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SourceNode(Node):
    """Where data enters. Each of its channels has its own watermarks."""

    source: Source
    may_have_timestamps: bool = False
    output_type: OutputType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OperatorNode(Node):
    """An operator with its inputs. `parallelism` is what its kind asks for, whatever the user says; None for any."""

    spec: OperatorSpec
    all_inputs: tuple[Input, ...]
    parallelism: int | None = None
    gives_timestamps: bool = False
    output_type: OutputType | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.all_inputs

    @property
    def may_be_chained(self) -> bool:
        """Whether it may run where its input does: nothing asks for its elements to move."""
        if len(self.all_inputs) != 1:
            return False
        return all(isinstance(c.partitioning, Automatic | Forward) for c in self.all_inputs[0].connections)


@dataclass(frozen=True, slots=True, eq=False)
class SinkNode(Node):
    """Where a stream ends."""

    spec: SinkSpec
    only_input: Input

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (self.only_input,)


def may_have_timestamps(stream: Stream) -> bool:
    """Whether records of this stream can have timestamps: somebody upstream gives them."""
    node = stream.node
    if isinstance(node, SourceNode):
        return node.may_have_timestamps
    if isinstance(node, OperatorNode) and node.gives_timestamps:
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
