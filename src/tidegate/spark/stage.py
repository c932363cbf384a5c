"""One stage in one subtask: feeds the operators of the core with what a micro-batch brings.

Nothing here imports pyspark: a stage takes packets and a view onto state, and gives packets.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tidegate.core.columnar.pane_log import Blobs
from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.key.hashing import stable_hash
from tidegate.core.operator.metric_group import MetricGroup, together
from tidegate.core.operator.operator import ChainOperator, Operator, OperatorContext, TaskOperator
from tidegate.core.operator.outputs import OperatorOutput, Receiver, TypedReceiver
from tidegate.core.operator.sink import SinkSpec
from tidegate.core.operator.task import Task
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import SnapshotError
from tidegate.graph.nodes import ChainNode, Node, SourceNode, Stream, TaskNode
from tidegate.spark.entry_channels import EntryChannels
from tidegate.spark.packing import (
    AFTER_RECORDS,
    BEFORE_RECORDS,
    METRICS_EDGE,
    SINK_STAGE,
    Clock,
    Columns,
    End,
    Item,
    Join,
    Order,
    Summary,
    Tick,
    end_item,
    interleaved,
    tick_item,
)
from tidegate.spark.routing import (
    Exchange,
    Outbox,
    Reader,
    SinkOutbox,
    Target,
    ValveInput,
    edge_name,
    known_channels,
    parse_edge,
    readers_of,
    source_edge,
)
from tidegate.spark.stage_options import ENTRY_STAGE, TICK_MILLIS, StageOptions
from tidegate.spark.state_backend import BlobCache, BucketStore, PrefixedBlobs
from tidegate.spark.timer_buckets import TimerBuckets


class Stage:
    """The operators of one stage in one subtask, for one micro-batch."""

    def __init__(self, options: StageOptions, number: int, subtask: int, blobs: Blobs, tables: TableCache) -> None:
        self._options = options
        self._plan = options.plan
        self._number = number
        self._subtask = subtask
        self._blobs = blobs
        self._tables = tables
        self._cache = BlobCache(blobs)
        self._meta: dict[str, Any] = self._cache.load("meta", {})
        self._is_restart = self._meta.get("run_id") != options.run_id
        self._meta["run_id"] = options.run_id
        self._now = 0
        self._order: Order = (0, "")
        self._index = 0
        self._out: dict[Target, list[Item]] = defaultdict(list)
        self._stores: list[BucketStore | TimerBuckets] = []
        self._operators: dict[tuple[int, str], Operator] = {}
        self.tasks: dict[int, Task] = {}
        self._task_channels: dict[int, list[dict[str, int]]] = {}
        self._sources: dict[tuple[int, str], OperatorOutput] = {}
        self._entries = EntryChannels(self, options, number)
        self._nodes = {node.number: node for node in [*self._plan.stages[number].nodes, *self._entries.nodes]}
        self._by_uid = {self._plan.graph.uid(node): node for node in self._nodes.values()}
        self._readers = readers_of(self._plan)

    def process(self, items: list[Item], now: int) -> Iterator[tuple[Target, list[Item]]]:
        """One micro-batch: the clock, then what arrived in order, then what time asks for at the end."""
        clocks = [item.progress.now for item in items if isinstance(item.progress, Clock)]
        self._now = max(clocks, default=now)
        self.at((BEFORE_RECORDS, ""))
        self._start()
        for operator in list(self._operators.values()):
            operator.on_clock()
        for item in self._in_order(items):
            if not isinstance(item.progress, Clock | Tick | End):
                self.at(item.order)
                self._deliver(item)
        self._entries.deliver_rows()
        self.at((AFTER_RECORDS, ""))
        self._end_batch()
        if any(isinstance(item.progress, End) for item in items):
            self._end_input()
            if self._number < ENTRY_STAGE and self._options.entries:
                self.send(Target(ENTRY_STAGE, self._subtask), end_item())
        if self._options.needs_clock and self._number + 1 < len(self._plan.stages):
            self.send(Target(self._number + 1, self._subtask), tick_item())
        self._save()
        return iter(self._out.items())

    def _in_order(self, items: list[Item]) -> list[Item]:
        relative = {
            source_edge(uid)
            for uid, node in self._by_uid.items()
            if isinstance(node, SourceNode)
            and node.number not in self._entries
            and not getattr(node.source, "ordered_across_channels", True)
        }
        return sorted(interleaved(items, relative), key=lambda item: (item.order, item.channel))

    def _end_input(self) -> None:
        for output in list(self._sources.values()):
            output.emit(Watermark.MAX)

    # Building

    def _start(self) -> None:
        """Bring the operators back that are known by now; those of new channels follow with their first element.

        A channel that its source expects is there from the beginning: while it is silent it can only go idle.
        """
        for node in self._nodes.values():
            if isinstance(node, TaskNode) and self._subtask < self._plan.graph.parallelism[node.number]:
                self._create_task(node)
            elif isinstance(node, SourceNode):
                for channel in node.source.expected_channels():
                    is_mine = stable_hash(channel) % self._options.parallelism == self._subtask
                    if is_mine or node.number in self._entries:
                        self._join(node, channel)
        for uid, channel in list(self._meta.get("channels", ())):
            if uid in self._by_uid:
                self._open_channel(self._by_uid[uid], channel)

    def _create_task(self, node: TaskNode) -> None:
        graph = self._plan.graph
        name = f"{graph.uid(node)}/{self._subtask}"
        output = self._output(node, name)
        operator = self._entries.specs.get(node.number, node.spec).create()
        assert isinstance(operator, TaskOperator)
        meta = self._meta.setdefault(graph.uid(node), {})
        operator.setup(self._context(node, output, meta, graph.parallelism[node.number]))
        channels = meta.setdefault("channels", [known_channels(i, self._plan) for i in node.inputs])
        task = Task(operator, [len(names) for names in channels])
        if "state" in meta:
            task.restore(meta["state"])
        operator.open()
        self.tasks[node.number] = task
        self._task_channels[node.number] = channels
        self._operators[(node.number, name)] = operator

    def _context(self, node: Node, output: OperatorOutput, meta: dict[str, Any], parallelism: int) -> OperatorContext:
        uid = self._plan.graph.uid(node)
        store = BucketStore(self._cache, f"k/{uid}", meta.setdefault("k", {}))
        event = TimerBuckets(self._cache, f"e/{uid}", meta.setdefault("e", {}))
        processing = TimerBuckets(self._cache, f"p/{uid}", meta.setdefault("p", {}))
        self._stores += [store, event, processing]
        return OperatorContext(
            self._plan.graph.name(node),
            output,
            self._clock,
            subtask=self._subtask,
            parallelism=parallelism,
            metrics=MetricGroup(),
            store=store,
            event_timers=event,
            processing_timers=processing,
            blobs=PrefixedBlobs(self._blobs, f"w/{uid}/"),
            tables=self._tables,
            attempt=uuid.uuid4().hex,
            job_parameters=self._options.job_parameters,
            is_restart=self._is_restart,
        )

    def _clock(self) -> int:
        return self._now

    def _open_channel(self, node: Node, channel: str) -> None:
        """The instances of a source channel, or of a chain behind another stage, in this subtask."""
        if isinstance(node, SourceNode):
            if (node.number, channel) not in self._sources:
                output = self._sources[(node.number, channel)] = self._output(node, channel)
                saved = self._meta.get("sources", {}).get((self._plan.graph.uid(node), channel))
                if saved is not None:
                    output.restore(saved)
        elif isinstance(node, ChainNode):
            self._chain(node, channel)

    def _chain(self, node: ChainNode, channel: str) -> ChainOperator:
        known = self._operators.get((node.number, channel))
        if known is not None:
            assert isinstance(known, ChainOperator)
            return known
        operator = node.spec.create()
        assert isinstance(operator, ChainOperator)
        output = self._output(node, channel)
        operator.setup(
            OperatorContext(
                self._plan.graph.name(node),
                output,
                self._clock,
                subtask=self._subtask,
                parallelism=self._options.parallelism,
                job_parameters=self._options.job_parameters,
                channel=channel,
                is_restart=self._is_restart,
            )
        )
        saved = self._meta.get("chains", {}).get((self._plan.graph.uid(node), channel))
        if saved is not None:
            operator.restore(saved)
        operator.open()
        self._operators[(node.number, channel)] = operator
        return operator

    def _output(self, node: Node, channel: str) -> OperatorOutput:
        main: list[Receiver] = []
        sides: dict[str, list[Receiver]] = {}
        output_type = getattr(node, "output_type", None)
        for stream, receiver in self._receivers(node, channel):
            if stream.side is None:
                typed = output_type is not None and node.number not in self._entries.specs
                main.append(TypedReceiver(receiver, output_type, self._plan.graph.name(node)) if typed else receiver)
            else:
                sides.setdefault(stream.side, []).append(receiver)
        return OperatorOutput(main, sides)

    def _receivers(self, node: Node, channel: str) -> Iterator[tuple[Stream, Receiver]]:
        for reader, input_index, position, stream in self._readers[node.number]:
            edge = edge_name(reader, input_index, position)
            if isinstance(reader, ChainNode):
                if isinstance(reader.spec, SinkSpec):
                    yield stream, SinkOutbox(self, Target(SINK_STAGE, 0), edge, channel)
                elif reader.number in self._nodes:
                    yield stream, self._chain(reader, channel)
                else:
                    target = Target(self._plan.stage_of[reader.number], self._subtask)
                    yield stream, Outbox(self, target, edge, channel)
            elif isinstance(reader, TaskNode) and node.number in self._entries:
                yield stream, ValveInput(self, reader, input_index, position, channel)
            elif isinstance(reader, TaskNode):
                yield stream, Exchange(self, self._plan, reader, reader.inputs[input_index].partitioning, edge, channel)

    def operator(self, node: Node, channel: str) -> Operator:
        """The instance of a chain operator for a channel, which must be open."""
        return self._operators[(node.number, channel)]

    def readers(self, node: Node) -> list[Reader]:
        return self._readers[node.number]

    # Running

    def at(self, order: Order) -> None:
        self._order = order
        self._index = 0

    def _deliver(self, item: Item) -> None:
        if item.edge.startswith("@"):
            self._deliver_to_source(item)
            return
        number, input_index, position = parse_edge(item.edge)
        node = self._nodes[number]
        if isinstance(node, TaskNode):
            self._deliver_to_task(node, input_index, position, item)
            return
        assert isinstance(node, ChainNode)
        self._join(node, item.channel)
        operator = self._chain(node, item.channel)
        if item.progress is None:
            operator.process_element(item.value, item.timestamp)
        elif isinstance(item.progress, Watermark):
            operator.process_watermark(item.progress)
        elif isinstance(item.progress, WatermarkStatus):
            operator.process_status(item.progress)

    def _deliver_to_source(self, item: Item) -> None:
        node = self._by_uid.get(item.edge[1:])
        if node is None:
            raise SnapshotError(
                f"the checkpoint holds records of the source {item.edge[1:]!r}, which the program no longer has; "
                "put it back, or start from a new checkpoint"
            )
        self._join(node, item.channel)
        output = self._sources[(node.number, item.channel)]
        if isinstance(item.progress, Summary):
            self._entries.take_summary(node, item.channel, item.progress)
        elif item.progress is None:
            output.collect(item.value, item.timestamp)
        elif isinstance(item.progress, Watermark | WatermarkStatus):
            output.emit(item.progress)

    def _deliver_to_task(self, node: TaskNode, input_index: int, position: int, item: Item) -> None:
        task = self.tasks[node.number]
        if item.progress is None:
            task.operator.inputs()[input_index](item.key, item.value, item.timestamp)
        elif isinstance(item.progress, Columns):
            self._entries.take_columns(task.operator, node, item)
        else:
            self.deliver_progress(node, input_index, f"{position}:{item.channel}", item.progress)

    def deliver_progress(self, node: TaskNode, input_index: int, name: str, progress: Any) -> None:
        """Something about time on a channel of a task; its first sign lets the channel join."""
        task = self.tasks[node.number]
        channels = self._task_channels[node.number][input_index]
        if name not in channels:
            channels[name] = task.add_channel(input_index)
        if isinstance(progress, Watermark):
            task.process_watermark(progress, input_index, channels[name])
        elif isinstance(progress, WatermarkStatus):
            task.process_status(progress, input_index, channels[name])

    def _join(self, node: Node, channel: str) -> None:
        """The first sign of a channel: everybody behind it learns that it exists."""
        channels = self._meta.setdefault("channels", [])
        place = [self._plan.graph.uid(node), channel]
        if place in channels:
            return
        channels.append(place)
        self._open_channel(node, channel)
        if node.number in self._entries:
            self._entries.let_join(node, channel)
        elif isinstance(node, SourceNode):
            self.announce(node, channel)

    def announce(self, node: Node, channel: str) -> None:
        for reader, input_index, position, _ in self._readers[node.number]:
            edge = edge_name(reader, input_index, position)
            if isinstance(reader, TaskNode):
                for subtask in range(self._plan.graph.parallelism[reader.number]):
                    target = Target(self._plan.stage_of[reader.number], subtask)
                    self.send(target, Item(self.next_order(), edge, channel, progress=Join()))
            elif isinstance(reader, ChainNode) and not isinstance(reader.spec, SinkSpec):
                self.announce(reader, channel)

    def _end_batch(self) -> None:
        for operator in list(self._operators.values()):
            operator.drain()
        if self._is_probe_due():
            self._meta["probed_at"] = self._now
            for operator in list(self._operators.values()):
                operator.on_periodic_emit()
        metrics = {uid: values for uid, values in self.metrics().items() if values}
        if metrics:
            item = Item(self.next_order(), METRICS_EDGE, "", value=(self._subtask, metrics))
            self.send(Target(SINK_STAGE, self._subtask), item)

    def _is_probe_due(self) -> bool:
        """The auto-watermark interval, rounded up to the batch; only one longer than a tick can be missed."""
        interval = self._options.auto_watermark_interval
        if interval <= 0:
            return False
        last = self._meta.get("probed_at")
        return last is None or interval <= TICK_MILLIS or self._now - last >= interval

    def _save(self) -> None:
        chains = self._meta.setdefault("chains", {})
        for (number, channel), operator in self._operators.items():
            uid = self._plan.graph.uids[number]
            if isinstance(operator, TaskOperator):
                self._meta[uid]["state"] = self.tasks[number].snapshot()
            else:
                chains[(uid, channel)] = operator.snapshot()
            operator.close()
        for store in self._stores:
            store.finish()
        self._meta["sources"] = {
            (self._plan.graph.uids[number], channel): output.snapshot()
            for (number, channel), output in self._sources.items()
        }
        self._cache.replace("meta", self._meta)
        self._cache.flush()

    def metrics(self) -> dict[str, dict[str, int]]:
        """The metrics of each operator of this subtask by uid."""
        return together(
            (self._plan.graph.uids[number], operator.context.metrics)
            for (number, _), operator in self._operators.items()
        )

    # Sending

    def next_order(self) -> Order:
        self._index += 1
        return (*self._order, self._index)

    def send(self, target: Target, item: Item) -> None:
        self._out[target].append(item)
