"""The assigners of older Flink programs, as adapters onto the generator interface.

They give a timestamp and a watermark from one object, so one copy of that object serves each channel as both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tidegate.core.state.attributes import load_attributes, save_attributes
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.duration import DurationLike, non_negative_millis
from tidegate.core.time.millis import MIN_TIME, add, check_timestamp, subtract
from tidegate.core.watermark.generators import WatermarkGenerator, WatermarkOutput
from tidegate.core.watermark.records import Watermark
from tidegate.core.watermark.timestamps import TimestampAssigner
from tidegate.errors import InvalidTypeError


class AssignerWithPeriodicWatermarks(TimestampAssigner):
    """Extracts timestamps, and is asked for the current watermark every auto-watermark interval."""

    @abstractmethod
    def get_current_watermark(self) -> Watermark | int | None:
        """The watermark as known by now, or None for no news."""


class AssignerWithPunctuatedWatermarks(TimestampAssigner):
    """Extracts timestamps, and is asked after each record whether a watermark follows it."""

    @abstractmethod
    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark | int | None:
        """The watermark that follows this record, or None."""


class BoundedOutOfOrdernessTimestampExtractor(AssignerWithPeriodicWatermarks):
    """Emits `max_timestamp - bound`, without the -1 of today's bounded strategy. Subclass and write `extract`."""

    def __init__(self, max_out_of_orderness: DurationLike) -> None:
        self._bound = non_negative_millis(max_out_of_orderness, "BoundedOutOfOrdernessTimestampExtractor: bound")
        self._max_timestamp = add(MIN_TIME, self._bound)

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The timestamp of the element in milliseconds."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        timestamp = check_timestamp(self.extract(value), f"{type(self).__name__}.extract of {value!r}")
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        return timestamp

    def get_current_watermark(self) -> Watermark:
        return Watermark(subtract(self._max_timestamp, self._bound))


class LegacyGenerator(WatermarkGenerator, ABC):
    """Adapter: `assigner` is this channel's own copy, and also its timestamp assigner."""

    def __init__(self, assigner: TimestampAssigner) -> None:
        self.assigner = assigner

    def snapshot(self) -> Snapshot:
        return make_snapshot("legacy", 1, attributes=save_attributes(self.assigner))

    def restore(self, snapshot: Snapshot) -> None:
        load_attributes(self.assigner, open_snapshot(snapshot, "legacy", 1)["attributes"])


class PeriodicAdapter(LegacyGenerator):
    assigner: AssignerWithPeriodicWatermarks

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        _emit(self.assigner.get_current_watermark(), output, "get_current_watermark")


class PunctuatedAdapter(LegacyGenerator):
    assigner: AssignerWithPunctuatedWatermarks

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        watermark = self.assigner.check_and_get_next_watermark(event, timestamp)
        _emit(watermark, output, "check_and_get_next_watermark")

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def _emit(watermark: Watermark | int | None, output: WatermarkOutput, method: str) -> None:
    if watermark is None:
        return
    if isinstance(watermark, int) and not isinstance(watermark, bool):
        watermark = Watermark(watermark)
    if not isinstance(watermark, Watermark):
        raise InvalidTypeError(f"{method} must return a Watermark, an integer or None, got {watermark!r}")
    output.emit_watermark(watermark)
