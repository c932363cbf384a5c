"""The sinks of a job: each batch's results in order, and one watermark over all channels of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tidegate.core.columnar.columnar_operator import stamped_rows
from tidegate.core.columnar.columnar_windows import ColumnarSpec
from tidegate.core.operator.operator import OperatorContext
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.operator.sink import BatchId, SinkOperator, SinkSpec
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, Clock
from tidegate.core.watermark.records import Progress, Watermark
from tidegate.engine.channels import (
    ChannelValve,
    channel_name,
    expected_channels,
    expected_channels_in,
    possible_channels,
)
from tidegate.engine.functions import copy_for_subtask, unique_id
from tidegate.engine.messages import Element, Joined, Message, Moved, Order, OrderedMessage, Report, Results, Target
from tidegate.engine.order import place_of
from tidegate.engine.plan import PhysicalPlan, PlannedSink, PlannedTask

Arrived = tuple[Target, Message]
"""A message with the subtask of a sink that it came to."""


class Sinks:
    """All sinks of a job, in the driver's process.

    `job_id` names the job, the same after a restart; with the uid of a sink it names what the sink writes.
    """

    def __init__(self, plan: PhysicalPlan, clock: Clock, job_id: str = "") -> None:
        self._plan = plan
        self._sinks = {node.number: _Sink(node, plan, clock, job_id) for node in plan.sinks}
        self._reports: dict[tuple[str, int], Mapping[str, int]] = {}
        self.current_order: Order = ()
        """The order of the message that a sink is being given."""

    def open(self) -> None:
        for instance in self._instances():
            instance.operator.open()

    def close(self) -> None:
        for instance in self._instances():
            instance.operator.close()

    def clean_up(self) -> None:
        """Every batch of a run before has been taken: what it has left behind may go."""
        for instance in self._instances():
            instance.operator.clean_up()

    def begin_batch(self, batch_id: BatchId) -> None:
        for instance in self._instances():
            instance.operator.begin_batch(batch_id)

    def commit_batch(self, batch_id: BatchId) -> None:
        """Commit in every sink. After a crash the last batch comes again, maybe when some had committed it."""
        for instance in self._instances():
            instance.operator.commit_batch(batch_id)

    def process(self, arrived: Iterable[Arrived]) -> None:
        """Give messages to their sinks, in the order of their causes."""
        ordered: list[tuple[OrderedMessage, int]] = []
        for target, message in arrived:
            if isinstance(message, Report):
                for uid, values in message.metrics.items():
                    self._reports[(uid, message.subtask)] = values
            elif isinstance(message, Element | Moved | Joined | Results):
                ordered.append((message, target.subtask))
        for item, subtask in sorted(ordered, key=lambda pair: place_of(pair[0])):
            self.current_order = item.order
            assert isinstance(item.port, int)
            self._sinks[self._plan.edges[item.port].target].process(item, subtask)

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "sinks",
            2,
            sinks={sink.uid: sink.snapshot() for sink in self._sinks.values()},
            reports=[[uid, subtask, dict(values)] for (uid, subtask), values in self._reports.items()],
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "sinks", 2)
        self._reports = {(uid, subtask): values for uid, subtask, values in fields["reports"]}
        for sink in self._sinks.values():
            if sink.uid in fields["sinks"]:
                sink.restore(fields["sinks"][sink.uid])

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        """What operators have reported, and what the sinks themselves measure, by uid, a dict for each subtask."""
        found: dict[str, list[dict[str, int]]] = {}
        for uid, subtask in sorted(self._reports):
            found.setdefault(uid, []).append(dict(self._reports[(uid, subtask)]))
        for sink in self._sinks.values():
            found[sink.uid] = [instance.operator.context.metrics.values() for instance in sink.instances]
        return found

    def watermark(self, number: int) -> int:
        """The lowest watermark that the instances of a sink have seen."""
        return min(instance.operator.watermark for instance in self._sinks[number].instances)

    def _instances(self) -> Iterator[_SinkInstance]:
        return (instance for sink in self._sinks.values() for instance in sink.instances)


class _Sink:
    """One sink: an object that takes the records of all subtasks, or one for each of them."""

    def __init__(self, node: PlannedSink, plan: PhysicalPlan, clock: Clock, job_id: str) -> None:
        self.uid = node.uid
        self._is_shared = node.spec.is_shared
        (edges,) = node.inputs
        inputs = tuple(unique_id(job_id, plan.by_number[edge.source].uid) for edge in edges)
        count = 1 if self._is_shared else node.parallelism
        self.instances: list[_SinkInstance] = []
        for subtask in range(count):
            spec: SinkSpec = copy_for_subtask(node.spec, subtask)
            operator = SinkOperator(spec.sink)
            context = OperatorContext(
                node.name,
                OperatorOutput(),
                clock,
                subtask=subtask,
                parallelism=count,
                unique_id=unique_id(job_id, node.uid),
                input_ids=inputs,
            )
            operator.setup(context)
            channels = expected_channels(edges, plan) if self._is_shared else expected_channels_in(edges, plan, subtask)
            valve = ChannelValve(channels)
            self.instances.append(_SinkInstance(operator, valve, plan, possible_channels(edges, plan)))

    def process(self, message: OrderedMessage, subtask: int) -> None:
        self.instances[0 if self._is_shared else subtask].process(message)
        if isinstance(message, Moved) and message.progress == Watermark.MAX:
            self._end_unfed()

    def _end_unfed(self) -> None:
        """Time ends in subtasks that no channel came to when it has in all others."""
        fed = [instance for instance in self.instances if instance.is_fed]
        if all(instance.operator.watermark == MAX_TIME for instance in fed):
            for instance in self.instances:
                if not instance.is_fed and instance.operator.watermark != MAX_TIME:
                    instance.operator.process_watermark(Watermark.MAX)

    def snapshot(self) -> list[Snapshot]:
        return [instance.snapshot() for instance in self.instances]

    def restore(self, saved: list[Mapping[str, Any]]) -> None:
        for instance, state in zip(self.instances, saved, strict=False):
            instance.restore(state)


class _SinkInstance:
    """One object that writes, with a valve over the channels that feed it.

    So its watermarks rise, each comes behind all records that it covers, and `Watermark.MAX` comes once, last.
    """

    def __init__(
        self,
        operator: SinkOperator,
        channels: ChannelValve,
        plan: PhysicalPlan,
        is_possible: Callable[[str], bool],
    ) -> None:
        self.operator = operator
        self._channels = channels
        self._plan = plan
        self._is_possible = is_possible
        self._waiting: list[Progress] = []

    @property
    def is_fed(self) -> bool:
        """Whether any channel comes here."""
        return bool(self._channels.names)

    def process(self, message: OrderedMessage) -> None:
        assert isinstance(message.port, int)
        edge = self._plan.edges[message.port]
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._progress(waiting)
        if isinstance(message, Element):
            self.operator.process_element(message.value, message.timestamp)
        elif isinstance(message, Results):
            producer = self._plan.by_number[edge.source]
            assert isinstance(producer, PlannedTask)
            assert isinstance(producer.spec, ColumnarSpec)
            for row, timestamp in stamped_rows(message.table, producer.spec.make_row):
                self.operator.process_element(row, timestamp)
        elif isinstance(message, Moved):
            self._progress(self._channels.move(channel_name(edge, message.channel), message.progress))
        else:
            self._progress(self._channels.join(channel_name(edge, message.channel)))

    def snapshot(self) -> Snapshot:
        return make_snapshot("sink", 1, channels=self._channels.snapshot(), operator=self.operator.snapshot())

    def restore(self, saved: Mapping[str, Any]) -> None:
        fields = open_snapshot(saved, "sink", 1)
        self._waiting = self._channels.restore(fields["channels"], self._is_possible)
        self.operator.restore(fields["operator"])

    def _progress(self, items: list[Progress]) -> None:
        for item in items:
            if isinstance(item, Watermark):
                self.operator.process_watermark(item)
