"""Where an operator sends its elements: to the next operator of its chain, or to every channel behind a shuffle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus


class Receiver(Protocol):
    """What takes elements: an operator, one of its input channels, a sink, or a test."""

    def process_element(self, value: Any, timestamp: int | None) -> None: ...

    def process_watermark(self, watermark: Watermark) -> None: ...

    def process_status(self, status: WatermarkStatus) -> None: ...


@runtime_checkable
class TableReceiver(Receiver, Protocol):
    """What takes many records at once, as columns."""

    def process_table(self, table: Any) -> None: ...


class Output(ABC):
    """An operator's output, with its gauge and the gate of its status.

    While the announced status is idle no watermark passes, except `Watermark.MAX`: the end of a channel is announced
    by it, idle or not. A status is announced once per change. Records pass always, and do not change the status.
    """

    def __init__(self) -> None:
        self._status = WatermarkStatus.ACTIVE
        self._current_watermark = MIN_TIME
        self._last_sent = MIN_TIME

    @property
    def current_watermark(self) -> int:
        """Gauge: the watermark that time has reached here, MIN_TIME before any. It moves while the output is idle."""
        return self._current_watermark

    @property
    def status(self) -> WatermarkStatus:
        return self._status

    @abstractmethod
    def collect(self, value: Any, timestamp: int | None) -> None:
        """Send a record; `timestamp` is None if it has none."""

    def emit(self, progress: Progress) -> None:
        """Send a watermark or a status."""
        if isinstance(progress, Watermark):
            self.emit_watermark(progress)
        else:
            self.emit_status(progress)

    def emit_watermark(self, watermark: Watermark) -> None:
        self._current_watermark = watermark.timestamp
        if self._status is WatermarkStatus.IDLE and not watermark.is_end:
            return
        self._last_sent = watermark.timestamp
        for receiver in self._receivers():
            receiver.process_watermark(watermark)

    def emit_status(self, status: WatermarkStatus) -> None:
        if status is self._status:
            return
        self._status = status
        for receiver in self._receivers():
            receiver.process_status(status)

    def announce(self) -> None:
        """Say again how far time is: to readers that are new, or read from elsewhere now. Others know it."""
        if self._last_sent > MIN_TIME:
            for receiver in self._receivers():
                receiver.process_watermark(Watermark(self._last_sent))
        if self._status is WatermarkStatus.IDLE:
            for receiver in self._receivers():
                receiver.process_status(self._status)

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "output",
            2,
            status=self._status.value,
            current_watermark=self._current_watermark,
            last_sent=self._last_sent,
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "output", 2)
        self._status = WatermarkStatus(fields["status"])
        self._current_watermark = fields["current_watermark"]
        self._last_sent = fields["last_sent"]

    @abstractmethod
    def _receivers(self) -> Sequence[Receiver]: ...


class ChainedOutput(Output):
    """Hands everything directly to the next operator of the chain."""

    def __init__(self, receiver: Receiver) -> None:
        super().__init__()
        self._receiver = receiver

    def collect(self, value: Any, timestamp: int | None) -> None:
        self._receiver.process_element(value, timestamp)

    def _receivers(self) -> Sequence[Receiver]:
        return (self._receiver,)


class OperatorOutput(Output):
    """The output of an operator in a program: any number of consumers, of the main output and of each side output.

    Watermarks and statuses go to all of them. What goes to a side output that nobody consumes is dropped, as the
    program asked for.
    """

    def __init__(
        self, receivers: Sequence[Receiver] = (), sides: Mapping[str, Sequence[Receiver]] | None = None
    ) -> None:
        super().__init__()
        self._main = tuple(receivers)
        self._sides = {tag: tuple(targets) for tag, targets in (sides or {}).items()}
        self._everyone = (*self._main, *(target for targets in self._sides.values() for target in targets))
        if len(self._main) == 1:
            # The usual case, without a hop of its own.
            self.collect = self._main[0].process_element  # type: ignore[method-assign]

    def collect(self, value: Any, timestamp: int | None) -> None:
        for receiver in self._main:
            receiver.process_element(value, timestamp)

    def collect_table(self, table: Any, rows: Callable[[Any], Iterable[tuple[Any, int]]]) -> None:
        """Send many records at once, as columns to receivers that take them, as elements with their time to others."""
        for receiver in self._main:
            if isinstance(receiver, TableReceiver):
                receiver.process_table(table)
                continue
            for value, timestamp in rows(table):
                receiver.process_element(value, timestamp)

    def collect_side(self, tag_id: str, value: Any, timestamp: int | None) -> None:
        """Send a record to a side output."""
        for receiver in self._sides.get(tag_id, ()):
            receiver.process_element(value, timestamp)

    def _receivers(self) -> Sequence[Receiver]:
        return self._everyone


class TypedReceiver:
    """Checks every value against the declared output type on its way to a receiver."""

    def __init__(self, receiver: Receiver, output_type: Any, where: str) -> None:
        self._receive = receiver.process_element
        self._convert = output_type.convert
        self._where = where
        self.process_watermark = receiver.process_watermark
        self.process_status = receiver.process_status

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._receive(self._convert(value, self._where), timestamp)
