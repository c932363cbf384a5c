"""The physical plan: what runs where, and how records travel, as a value.

A program is a line of stages. The operators of a stage run in its subtasks; what they send goes to subtasks of later
stages, or to the sinks. Every decision about a record's way is made once, by `lowering`, and stands here: workers run
this plan, `explain()` prints it, and the checkpoint keeps a record of it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidegate.core.operator.sink import SinkSpec
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.source.source import KnownChannels, Source
from tidegate.core.state.format import StateFormat
from tidegate.graph.nodes import OutputType, Partitioning

SINKS = -1
"""The number that stands for a stage in front of which all stages are: where the sinks are."""


class Reading(enum.Enum):
    """How the records of a source come in."""

    BY_DRIVER = "by the driver"
    """Elements that the driver reads and feeds to the subtasks of their channels."""
    AS_ROWS = "as rows"
    """Workers read columns and send elements to the subtasks of their channels."""
    AS_COLUMNS = "as columns"
    """Workers read columns and send them straight to the tasks behind the source; every subtask keeps a copy of what
    gives the channels their watermarks."""


@dataclass(frozen=True, slots=True)
class Chained:
    """Handed on directly to the next operator in the same subtask, for each channel."""


@dataclass(frozen=True, slots=True)
class Carried:
    """Sent to the subtask of the same number in a later stage, or to the sink."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Sent element by element to the subtasks that the partitioning says."""

    partitioning: Partitioning


@dataclass(frozen=True, slots=True)
class SentAsColumns:
    """Sent as columns by whoever reads the source, to the subtasks of their keys: records, or partial aggregates."""

    key_names: tuple[str, ...]
    are_partials: bool


Travel = Chained | Carried | Exchanged | SentAsColumns


@dataclass(frozen=True, slots=True)
class Edge:
    """One stream into one input. `number` is its place among the edges of the plan: the name that messages carry."""

    number: int
    source: int
    side: str | None
    target: int
    input_index: int
    position: int
    """The place of the stream among those of the input."""
    travel: Travel


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node of the program in the stage where it runs, with its number of subtasks there."""

    number: int
    uid: str
    name: str
    kind: str
    function: str | None
    """What it does, where the user gave no uid."""
    stage: int
    parallelism: int


@dataclass(frozen=True, slots=True)
class PlannedSource(PlannedNode):
    source: Source
    reading: Reading
    output_type: OutputType | None = None

    @property
    def is_in_every_subtask(self) -> bool:
        """Whether every subtask of the stage keeps all channels, and not each its own."""
        return self.reading is Reading.AS_COLUMNS


@dataclass(frozen=True, slots=True)
class PlannedLane(PlannedNode):
    """An operator that runs wherever its input does, an instance for each channel."""

    spec: OperatorSpec
    inputs: tuple[tuple[Edge, ...], ...]
    output_type: OutputType | None = None
    state_format: StateFormat | None = None
    is_in_every_subtask: bool = False


@dataclass(frozen=True, slots=True)
class PlannedTask(PlannedNode):
    """An operator with an instance in each of its subtasks, and a valve before each of its inputs."""

    spec: OperatorSpec
    inputs: tuple[tuple[Edge, ...], ...]
    output_type: OutputType | None = None
    state_format: StateFormat | None = None
    is_on_columns: bool = False


@dataclass(frozen=True, slots=True)
class PlannedSink(PlannedNode):
    """A sink. It lives with the driver; its stage is `SINKS`."""

    spec: SinkSpec
    inputs: tuple[tuple[Edge, ...], ...]


Planned = PlannedSource | PlannedLane | PlannedTask | PlannedSink

EdgeName = tuple[str, int, int]
"""What an edge is called in state: the uid of the node that it leads to, its input, and which stream of that input."""


@dataclass(frozen=True)
class PhysicalPlan:
    """What runs. `parallelism` is the number of subtasks of every stage; an operator may be in only some of them.

    `max_parallelism` is the number of key groups, which subtasks share between them.
    """

    nodes: tuple[Planned, ...]
    edges: tuple[Edge, ...]
    num_stages: int
    parallelism: int
    default_parallelism: int
    """That of operators that were given none."""
    max_parallelism: int
    auto_watermark_interval: int = 200
    """In milliseconds; 0 for no periodic emission."""
    needs_clock: bool = False
    """Whether something may be due when nothing came: then every batch reaches every subtask of every stage."""
    probes_every_batch: bool = False
    """Whether periodic emission happens in every batch, because batches are no more frequent than the interval."""
    job_parameters: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_number(self) -> Mapping[int, Planned]:
        return {node.number: node for node in self.nodes}

    @cached_property
    def by_uid(self) -> Mapping[str, Planned]:
        return {node.uid: node for node in self.nodes}

    @cached_property
    def outgoing(self) -> Mapping[int, tuple[Edge, ...]]:
        """The edges that leave each node, in the order of the program."""
        return {node.number: tuple(edge for edge in self.edges if edge.source == node.number) for node in self.nodes}

    @cached_property
    def _by_stage(self) -> Mapping[int, tuple[Planned, ...]]:
        stages = {node.stage for node in self.nodes}
        return {number: tuple(node for node in self.nodes if node.stage == number) for number in stages}

    def stage(self, number: int) -> tuple[Planned, ...]:
        """The nodes of a stage, upstream first."""
        return self._by_stage.get(number, ())

    @property
    def sources(self) -> Iterator[PlannedSource]:
        return (node for node in self.nodes if isinstance(node, PlannedSource))

    @property
    def sinks(self) -> Iterator[PlannedSink]:
        return (node for node in self.nodes if isinstance(node, PlannedSink))

    def target(self, edge: Edge) -> Planned:
        """The node that an edge leads to."""
        return self.by_number[edge.target]

    def behind(self, node: Planned) -> Iterator[tuple[Edge, Planned]]:
        """The nodes behind a node, and the edges to them."""
        return ((edge, self.by_number[edge.target]) for edge in self.outgoing[node.number])

    def for_workers(self) -> PhysicalPlan:
        """The plan without what stays with the driver: the sinks themselves, and sources that it reads."""
        nodes: list[Planned] = []
        for node in self.nodes:
            if isinstance(node, PlannedSink):
                nodes.append(replace(node, spec=SinkSpec.elsewhere()))
            elif isinstance(node, PlannedSource) and node.reading is Reading.BY_DRIVER:
                nodes.append(replace(node, source=KnownChannels.of(node.source)))
            else:
                nodes.append(node)
        return replace(self, nodes=tuple(nodes))

    def name_of(self, edge: Edge) -> EdgeName:
        """An edge by what does not change with the program around it."""
        return self.by_number[edge.target].uid, edge.input_index, edge.position

    def edge_named(self, name: EdgeName) -> Edge | None:
        """The edge with that name, None if the program has it no longer."""
        uid, input_index, position = name
        node = self.by_uid.get(uid)
        if node is None or isinstance(node, PlannedSource):
            return None
        edges = node.inputs[input_index] if input_index < len(node.inputs) else ()
        return edges[position] if position < len(edges) else None
