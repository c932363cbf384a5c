"""Watermark generators: what turns the timestamps of one channel into watermarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.core.state.attributes import load_attributes, save_attributes
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME, add, subtract
from tidegate.core.watermark.records import Watermark

Timestamps = NDArray[np.int64]
"""A column of timestamps in milliseconds, in the order of the records."""


class WatermarkOutput(Protocol):
    """Where a generator sends what it knows about time."""

    def emit_watermark(self, watermark: Watermark) -> None:
        """Send a watermark; one that is not greater than the last is dropped. An idle channel turns active first."""

    def mark_idle(self) -> None:
        """Say that this channel holds nobody back until further notice."""

    def mark_active(self) -> None:
        """Say that this channel counts again."""


class Emissions(NamedTuple):
    """Watermarks made inside a column: `watermarks[i]` follows the record at `positions[i]`."""

    positions: NDArray[np.int64]
    watermarks: Timestamps


NO_EMISSIONS = Emissions(np.empty(0, np.int64), np.empty(0, np.int64))


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


class TimestampGenerator(WatermarkGenerator):
    """A generator that needs only the timestamps, so that it can take a whole column at once."""

    @abstractmethod
    def on_timestamps(self, timestamps: Timestamps) -> Emissions:
        """What `on_event` would have emitted, had each timestamp been given to it in turn.

        Watermarks that are not higher than an earlier one of the column may be left out.
        """


class BoundedOutOfOrdernessWatermarks(TimestampGenerator):
    """Periodically emits `max_timestamp - bound - 1`; before any event that is exactly `MIN_TIME`."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._max_timestamp = add(MIN_TIME, bound + 1)

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def on_timestamps(self, timestamps: Timestamps) -> Emissions:
        if timestamps.size:
            self._max_timestamp = max(self._max_timestamp, int(timestamps.max()))
        return NO_EMISSIONS

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


class NoWatermarksGenerator(TimestampGenerator):
    """Emits nothing. The end of input still flows."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass

    def on_timestamps(self, timestamps: Timestamps) -> Emissions:
        return NO_EMISSIONS

    def snapshot(self) -> Snapshot:
        return make_snapshot("none", 1)

    def restore(self, snapshot: Snapshot) -> None:
        open_snapshot(snapshot, "none", 1)


class PerEventWatermarks(TimestampGenerator):
    """Emits each record's own timestamp right after the record: the simplest punctuated generator."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass

    def on_timestamps(self, timestamps: Timestamps) -> Emissions:
        if not timestamps.size:
            return NO_EMISSIONS
        highest = np.maximum.accumulate(timestamps)
        rises = np.ones(len(highest), np.bool_)
        rises[1:] = highest[1:] > highest[:-1]
        positions = np.flatnonzero(rises)
        return Emissions(positions, highest[positions])

    def snapshot(self) -> Snapshot:
        return make_snapshot("per_event", 1)

    def restore(self, snapshot: Snapshot) -> None:
        open_snapshot(snapshot, "per_event", 1)
