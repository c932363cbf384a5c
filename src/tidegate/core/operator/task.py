"""A task: one subtask of an operator behind its inputs, each with a valve over its channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tidegate.core.operator.operator import TaskOperator
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.errors import SnapshotError


class Task:
    """Turns what arrives on channels into what the operator sees: the valve first, then the combination of inputs."""

    def __init__(self, operator: TaskOperator, channels: Sequence[int]) -> None:
        self.operator = operator
        self.valves = [StatusWatermarkValve(count) for count in channels]
        self.combined = CombinedWatermark(len(channels)) if len(channels) > 1 else None
        metrics = operator.context.metrics
        metrics.gauge("current_input_watermark", lambda: self.current_input_watermark)
        if len(channels) > 1:
            for index in range(len(channels)):
                metrics.gauge(f"current_input{index + 1}_watermark", partial(self._input_watermark, index))

    @property
    def current_input_watermark(self) -> int:
        """Gauge: the watermark that the operator has seen."""
        return self.valves[0].last_output if self.combined is None else self.combined.last_output

    def _input_watermark(self, index: int) -> int:
        return self.valves[index].last_output

    def process_watermark(self, watermark: Watermark, input_index: int, channel: int) -> None:
        self._progress(self.valves[input_index].input_watermark(watermark, channel), input_index)

    def process_status(self, status: WatermarkStatus, input_index: int, channel: int) -> None:
        self._progress(self.valves[input_index].input_status(status, channel), input_index)

    def add_channel(self, input_index: int) -> int:
        """A channel joins an input at run time; its index there."""
        index, emitted = self.valves[input_index].add_channel()
        self._progress(emitted, input_index)
        return index

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "gate",
            1,
            valves=[valve.snapshot() for valve in self.valves],
            combined=None if self.combined is None else self.combined.snapshot(),
            operator=self.operator.snapshot(),
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "gate", 1)
        if len(fields["valves"]) != len(self.valves):
            raise SnapshotError(
                f"{self.operator.name}: the snapshot has {len(fields['valves'])} inputs, "
                f"the operator has {len(self.valves)}: the program has changed"
            )
        self.valves = [StatusWatermarkValve.restore(valve) for valve in fields["valves"]]
        if fields["combined"] is not None:
            self.combined = CombinedWatermark.restore(fields["combined"])
        self.operator.restore(fields["operator"])

    def _progress(self, items: list[Progress], input_index: int) -> None:
        for item in items:
            if self.combined is None:
                self._advance(item)
            elif isinstance(item, Watermark):
                for combined in self.combined.input_watermark(item, input_index):
                    self._advance(combined)
            else:
                for combined in self.combined.input_status(item, input_index):
                    self._advance(combined)

    def _advance(self, item: Progress) -> None:
        if isinstance(item, Watermark):
            self.operator.process_watermark(item)
        else:
            self.operator.process_status(item)
