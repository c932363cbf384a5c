"""A program as live objects: operators, tasks and exchanges, built from the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.operator import Operator, OperatorContext, TaskOperator
from tidegate.core.operator.outputs import OperatorOutput, Receiver, TypedReceiver
from tidegate.core.operator.task import Task
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import Clock
from tidegate.errors import InvalidTypeError, SnapshotError
from tidegate.graph.nodes import ChainNode, Node, SourceNode, Stream, TaskNode
from tidegate.graph.stream_graph import StreamGraph
from tidegate.local.copies import spec_of_subtask
from tidegate.local.exchange import Exchange

_FORGETTABLE: Final = frozenset({"operator", "sink"})
"""The snapshots of operators that may be gone without a loss: maps and filters, and the ends of streams."""


@dataclass(slots=True)
class Vertex:
    """All parallel instances of one node."""

    node: Node
    uid: str
    name: str
    operators: list[Operator] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    outputs: list[OperatorOutput] = field(default_factory=list)
    metrics: list[MetricGroup] = field(default_factory=list)


class Topology:
    """The live program. Elements pushed into a source channel run through it to the sinks before the call returns."""

    def __init__(
        self,
        graph: StreamGraph,
        clock: Clock,
        *,
        job_parameters: Mapping[str, str] | None = None,
        configure: Callable[[Operator], None] | None = None,
    ) -> None:
        self._graph = graph
        self._clock = clock
        self._job_parameters = job_parameters or {}
        self._configure = configure
        self.vertices: dict[int, Vertex] = {}
        self._channels = _channel_counts(graph)
        for node in reversed(graph.nodes):
            self.vertices[node.number] = self._build(node)

    def source_output(self, node: Node, channel: int) -> OperatorOutput:
        """Where one channel of a source sends its elements."""
        return self.vertices[node.number].outputs[channel]

    def channels(self, node: Node) -> int:
        return self._channels[node.number]

    def operators(self) -> Iterator[Operator]:
        """Every operator, upstream first."""
        for node in self._graph.nodes:
            yield from self.vertices[node.number].operators

    def open(self) -> None:
        """Open everything, downstream first, so that whoever emits while it opens is heard."""
        for node in reversed(self._graph.nodes):
            for operator in self.vertices[node.number].operators:
                operator.open()

    def close(self) -> None:
        for operator in self.operators():
            operator.close()

    def abort(self) -> None:
        """Close after a failure."""
        for operator in self.operators():
            operator.abort()

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        """The metrics of each operator, by uid, a dict for each subtask."""
        return {
            vertex.uid: [group.values() for group in vertex.metrics]
            for vertex in self.vertices.values()
            if vertex.metrics
        }

    def snapshot(self) -> Snapshot:
        states: dict[str, Any] = {}
        for vertex in self.vertices.values():
            if vertex.tasks:
                states[vertex.uid] = [task.snapshot() for task in vertex.tasks]
            elif vertex.operators:
                states[vertex.uid] = [operator.snapshot() for operator in vertex.operators]
            else:
                states[vertex.uid] = [output.snapshot() for output in vertex.outputs]
        names = {vertex.uid: vertex.name for vertex in self.vertices.values()}
        return make_snapshot("topology", 1, states=states, names=names)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take state back by uid, before `open`. Operators that the snapshot does not know start from nothing."""
        fields = open_snapshot(snapshot, "topology", 1)
        states: dict[str, Any] = dict(fields["states"])
        for node in self._graph.nodes:
            vertex = self.vertices[node.number]
            if vertex.uid in states:
                _restore(vertex, states.pop(vertex.uid))
        for uid, parts in states.items():
            if any(state["kind"] not in _FORGETTABLE for state in parts):
                name = fields.get("names", {}).get(uid, uid)
                raise SnapshotError(
                    f"the checkpoint has state of the operator {name!r} (uid {uid!r}), which this program does not "
                    "have; run the program that wrote it, give the operator that goes on with its state that uid(...), "
                    "or choose another checkpoint folder"
                )

    def _build(self, node: Node) -> Vertex:
        vertex = Vertex(node, self._graph.uid(node), self._graph.name(node))
        count = self._channels[node.number]
        for index in range(count):
            output = self._output(node, index)
            vertex.outputs.append(output)
            if isinstance(node, ChainNode | TaskNode):
                vertex.operators.append(self._operator(node, vertex, output, index, count))
        if isinstance(node, TaskNode):
            channels = [self._count(task_input.streams) for task_input in node.inputs]
            for operator in vertex.operators:
                assert isinstance(operator, TaskOperator)
                vertex.tasks.append(Task(operator, channels))
        return vertex

    def _operator(
        self, node: ChainNode | TaskNode, vertex: Vertex, output: OperatorOutput, index: int, count: int
    ) -> Operator:
        operator: Operator = spec_of_subtask(node.spec, index).create()
        if isinstance(node, TaskNode) != isinstance(operator, TaskOperator):
            raise InvalidTypeError(f"{vertex.name}: {type(node.spec).__name__} does not fit a {type(node).__name__}")
        metrics = MetricGroup()
        vertex.metrics.append(metrics)
        operator.setup(
            OperatorContext(
                vertex.name,
                output,
                self._clock,
                subtask=index,
                parallelism=count,
                metrics=metrics,
                job_parameters=self._job_parameters,
                channel=self._channel_name(node, index),
            )
        )
        if self._configure is not None:
            self._configure(operator)
        return operator

    def _channel_name(self, node: Node, index: int) -> str:
        """The channel of a chain: that of its source, if it has only one, else its number."""
        while isinstance(node, ChainNode) and len(node.streams) == 1:
            node = node.streams[0].node
        if isinstance(node, SourceNode):
            return str(list(node.source.channels())[index])
        return str(index)

    def _output(self, node: Node, index: int) -> OperatorOutput:
        main: list[Receiver] = []
        sides: dict[str, list[Receiver]] = {}
        for stream, receiver in self._consumers(node, index):
            (main if stream.side is None else sides.setdefault(stream.side, [])).append(receiver)
        output_type = getattr(node, "output_type", None)
        if output_type is not None:
            main = [TypedReceiver(receiver, output_type, self._graph.name(node)) for receiver in main]
        return OperatorOutput(main, sides)

    def _consumers(self, node: Node, index: int) -> Iterator[tuple[Stream, Receiver]]:
        """Who reads instance `index` of the node, and which of its outputs."""
        for vertex in list(self.vertices.values())[::-1]:
            reader = vertex.node
            if isinstance(reader, ChainNode):
                for stream, offset in self._offsets(reader.streams):
                    if stream.node is node:
                        operator = vertex.operators[offset + index]
                        yield stream, operator  # type: ignore[misc]  # a chain node has chain operators
            elif isinstance(reader, TaskNode):
                for input_index, task_input in enumerate(reader.inputs):
                    for stream, offset in self._offsets(task_input.streams):
                        if stream.node is node:
                            exchange = Exchange(
                                vertex.tasks, input_index, offset + index, task_input.partitioning, vertex.name
                            )
                            yield stream, exchange

    def _offsets(self, streams: Sequence[Stream]) -> Iterator[tuple[Stream, int]]:
        """Where the channels of each stream begin among those of the input."""
        offset = 0
        for stream in streams:
            yield stream, offset
            offset += self._channels[stream.node.number]

    def _count(self, streams: Sequence[Stream]) -> int:
        return sum(self._channels[stream.node.number] for stream in streams)


def _restore(vertex: Vertex, states: Sequence[Any]) -> None:
    parts: Sequence[Any] = vertex.tasks or vertex.operators or vertex.outputs
    if len(parts) != len(states):
        raise SnapshotError(
            f"{vertex.name} (uid {vertex.uid!r}): the checkpoint has {len(states)} of its subtasks, the program has "
            f"{len(parts)}; parallelism and the channels of sources are fixed for a checkpoint: run with the old ones, "
            "or choose another checkpoint folder"
        )
    for part, state in zip(parts, states, strict=True):
        try:
            part.restore(state)
        except SnapshotError as error:
            raise SnapshotError(
                f"{vertex.name} (uid {vertex.uid!r}): {error}; run the program that wrote the checkpoint, or choose "
                "another checkpoint folder"
            ) from error


def _channel_counts(graph: StreamGraph) -> dict[int, int]:
    """How many channels each node gives: a source its own, a task its subtasks, an operator in a chain its input's."""
    counts: dict[int, int] = {}
    for node in graph.nodes:
        if isinstance(node, SourceNode):
            counts[node.number] = len(node.source.channels())
        elif isinstance(node, TaskNode):
            counts[node.number] = graph.parallelism[node.number]
        else:
            counts[node.number] = sum(counts[stream.node.number] for stream in node.upstream)
    return counts
