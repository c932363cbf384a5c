"""From the graph, which is what the user said, to the physical plan, which is what runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.core.function.fields import FieldKey
from tidegate.core.key.key_groups import default_key_groups
from tidegate.core.source.column_source import ColumnSource
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.window.window_join import TaggedKey
from tidegate.engine.entries import ColumnTask, Readers, column_tasks
from tidegate.engine.plan import (
    SINKS,
    Carried,
    Chained,
    Edge,
    Exchanged,
    PhysicalPlan,
    Planned,
    PlannedLane,
    PlannedSink,
    PlannedSource,
    PlannedTask,
    Reading,
    SentAsColumns,
    Travel,
)
from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import (
    Automatic,
    Connection,
    Forward,
    KeyBy,
    Node,
    OperatorNode,
    Partitioning,
    Rebalance,
    SinkNode,
    SourceNode,
)
from tidegate.graph.stream_graph import StreamGraph, default_name

TICK_MILLIS: Final = 1_000
"""How often a batch without data is made, where something waits for the clock."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a program runs, beside what it says; times in milliseconds."""

    auto_watermark_interval: int = 200
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    max_parallelism: int | None = None
    """The number of key groups; None for a number that leaves room for a higher parallelism."""
    reads_columns: bool = True
    """Whether the runtime has workers that read sources as columns."""
    has_micro_batches: bool = True
    """Whether the runtime makes a batch when there is data, or a tick is due; not all the time."""


_Travels = Callable[[Connection], Travel]


def lower(graph: StreamGraph, options: PlanOptions | None = None) -> PhysicalPlan:
    """The plan of a program: one decision for each node, in the order of the program."""
    return _Lowering(graph, options or PlanOptions()).plan()


class _Lowering:
    """Visits the nodes, upstream first."""

    def __init__(self, graph: StreamGraph, options: PlanOptions) -> None:
        self._graph = graph
        self._options = options
        self._readers = _readers_of(graph)
        self._max_parallelism = self._key_groups()
        self._planned: dict[int, Planned] = {}
        self._edges: list[Edge] = []
        self._column_tasks: dict[int, ColumnTask] = {}

    def plan(self) -> PhysicalPlan:
        for node in self._graph.nodes:
            match node:
                case SourceNode():
                    planned: Planned = self.visit_source(node)
                case OperatorNode():
                    planned = self.visit_operator(node)
                case SinkNode():
                    planned = self.visit_sink(node)
                case _:
                    raise TypeError(f"{node!r} is no node of a program")
            self._planned[node.number] = planned
        nodes = tuple(self._planned.values())
        return PhysicalPlan(
            nodes,
            tuple(self._edges),
            num_stages=max(node.stage for node in nodes) + 1,
            parallelism=max([self._graph.default_parallelism, *(node.parallelism for node in nodes)]),
            default_parallelism=self._graph.default_parallelism,
            max_parallelism=self._max_parallelism,
            auto_watermark_interval=self._options.auto_watermark_interval,
            needs_clock=self._needs_clock(),
            probes_every_batch=self._options.has_micro_batches and self._options.auto_watermark_interval <= TICK_MILLIS,
            job_parameters=dict(self._options.job_parameters),
        )

    def visit_source(self, node: SourceNode) -> PlannedSource:
        tasks = self._entered_tasks(node)
        if tasks is not None:
            self._column_tasks |= tasks
            parallelism = self._parallelism(self._graph.nodes_by_number[next(iter(tasks))])
            return self._source(node, Reading.AS_COLUMNS, parallelism)
        if isinstance(node.source, ColumnSource) and self._options.reads_columns:
            return self._source(node, Reading.AS_ROWS, self._parallelism(node))
        if not node.source.is_parallel:
            return self._source(node, Reading.BY_DRIVER, 1)
        given = self._graph.given_parallelism.get(node.number)
        channels = len(node.source.with_parallelism(self._parallelism(node)).channels())
        parallelism = given or max(min(self._graph.default_parallelism, channels), 1)
        return self._source(node, Reading.BY_DRIVER, parallelism)

    def _source(self, node: SourceNode, reading: Reading, parallelism: int) -> PlannedSource:
        source = node.source.with_parallelism(parallelism)
        return PlannedSource(*self._identity(node), 0, parallelism, source, reading, node.output_type)

    def _entered_tasks(self, node: SourceNode) -> dict[int, ColumnTask] | None:
        """The tasks that take the columns of a source, if they do and run in the same subtasks."""
        tasks = column_tasks(node, self._readers) if self._options.reads_columns else None
        if tasks is None or node.number in self._graph.given_parallelism:
            return None
        counts = {self._parallelism(self._graph.nodes_by_number[number]) for number in tasks}
        assign = self._readers[node.number][0][0]
        return tasks if len(counts) == 1 and assign.number not in self._graph.given_parallelism else None

    def visit_operator(self, node: OperatorNode) -> PlannedLane | PlannedTask:
        if self._is_chained(node):
            return self._lane(node)
        parallelism = self._parallelism(node)
        before = [self._planned[stream.node.number] for stream in node.upstream]
        columns = self._column_tasks.get(node.number)
        if columns is not None:
            stage = max(producer.stage for producer in before)
            inputs = self._connect(node, lambda _: SentAsColumns(columns.key_names, columns.takes_partials))
            spec = columns.spec
        else:
            stage = max(producer.stage for producer in before) + 1
            inputs = self._connect(node, lambda connection: self._exchange(connection, node, parallelism))
            spec = node.spec
        is_on_columns = columns is not None and columns.is_on_columns
        # Results on columns have their types already.
        output_type = None if is_on_columns else node.output_type
        state_format = spec.state_format()
        if state_format is not None:
            state_format = state_format.with_fixed(max_parallelism=self._max_parallelism)
        if state_format is not None and not is_on_columns:
            state_format = state_format.with_fixed(key=_described_key(node)).with_shared(**_key_type(node))
        return PlannedTask(
            *self._identity(node), stage, parallelism, spec, inputs, output_type, state_format, is_on_columns
        )

    def _is_chained(self, node: OperatorNode) -> bool:
        """Whether it runs where its input does: nothing moves its elements, and no other parallelism was given."""
        given = self._graph.given_parallelism.get(node.number)
        return node.may_be_chained and all(
            given in (None, self._planned[connection.stream.node.number].parallelism)
            or self._refuses_change(connection, node, given)
            for connection in node.inputs[0].connections
        )

    def _lane(self, node: OperatorNode) -> PlannedLane:
        before = [self._planned[stream.node.number] for stream in node.upstream]
        stage = max(producer.stage for producer in before)
        is_everywhere = any(isinstance(p, PlannedSource) and p.is_in_every_subtask for p in before)

        def travel(connection: Connection) -> Travel:
            return Chained() if self._planned[connection.stream.node.number].stage == stage else Carried()

        parallelism = max(producer.parallelism for producer in before)
        inputs = self._connect(node, travel)
        identity = self._identity(node)
        state_format = node.spec.state_format()
        return PlannedLane(
            *identity, stage, parallelism, node.spec, inputs, node.output_type, state_format, is_everywhere
        )

    def visit_sink(self, node: SinkNode) -> PlannedSink:
        connections = node.only_input.connections
        producers = [self._planned[connection.stream.node.number] for connection in connections]
        moves = any(not isinstance(connection.partitioning, Automatic | Forward) for connection in connections)
        natural = self._graph.default_parallelism if moves else max(producer.parallelism for producer in producers)
        parallelism = self._graph.given_parallelism.get(node.number, natural)
        inputs = self._connect(node, lambda connection: self._way_to_sink(connection, node, parallelism))
        return PlannedSink(*self._identity(node), SINKS, parallelism, node.spec, inputs)

    def _way_to_sink(self, connection: Connection, node: SinkNode, parallelism: int) -> Travel:
        producer = self._planned[connection.stream.node.number]
        is_free = node.number not in self._graph.given_parallelism and producer.parallelism <= parallelism
        stays = isinstance(connection.partitioning, Automatic | Forward)
        if stays and (is_free or producer.parallelism == parallelism):
            return Carried()
        return self._exchange(connection, node, parallelism)

    def _exchange(self, connection: Connection, node: Node, parallelism: int) -> Exchanged:
        """How elements find their subtask; where nothing was said, they stay if they can, and else take turns."""
        partitioning: Partitioning = connection.partitioning
        if isinstance(partitioning, Automatic | Forward):
            producer = self._planned[connection.stream.node.number]
            stays = producer.parallelism == parallelism or self._refuses_change(connection, node, parallelism)
            partitioning = Forward() if stays else Rebalance()
        return Exchanged(partitioning)

    def _refuses_change(self, connection: Connection, node: Node, parallelism: int | None) -> bool:
        """Raise where `forward()` would have to change the parallelism; False otherwise."""
        if isinstance(connection.partitioning, Forward):
            producer = self._planned[connection.stream.node.number]
            raise InvalidValueError(
                f"forward: {producer.name} has parallelism {producer.parallelism} and {self._graph.name(node)} has "
                f"{parallelism}; forward() keeps elements where they are, so give both the same, or use rebalance()"
            )
        return False

    def _connect(self, node: Node, travel: _Travels) -> tuple[tuple[Edge, ...], ...]:
        """The edges into a node."""
        inputs = []
        for input_index, task_input in enumerate(node.inputs):
            edges = []
            for position, connection in enumerate(task_input.connections):
                stream = connection.stream
                way = travel(connection)
                edge = Edge(len(self._edges), stream.node.number, stream.side, node.number, input_index, position, way)
                self._edges.append(edge)
                edges.append(edge)
            inputs.append(tuple(edges))
        return tuple(inputs)

    def _identity(self, node: Node) -> tuple[int, str, str, str, str | None]:
        function = None if node.number in self._graph.given_uids else default_name(node)
        return node.number, self._graph.uid(node), self._graph.name(node), node.kind, function

    def _parallelism(self, node: Node) -> int:
        return self._graph.given_parallelism.get(node.number, self._graph.default_parallelism)

    def _key_groups(self) -> int:
        """The number of key groups, which no operator may have more subtasks than."""
        given = self._graph.given_parallelism.values()
        highest = max([self._graph.default_parallelism, *given])
        chosen = self._options.max_parallelism
        if chosen is not None and chosen < highest:
            raise InvalidValueError(
                f"set_max_parallelism: {chosen} is less than the parallelism {highest}; give at least that"
            )
        return chosen or default_key_groups(highest)

    def _needs_clock(self) -> bool:
        specs = [node.spec for node in self._graph.nodes if isinstance(node, OperatorNode)]
        # Emission that comes less often than a tick would wait for data.
        is_slow = self._options.auto_watermark_interval > TICK_MILLIS
        return any(spec.waits_for_clock or (is_slow and isinstance(spec, AssignWatermarksSpec)) for spec in specs)


def _readers_of(graph: StreamGraph) -> Readers:
    readers: dict[int, list[tuple[Node, Connection]]] = defaultdict(list)
    for node in graph.nodes:
        for task_input in node.inputs:
            for connection in task_input.connections:
                readers[connection.stream.node.number].append((node, connection))
    return readers


def _described_key(node: OperatorNode) -> str:
    """What the keys of an operator are, as far as it can be told."""
    keys = dict.fromkeys(
        _described_selector(connection.partitioning.selector)
        for task_input in node.inputs
        for connection in task_input.connections
        if isinstance(connection.partitioning, KeyBy)
    )
    return " and ".join(keys) or "none"


def _key_type(node: OperatorNode) -> dict[str, str]:
    """The type of the keys, where it is known."""
    partitionings = [connection.partitioning for task_input in node.inputs for connection in task_input.connections]
    types = [partitioning.key_type for partitioning in partitionings if isinstance(partitioning, KeyBy)]
    known = [key_type for key_type in types if key_type is not None]
    return {"key type": " and ".join(dict.fromkeys(known))} if known and len(known) == len(types) else {}


def _described_selector(selector: Callable[[Any], Any]) -> str:
    if isinstance(selector, FieldKey):
        return ", ".join(f"field {name!r}" for name in selector.fields)
    return "the keys of two streams" if isinstance(selector, TaggedKey) else "a function of the program"
