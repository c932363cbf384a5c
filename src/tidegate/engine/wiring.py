"""The operators of one stage in one subtask, connected as the plan says."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.core.operator.metric_group import MetricGroup, combined_values
from tidegate.core.operator.operator import ChainOperator, Operator, OperatorContext
from tidegate.core.operator.outputs import OperatorOutput, Receiver, TypedReceiver
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import Clock
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.engine.channels import channel_name, expected_channels, possible_channels, source_channel, subtask_channel
from tidegate.engine.exchange import Carrier, Exchange, Sender, SinkCarrier
from tidegate.engine.functions import FunctionHome, SubtaskFunctions, unique_id
from tidegate.engine.messages import Joined, Target
from tidegate.engine.plan import (
    Chained,
    Edge,
    EdgeName,
    Exchanged,
    PhysicalPlan,
    Planned,
    PlannedLane,
    PlannedSink,
    PlannedSource,
    PlannedTask,
    SentAsColumns,
)
from tidegate.engine.state import StateBackend
from tidegate.engine.task import Task
from tidegate.errors import InvalidTypeError


class BatchTime:
    """The clock of a batch: it stands still while the batch runs."""

    __slots__ = ("now",)

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a runtime gives to every operator of a subtask."""

    clock: Clock
    real_clock: Clock | None = None
    should_stop: Callable[[], bool] | None = None
    is_restart: bool = True
    waits_for_answers: bool = True
    """Whether a batch ends only when its requests to the outside world have."""
    is_in_process: bool = False
    """Whether all subtasks run in this process, in every batch: then nobody has to be told of it."""
    job_id: str = ""
    """Names the job, the same after a restart; empty where a restart is a new job."""
    configure: Callable[[Operator], None] | None = None
    """Called with every operator before it is restored or opened; for tests."""


class Wiring:
    """Builds operators and what connects them, and keeps them by node and channel.

    A lane is what runs for one channel: a source's output, and the chain behind it. Tasks are there from the beginning,
    lanes when the first sign of their channel comes. Sources know their channels by the names that they have there;
    behind them the name of the source stands before it.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        stage: int,
        subtask: int,
        functions: SubtaskFunctions,
        state: StateBackend,
        sender: Sender,
        surroundings: Surroundings,
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._subtask = subtask
        self._functions = functions
        self._state = state
        self._sender = sender
        self._surroundings = surroundings
        self._exchanges: dict[tuple[EdgeName, str], Exchange] = {}
        self._turns: Mapping[tuple[EdgeName, str], int] = {}
        self._saved_lanes: Mapping[str, Mapping[str, Any]] = {}
        self.tasks: dict[int, Task] = {}
        self.lanes: dict[int, dict[str, ChainOperator]] = {}
        self.sources: dict[int, dict[str, OperatorOutput]] = {}

    def build(self, saved: Mapping[str, Any] | None) -> None:
        """Make the tasks, and the lanes that were there when the snapshot was taken."""
        fields = None if saved is None else open_snapshot(saved, "wiring", 1)
        if fields is not None:
            self._turns = fields["turns"]
            self._saved_lanes = fields["lanes"]
        for node in self._plan.stage(self._stage):
            if isinstance(node, PlannedTask) and self._subtask < node.parallelism:
                self._create_task(node, None if fields is None else fields["tasks"].get(node.uid))
        if fields is None:
            return
        for uid, channels in fields["lanes"].items():
            known = self._plan.by_uid.get(uid)
            for channel in channels:
                if isinstance(known, PlannedSource):
                    self._open_source(known, channel)
                elif isinstance(known, PlannedLane):
                    self.join_lane(known, channel)
        for number, home in self._lane_homes():
            home.metrics.restore(fields["function_metrics"].get(self._plan.by_number[number].uid, {}))

    def operators(self) -> Iterator[tuple[Planned, Operator]]:
        """Every operator with its node, upstream first; those of a chain by the names of their channels.

        Where several have something to say at once, the order decides: it must not depend on who was heard of first.
        """
        for node in self._plan.stage(self._stage):
            if isinstance(node, PlannedTask) and node.number in self.tasks:
                yield node, self.tasks[node.number].operator
            elif isinstance(node, PlannedLane):
                for _, operator in sorted(self.lanes.get(node.number, {}).items()):
                    yield node, operator

    def metrics(self) -> dict[str, dict[str, int]]:
        """What the operators count and measure, by uid."""
        groups = [(node.uid, operator.context.metrics) for node, operator in self.operators()]
        groups += [(self._plan.by_number[number].uid, home.metrics) for number, home in self._lane_homes()]
        return combined_values(groups)

    def _lane_homes(self) -> Iterator[tuple[int, FunctionHome]]:
        """The homes whose functions several lanes share; those of tasks count with their operator."""
        return (
            (number, home)
            for number, home in self._functions.homes()
            if isinstance(self._plan.by_number[number], PlannedLane)
        )

    def join_source(self, node: PlannedSource, channel: str) -> OperatorOutput:
        """The output of a channel of a source. With its first sign everybody behind it learns that it exists."""
        known = self.sources.setdefault(node.number, {})
        if channel not in known:
            self._open_source(node, channel)
            self._announce(node, source_channel(node, channel))
        return known[channel]

    def join_lane(self, node: PlannedLane, channel: str) -> ChainOperator:
        """The operator of a chain that runs for a channel."""
        known = self.lanes.setdefault(node.number, {})
        return known[channel] if channel in known else self._lane(node, channel)

    def announce(self) -> None:
        """Say again how far time is everywhere, upstream first: a changed program may have readers that do not know."""
        for node in self._plan.stage(self._stage):
            for output in list(self.sources.get(node.number, {}).values()):
                output.announce()
        for _, operator in self.operators():
            operator.output.announce()

    def snapshot(self) -> Snapshot:
        lanes: dict[str, dict[str, Any]] = {}
        for number, outputs in self.sources.items():
            uid = self._plan.by_number[number].uid
            lanes[uid] = {channel: output.snapshot() for channel, output in outputs.items()}
        for number, operators in self.lanes.items():
            uid = self._plan.by_number[number].uid
            lanes[uid] = {channel: operator.snapshot() for channel, operator in operators.items()}
        return make_snapshot(
            "wiring",
            1,
            tasks={self._plan.by_number[number].uid: task.snapshot() for number, task in self.tasks.items()},
            lanes=lanes,
            turns={name: exchange.turn for name, exchange in self._exchanges.items()},
            function_metrics={
                self._plan.by_number[number].uid: home.metrics.counts() for number, home in self._lane_homes()
            },
        )

    # Building

    def _create_task(self, node: PlannedTask, saved: Mapping[str, Any] | None) -> None:
        home = self._functions.home(node)
        state = self._state.of_operator(node.uid)
        home.state.use(state.store)
        operator = home.spec.create()
        context = self._context(node, subtask_channel(node, self._subtask), home.metrics)
        context.functions = home
        context.state = home.state
        context.event_timers = state.event_timers
        context.processing_timers = state.processing_timers
        context.blobs = state.blobs
        context.tables = self._state.tables
        # Tables of all operators are in one cache, by names that must tell them apart.
        context.attempt = uuid.uuid4().hex
        self._set_up(operator, context)
        expected = [expected_channels(edges, self._plan) for edges in node.inputs]
        possible = [possible_channels(edges, self._plan) for edges in node.inputs]
        task = self.tasks[node.number] = Task(operator, expected, possible)
        if saved is not None:
            task.restore(saved)
        task.open()

    def _open_source(self, node: PlannedSource, channel: str) -> None:
        output = self._output(node, source_channel(node, channel))
        saved = self._saved_lanes.get(node.uid, {}).get(channel)
        if saved is not None:
            output.restore(saved)
        self.sources.setdefault(node.number, {})[channel] = output

    def _lane(self, node: PlannedLane, channel: str) -> ChainOperator:
        home = self._functions.home(node)
        operator = home.spec.create()
        if not isinstance(operator, ChainOperator):
            raise InvalidTypeError(f"{node.name}: {type(home.spec).__name__} needs subtasks of its own")
        context = self._context(node, channel, MetricGroup())
        context.channel = self._shown(node, channel)
        context.functions = home
        context.function_metrics = home.metrics
        self._set_up(operator, context)
        saved = self._saved_lanes.get(node.uid, {}).get(channel)
        if saved is not None:
            operator.restore(saved)
        operator.open()
        self.lanes.setdefault(node.number, {})[channel] = operator
        return operator

    def _shown(self, node: PlannedLane, channel: str) -> str:
        """The name of a channel for people: as its source has it, if there is only one."""
        producers = [self._plan.by_number[edge.source] for edge in node.inputs[0]]
        if len(producers) != 1 or isinstance(producers[0], PlannedTask):
            return channel
        producer = producers[0]
        if isinstance(producer, PlannedSource):
            return channel.removeprefix(source_channel(producer, ""))
        return self._shown(producer, channel) if isinstance(producer, PlannedLane) else channel

    def _context(self, node: PlannedLane | PlannedTask, channel: str, metrics: MetricGroup) -> OperatorContext:
        surroundings = self._surroundings
        return OperatorContext(
            node.name,
            self._output(node, channel),
            surroundings.clock,
            subtask=self._subtask,
            parallelism=node.parallelism,
            metrics=metrics,
            job_parameters=self._plan.job_parameters,
            unique_id=unique_id(surroundings.job_id, node.uid),
            channel=channel,
            real_clock=surroundings.real_clock,
            is_restart=surroundings.is_restart,
            should_stop=surroundings.should_stop,
        )

    def _set_up(self, operator: Operator, context: OperatorContext) -> None:
        operator.setup(context)
        if self._surroundings.configure is not None:
            self._surroundings.configure(operator)

    def _output(self, node: PlannedSource | PlannedLane | PlannedTask, channel: str) -> OperatorOutput:
        main: list[Receiver] = []
        sides: dict[str, list[Receiver]] = {}
        for edge, reader in self._plan.behind(node):
            receiver = self._receiver(edge, reader, channel)
            if edge.side is not None:
                sides.setdefault(edge.side, []).append(receiver)
            elif node.output_type is not None:
                main.append(TypedReceiver(receiver, node.output_type, node.name))
            else:
                main.append(receiver)
        return OperatorOutput(main, sides)

    def _receiver(self, edge: Edge, reader: Planned, channel: str) -> Receiver:
        if isinstance(reader, PlannedLane) and isinstance(edge.travel, Chained):
            return self.join_lane(reader, channel)
        if isinstance(reader, PlannedTask) and isinstance(edge.travel, SentAsColumns):
            return _TaskInput(self.tasks, edge, channel)
        if not isinstance(edge.travel, Exchanged):
            producer = self._plan.by_number[edge.source]
            has_tables = (
                isinstance(reader, PlannedSink) and isinstance(producer, PlannedTask) and producer.is_on_columns
            )
            carrier = SinkCarrier if has_tables else Carrier
            return carrier(self._sender, Target(reader.stage, self._subtask), edge.number, channel)
        targets = [Target(reader.stage, index) for index in range(reader.parallelism)]
        exchange = Exchange(
            self._sender,
            targets,
            edge.travel.partitioning,
            edge.number,
            channel,
            subtask=self._subtask,
            reader=reader.name,
            max_parallelism=self._plan.max_parallelism,
        )
        name = (self._plan.name_of(edge), channel)
        exchange.turn = self._turns.get(name, exchange.turn) % len(targets)
        self._exchanges[name] = exchange
        return exchange

    def _announce(self, node: PlannedSource | PlannedLane, channel: str) -> None:
        for edge, reader in self._plan.behind(node):
            if isinstance(reader, PlannedLane):
                self._announce(reader, channel)
            elif isinstance(edge.travel, SentAsColumns):
                self.tasks[reader.number].join(edge.input_index, channel_name(edge, channel))
            else:
                count = reader.parallelism if isinstance(edge.travel, Exchanged) else 0
                subtasks = range(count) if count else (self._subtask,)
                for subtask in subtasks:
                    joined = Joined(self._sender.next_order(), edge.number, channel)
                    self._sender.send(Target(reader.stage, subtask), joined)


class _TaskInput:
    """A channel that is in every subtask: its progress goes straight into the valve of a task behind it."""

    def __init__(self, tasks: Mapping[int, Task], edge: Edge, channel: str) -> None:
        self._tasks = tasks
        self._edge = edge
        self._name = channel_name(edge, channel)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        raise AssertionError("the records of such a channel travel as columns")

    def process_watermark(self, watermark: Watermark) -> None:
        self._move(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._move(status)

    def _move(self, progress: Progress) -> None:
        self._tasks[self._edge.target].move(self._edge.input_index, self._name, progress)
