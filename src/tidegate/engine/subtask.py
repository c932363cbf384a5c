"""One stage in one subtask: feeds the operators of the core with what a micro-batch brings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.watermark.records import Watermark
from tidegate.engine.channels import channel_name, subtask_of_channel
from tidegate.engine.column_input import ColumnInput
from tidegate.engine.functions import SubtaskFunctions
from tidegate.engine.messages import (
    Closing,
    Element,
    Ended,
    Joined,
    Message,
    Moved,
    Order,
    Partials,
    Port,
    Records,
    Report,
    Summary,
    Target,
    Tick,
)
from tidegate.engine.order import AFTER_RECORDS, BEFORE_RECORDS, OrderKeeper, interleaved, place_of
from tidegate.engine.plan import SINKS, EdgeName, PhysicalPlan, Planned, PlannedLane, PlannedSource, PlannedTask
from tidegate.engine.state import StateBackend
from tidegate.engine.wiring import Surroundings, Wiring
from tidegate.errors import SnapshotError

Outbox = Mapping[Target, list[Message]]
"""What leaves a subtask in a batch, by where it goes."""

_Delivered = Element | Moved | Joined


class Subtask:
    """The operators of one stage in one subtask, from batch to batch.

    `saved` is what an earlier one took as its snapshot. Built from it, a subtask goes on as that one would have.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        stage: int,
        index: int,
        functions: SubtaskFunctions,
        state: StateBackend,
        surroundings: Surroundings,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._index = index
        self._surroundings = surroundings
        self._order = OrderKeeper()
        self._out: dict[Target, list[Message]] = defaultdict(list)
        self.wiring = Wiring(plan, stage, index, functions, state, self, surroundings)
        self._undelivered: list[_Delivered] = []
        self._probed_at: int | None = None
        self._must_announce = saved is not None and surroundings.is_restart
        self.closing_run: str | None = None
        """The run that ends here in good order: when the batch is saved, its functions are closed."""
        fields = None if saved is None else open_snapshot(saved, "subtask", 1)
        self.wiring.build(None if fields is None else fields["wiring"])
        if fields is not None:
            self._undelivered = [self._at_port(name, message) for name, message in fields["undelivered"]]
            self._probed_at = fields["probed_at"]

    def run(self, messages: Iterable[Message], *, is_last: bool = False) -> Outbox:
        """One micro-batch, at the time that the clock says. Returns what leaves.

        What is due comes first, then what arrived in order, then what time asks for at the end. The last batch waits
        for every answer of the outside world.
        """
        self._out = defaultdict(list)
        self._order.at((BEFORE_RECORDS, ""))
        self._join_expected()
        if self._must_announce:
            self._must_announce = False
            self.wiring.announce()
        delivered, has_ended = self._take(messages)
        is_whole = self._resume()
        if is_whole:
            for _, operator in self.wiring.operators():
                operator.on_clock()
                operator.poll()
            is_whole = self._deliver_all(delivered)
        else:
            self._undelivered += delivered
        if is_whole:
            self._end_batch(waits_for_answers=is_last or self._surroundings.waits_for_answers)
        if has_ended:
            self._end_input()
        if not self._surroundings.is_in_process:
            self._prepare_commit()
            self._tell_others()
        return self._out

    def prepare_commit(self) -> Outbox:
        """What was written for the sinks since the last time, where a batch of theirs is many of ours."""
        self._out = defaultdict(list)
        self._prepare_commit()
        return self._out

    def snapshot(self) -> Snapshot:
        """Everything to go on from, but for what its state backend keeps."""
        return make_snapshot(
            "subtask",
            1,
            wiring=self.wiring.snapshot(),
            undelivered=[[self._port_name(message.port), message] for message in self._undelivered],
            probed_at=self._probed_at,
        )

    def close(self) -> None:
        """The input has ended, or the run stops in good order: functions are closed."""
        for _, operator in self.wiring.operators():
            operator.close()

    def discard(self) -> None:
        """Another takes the place of this one, with the same functions, which stay open."""
        for _, operator in self.wiring.operators():
            operator.discard()

    def metrics(self) -> dict[str, dict[str, int]]:
        """What the operators count and measure, by uid."""
        return self.wiring.metrics()

    # Sending

    def next_order(self) -> Order:
        return self._order.next_order()

    def send(self, target: Target, message: Message) -> None:
        self._out[target].append(message)

    # A batch

    def _join_expected(self) -> None:
        """Channels that a source expects are there from the beginning: while they are silent they can only go idle."""
        for node in self._plan.stage(self._stage):
            if isinstance(node, PlannedSource):
                for channel in node.source.expected_channels():
                    if self._is_mine(node, channel):
                        self.wiring.join_source(node, channel)

    def _is_mine(self, source: PlannedSource, channel: str) -> bool:
        if source.is_in_every_subtask:
            return self._index < source.parallelism
        return subtask_of_channel(source, channel) == self._index

    def _take(self, messages: Iterable[Message]) -> tuple[list[_Delivered], bool]:
        """Sort messages out: those to be delivered in order, and whether the input has ended."""
        delivered: list[_Delivered] = []
        columns: list[Records | Partials] = []
        has_ended = False
        self._columns = ColumnInput(self._plan, self.wiring)
        for message in messages:
            if isinstance(message, Element | Moved | Joined):
                delivered.append(message)
            elif isinstance(message, Summary):
                self._columns.take_summary(message)
            elif isinstance(message, Records | Partials):
                columns.append(message)
            elif isinstance(message, Ended):
                has_ended = True
            elif isinstance(message, Closing):
                self.closing_run = message.run_id
        for table in columns:
            self._columns.take(table)
        return sorted(interleaved(delivered, self._unordered_ports()), key=place_of), has_ended

    def _unordered_ports(self) -> set[Port]:
        """The sources whose channels are ordered only within themselves."""
        return {
            node.uid
            for node in self._plan.stage(self._stage)
            if isinstance(node, PlannedSource) and not node.source.ordered_across_channels
        }

    def _resume(self) -> bool:
        """Go on with what a stop interrupted: timers, then the messages that were not delivered."""
        for task in self.wiring.tasks.values():
            if not task.resume():
                return False
        waiting, self._undelivered = self._undelivered, []
        return self._deliver_all(waiting)

    def _deliver_all(self, messages: list[_Delivered]) -> bool:
        """Deliver messages in order; False if the job is being stopped and timers are left. What is left waits."""
        should_stop = self._surroundings.should_stop
        for position, message in enumerate(messages):
            self._order.at(message.order)
            self._deliver(message)
            if should_stop is not None and should_stop() and self._is_interrupted:
                self._undelivered = messages[position + 1 :]
                return False
        return True

    @property
    def _is_interrupted(self) -> bool:
        return any(task.is_interrupted for task in self.wiring.tasks.values())

    def _end_batch(self, *, waits_for_answers: bool) -> None:
        self._columns.deliver_elements(self._order)
        self._order.at((AFTER_RECORDS, ""))
        for _, operator in self.wiring.operators():
            operator.end_batch()
            if waits_for_answers:
                operator.drain()
        if self._is_probe_due():
            for _, operator in self.wiring.operators():
                operator.on_periodic_emit()

    def _prepare_commit(self) -> None:
        self._order.at((AFTER_RECORDS, ""))
        for _, operator in self.wiring.operators():
            operator.prepare_commit()

    def _is_probe_due(self) -> bool:
        """Whether the auto-watermark interval has passed, rounded up to the batch."""
        interval, now = self._plan.auto_watermark_interval, self._surroundings.clock()
        if interval <= 0:
            return False
        if self._probed_at is None or self._probed_at > now:
            self._probed_at = now
        is_due = self._plan.probes_every_batch or now - self._probed_at >= interval
        if is_due:
            self._probed_at = now
        return is_due

    def _end_input(self) -> None:
        for outputs in list(self.wiring.sources.values()):
            for output in list(outputs.values()):
                output.emit(Watermark.MAX)

    def _tell_others(self) -> None:
        """Report to the driver, and let the next stage look at the clock."""
        metrics = {uid: values for uid, values in self.metrics().items() if values}
        if metrics:
            self.send(Target(SINKS, self._index), Report(self._index, metrics))
        if self._plan.needs_clock and self._stage + 1 < self._plan.num_stages:
            self.send(Target(self._stage + 1, self._index), Tick())

    def _port_name(self, port: Port) -> EdgeName | str:
        """A port by what a changed program knows it by."""
        return self._plan.name_of(self._plan.edges[port]) if isinstance(port, int) else port

    def _at_port(self, name: EdgeName | str, message: _Delivered) -> _Delivered:
        if isinstance(name, str):
            return message
        edge = self._plan.edge_named(name)
        if edge is None:
            raise SnapshotError(
                f"the checkpoint holds records on their way to the operator {name[0]!r}, which the program no longer "
                "has; put it back, or start from a new checkpoint"
            )
        return message._replace(port=edge.number)

    # Messages

    def _deliver(self, message: _Delivered) -> None:
        node = self._reader(message.port)
        if isinstance(node, PlannedTask):
            self._deliver_to_task(node, message)
        elif isinstance(node, PlannedSource):
            output = self.wiring.join_source(node, message.channel)
            if isinstance(message, Element):
                output.collect(message.value, message.timestamp)
            elif isinstance(message, Moved):
                output.emit(message.progress)
        elif isinstance(node, PlannedLane):
            operator = self.wiring.join_lane(node, message.channel)
            if isinstance(message, Element):
                operator.process_element(message.value, message.timestamp)
            elif isinstance(message, Moved):
                operator.process_progress(message.progress)

    def _deliver_to_task(self, node: PlannedTask, message: _Delivered) -> None:
        assert isinstance(message.port, int)
        edge = self._plan.edges[message.port]
        task = self.wiring.tasks[node.number]
        if isinstance(message, Element):
            task.accept(edge.input_index)(message.key, message.value, message.timestamp)
        elif isinstance(message, Moved):
            task.move(edge.input_index, channel_name(edge, message.channel), message.progress)
        else:
            task.join(edge.input_index, channel_name(edge, message.channel))

    def _reader(self, port: Port) -> Planned:
        """Who reads what comes through a port."""
        if isinstance(port, int):
            return self._plan.target(self._plan.edges[port])
        node = self._plan.by_uid.get(port)
        if node is None:
            raise SnapshotError(
                f"the checkpoint holds records of the source {port!r}, which the program no longer has; put it back, "
                "or start from a new checkpoint"
            )
        return node
