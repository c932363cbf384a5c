"""A task: one subtask of an operator behind its inputs, each with a valve over its channels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tidegate.core.operator.operator import Accept, Operator
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import Progress, Watermark, load_progress, save_progress
from tidegate.engine.channels import ChannelValve
from tidegate.errors import SnapshotError


class Task:
    """Turns what arrives on channels into what the operator sees: the valve first, then the combination of inputs.

    `channels` are the names of those that are expected, for each input; `possible` says which of those that a snapshot
    has there still are. If the operator is interrupted while it fires
    timers, what follows about time waits until `resume` has gone on with them.
    """

    def __init__(
        self,
        operator: Operator,
        channels: Sequence[Iterable[str]],
        possible: Sequence[Callable[[str], bool]] = (),
    ) -> None:
        self.operator = operator
        self._possible = possible
        self.valves = [ChannelValve(names) for names in channels]
        self.combined = CombinedWatermark(len(channels)) if len(channels) > 1 else None
        self._accepts: tuple[Accept, ...] = ()
        self._waiting: deque[Progress] = deque()
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

    def open(self) -> None:
        self.operator.open()
        self._accepts = self.operator.inputs()

    def accept(self, input_index: int) -> Accept:
        """What takes the elements of an input."""
        return self._accepts[input_index]

    def join(self, input_index: int, channel: str) -> None:
        """A channel of an input exists."""
        self._progress(self.valves[input_index].join(channel), input_index)

    def move(self, input_index: int, channel: str, progress: Progress) -> None:
        """A watermark or a status on a channel of an input."""
        self._progress(self.valves[input_index].move(channel, progress), input_index)

    @property
    def is_interrupted(self) -> bool:
        return self.operator.is_interrupted or bool(self._waiting)

    def resume(self) -> bool:
        """Go on with an advance that was interrupted, and with what waited for it; True when nothing is left."""
        if not self.operator.resume():
            return False
        while self._waiting:
            self.operator.process_progress(self._waiting.popleft())
            if self.operator.is_interrupted:
                return False
        return True

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "task",
            2,
            valves=[valve.snapshot() for valve in self.valves],
            combined=None if self.combined is None else self.combined.snapshot(),
            waiting=[save_progress(item) for item in self._waiting],
            operator=self.operator.snapshot(),
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "task", 2)
        if len(fields["valves"]) != len(self.valves):
            raise SnapshotError(
                f"{self.operator.name}: the snapshot has {len(fields['valves'])} inputs, "
                f"the operator has {len(self.valves)}: the program has changed"
            )
        if fields["combined"] is not None:
            self.combined = CombinedWatermark.restore(fields["combined"])
        self._waiting = deque(load_progress(saved) for saved in fields["waiting"])
        for index, saved in enumerate(fields["valves"]):
            self._wait(self.valves[index].restore(saved, *self._possible[index : index + 1]), index)
        self.operator.restore(fields["operator"])

    def _progress(self, items: list[Progress], input_index: int) -> None:
        if items:
            self._wait(items, input_index)
            self.resume()

    def _wait(self, items: list[Progress], input_index: int) -> None:
        """Let what a valve emitted wait for the operator."""
        for item in items:
            if self.combined is None:
                self._waiting.append(item)
            elif isinstance(item, Watermark):
                self._waiting += self.combined.input_watermark(item, input_index)
            else:
                self._waiting += self.combined.input_status(item, input_index)
