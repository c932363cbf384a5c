"""Watermark generators: what turns the timestamps of one channel into watermarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from tidegate.core.state.attributes import load_attributes, save_attributes
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME, add, subtract
from tidegate.core.watermark.records import Watermark


class WatermarkOutput(Protocol):
    """Where a generator sends what it knows about time."""

    def emit_watermark(self, watermark: Watermark) -> None:
        """Send a watermark; one that is not greater than the last is dropped. An idle channel turns active first."""

    def mark_idle(self) -> None:
        """Say that this channel holds nobody back until further notice."""

    def mark_active(self) -> None:
        """Say that this channel counts again."""


class WatermarkGenerator(ABC):
    """One channel's generator. Subclass it and pass the class to `WatermarkStrategy.for_generator`.

    `on_event` runs after its record went downstream, so a watermark emitted there follows the record (a punctuated
    generator). `on_periodic_emit` runs every auto-watermark interval and once more at the end (a periodic one).

    What the instance keeps in its attributes is saved and restored with the job; override `snapshot` and `restore`
    for anything that is not plain data.
    """

    @abstractmethod
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Look at a record that has just gone downstream."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit what is known by now."""

    def snapshot(self) -> Snapshot:
        return make_snapshot("generator", 1, attributes=save_attributes(self))

    def restore(self, snapshot: Snapshot) -> None:
        load_attributes(self, open_snapshot(snapshot, "generator", 1)["attributes"])


class HighestTimestampGenerator(WatermarkGenerator):
    """A generator that emits only when asked, and needs only the highest timestamp for it."""

    @abstractmethod
    def on_highest(self, timestamp: int) -> None:
        """Take any number of records into account, by the highest of their timestamps."""


class BoundedOutOfOrdernessWatermarks(HighestTimestampGenerator):
    """Periodically emits `max_timestamp - bound - 1`; before any event that is exactly `MIN_TIME`."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._max_timestamp = add(MIN_TIME, bound + 1)

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def on_highest(self, timestamp: int) -> None:
        self._max_timestamp = max(self._max_timestamp, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(subtract(self._max_timestamp, self._bound + 1)))

    def snapshot(self) -> Snapshot:
        return make_snapshot("bounded", 1, max_timestamp=self._max_timestamp)

    def restore(self, snapshot: Snapshot) -> None:
        # A restored job may run with another bound; below the start value of this bound lies only "nothing seen".
        self._max_timestamp = max(self._max_timestamp, open_snapshot(snapshot, "bounded", 1)["max_timestamp"])


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """Periodically emits `max_timestamp - 1`: equal timestamps may still follow, lower ones are late."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarksGenerator(HighestTimestampGenerator):
    """Emits nothing. The end of input still flows."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass

    def on_highest(self, timestamp: int) -> None:
        pass

    def snapshot(self) -> Snapshot:
        return make_snapshot("none", 1)

    def restore(self, snapshot: Snapshot) -> None:
        open_snapshot(snapshot, "none", 1)


class PerEventWatermarks(WatermarkGenerator):
    """Emits each record's own timestamp right after the record: the simplest punctuated generator."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass

    def snapshot(self) -> Snapshot:
        return make_snapshot("per_event", 1)

    def restore(self, snapshot: Snapshot) -> None:
        open_snapshot(snapshot, "per_event", 1)
