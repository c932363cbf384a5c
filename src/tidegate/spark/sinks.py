"""Sinks in the driver's process: each batch's results in order, and one watermark over all channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.columnar.columnar_operator import stamped_rows
from tidegate.core.columnar.pane_log import decode_table
from tidegate.core.operator.operator import OperatorContext
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.operator.sink import SinkSpec
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME, Clock
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.graph.nodes import ChainNode
from tidegate.graph.plan import Plan
from tidegate.spark.packing import METRICS_EDGE, Columns, Item, Order, unpack
from tidegate.spark.routing import channels_of, parse_edge


class DriverSinks:
    """All sinks of a job. Fed with the rows of one batch at a time.

    `job_id` names the job, the same after a restart; with the uid of a sink it names what the sink writes.
    """

    def __init__(self, plan: Plan, clock: Clock, job_id: str = "") -> None:
        self._sinks: dict[int, _Sink] = {}
        for node in plan.graph.nodes:
            if isinstance(node, ChainNode) and isinstance(node.spec, SinkSpec):
                self._sinks[node.number] = _Sink(node, plan, clock, job_id)
        self._metrics: dict[tuple[str, int], dict[str, int]] = {}
        self.current_order: Order = ()
        """The order of the item that a sink is being given."""

    def open(self) -> None:
        for sink in self._sinks.values():
            sink.operator.open()

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.operator.close()

    def write(self, payloads: list[bytes], batch_id: int) -> None:
        """Give a batch's items to their sinks, in the order of their causes, and commit the batch in each.

        After a crash the last batch comes again, maybe when some sinks had committed it and others had not.
        """
        for sink in self._sinks.values():
            sink.operator.begin_batch(batch_id)
        self._process(payloads)
        for sink in self._sinks.values():
            sink.operator.commit_batch(batch_id)

    def _process(self, payloads: list[bytes]) -> None:
        items = [item for payload in payloads for item in unpack(payload)]
        for item in sorted(items, key=lambda item: (item.order, item.channel)):
            if item.edge == METRICS_EDGE:
                subtask, metrics = item.value
                for uid, values in metrics.items():
                    self._metrics[(uid, subtask)] = values
            else:
                self.current_order = item.order
                number, _, position = parse_edge(item.edge)
                self._sinks[number].process(item, position)

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "sinks",
            1,
            sinks={sink.uid: sink.snapshot() for sink in self._sinks.values()},
            metrics=dict(self._metrics),
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "sinks", 1)
        self._metrics = dict(fields["metrics"])
        for sink in self._sinks.values():
            if sink.uid in fields["sinks"]:
                sink.restore(fields["sinks"][sink.uid])

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        found: dict[str, list[dict[str, int]]] = {}
        for uid, subtask in sorted(self._metrics):
            found.setdefault(uid, []).append(self._metrics[(uid, subtask)])
        return found

    def watermark(self, number: int) -> int:
        """The watermark that a sink has seen."""
        return self._sinks[number].last_watermark


class _Sink:
    """One sink with a valve over the channels that feed it."""

    def __init__(self, node: ChainNode, plan: Plan, clock: Clock, job_id: str) -> None:
        assert isinstance(node.spec, SinkSpec)
        self.uid = plan.graph.uid(node)
        self._node = node
        self.operator = node.spec.create()
        self.operator.has_batches = True
        self.operator.unique_id = f"{job_id}/{self.uid}" if job_id else ""
        self.operator.setup(OperatorContext(plan.graph.name(node), OperatorOutput(), clock))
        names = [f"{position}:{c}" for position, s in enumerate(node.streams) for c in channels_of(s.node, plan)]
        self._channels = {name: index for index, name in enumerate(names)}
        self._valve = StatusWatermarkValve(len(names))
        self.last_watermark = MIN_TIME

    def snapshot(self) -> Any:
        return [dict(self._channels), self._valve.snapshot(), self.last_watermark, self.operator.snapshot()]

    def restore(self, state: Any) -> None:
        channels, valve, self.last_watermark, operator = state
        self._channels = dict(channels)
        self._valve = StatusWatermarkValve.restore(valve)
        self.operator.restore(operator)

    def process(self, item: Item, position: int) -> None:
        progress: Any = item.progress
        if progress is None:
            self.operator.process_element(item.value, item.timestamp)
            return
        if isinstance(progress, Columns):
            make_row = self._node.streams[position].node.spec.function.make_row  # type: ignore[attr-defined]
            for row, timestamp in stamped_rows(decode_table(item.value), make_row):
                self.operator.process_element(row, timestamp)
            return
        name = f"{position}:{item.channel}"
        if name not in self._channels:
            self._channels[name], _ = self._valve.add_channel()
        if isinstance(progress, Watermark):
            emitted = self._valve.input_watermark(progress, self._channels[name])
        elif isinstance(progress, WatermarkStatus):
            emitted = self._valve.input_status(progress, self._channels[name])
        else:
            return
        for item_out in emitted:
            if isinstance(item_out, Watermark):
                self.last_watermark = item_out.timestamp
                self.operator.process_watermark(item_out)
