from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.emitter import WatermarkEmitter
from tidegate.core.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    PerEventWatermarks,
    WatermarkGenerator,
    WatermarkOutput,
)
from tidegate.core.watermark.records import Progress, Watermark
from tidegate.errors import SnapshotError


class Emitted:
    """A `WatermarkOutput` that keeps what it gets, also what is not higher."""

    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        self.watermarks.append(watermark.timestamp)

    def mark_idle(self) -> None:
        raise AssertionError("no built-in generator marks its channel idle")

    def mark_active(self) -> None:
        raise AssertionError("no built-in generator marks its channel active")


@pytest.fixture
def emitted() -> Emitted:
    return Emitted()


@pytest.mark.parametrize("bound", [0, 1, 10, MAX_TIME - 1, MAX_TIME])
def test_bounded_starts_so_that_its_first_emission_is_exactly_the_lowest_time(bound: int, emitted: Emitted) -> None:
    BoundedOutOfOrdernessWatermarks(bound).on_periodic_emit(emitted)
    assert emitted.watermarks == [MIN_TIME]


def test_bounded_emits_the_highest_timestamp_less_the_bound_less_one_and_only_when_asked(emitted: Emitted) -> None:
    generator = BoundedOutOfOrdernessWatermarks(10)
    generator.on_event("a", 100, emitted)
    generator.on_event("b", 70, emitted)
    assert emitted.watermarks == []
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == [89]


@pytest.mark.parametrize("timestamp", [MIN_TIME, MIN_TIME + 1, MIN_TIME + 11])
def test_bounded_does_not_underflow_near_the_lowest_time(timestamp: int, emitted: Emitted) -> None:
    generator = BoundedOutOfOrdernessWatermarks(10)
    generator.on_event("a", timestamp, emitted)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == [MIN_TIME]


def test_ascending_emits_one_less_than_the_highest_timestamp(emitted: Emitted) -> None:
    generator = AscendingTimestampsWatermarks()
    generator.on_event("a", MAX_TIME, emitted)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == [MAX_TIME - 1]


def test_no_watermarks_is_silent(emitted: Emitted) -> None:
    generator = NoWatermarksGenerator()
    generator.on_event("a", 5, emitted)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == []


def test_per_event_emits_each_timestamp_and_nothing_when_asked(emitted: Emitted) -> None:
    generator = PerEventWatermarks()
    generator.on_event("a", 5, emitted)
    generator.on_event("b", 3, emitted)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == [5, 3]


def test_the_highest_timestamp_of_many_records_moves_the_bounded_watermark_and_a_lower_one_does_not(
    emitted: Emitted,
) -> None:
    generator = BoundedOutOfOrdernessWatermarks(10)
    generator.on_highest(100)
    generator.on_highest(70)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == [89]


def test_no_watermarks_is_silent_about_the_highest_timestamp_too(emitted: Emitted) -> None:
    generator = NoWatermarksGenerator()
    generator.on_highest(5)
    generator.on_periodic_emit(emitted)
    assert emitted.watermarks == []


@pytest.mark.parametrize(
    ("generator", "fresh"),
    [
        (BoundedOutOfOrdernessWatermarks(10), BoundedOutOfOrdernessWatermarks(10)),
        (AscendingTimestampsWatermarks(), AscendingTimestampsWatermarks()),
        (NoWatermarksGenerator(), NoWatermarksGenerator()),
        (PerEventWatermarks(), PerEventWatermarks()),
    ],
)
def test_a_restored_generator_goes_on_where_the_other_was(
    generator: WatermarkGenerator, fresh: WatermarkGenerator, emitted: Emitted
) -> None:
    generator.on_event("a", 100, Emitted())
    fresh.restore(json.loads(json.dumps(generator.snapshot())))
    expected = Emitted()
    generator.on_periodic_emit(expected)
    fresh.on_periodic_emit(emitted)
    assert emitted.watermarks == expected.watermarks


def test_a_job_may_be_restored_with_another_bound(emitted: Emitted) -> None:
    before = BoundedOutOfOrdernessWatermarks(10)
    before.on_event("a", 100, Emitted())
    after = BoundedOutOfOrdernessWatermarks(30)
    after.restore(before.snapshot())
    after.on_periodic_emit(emitted)
    assert emitted.watermarks == [69]


def test_a_wider_bound_before_any_event_still_starts_at_the_lowest_time(emitted: Emitted) -> None:
    after = BoundedOutOfOrdernessWatermarks(30)
    after.restore(BoundedOutOfOrdernessWatermarks(10).snapshot())
    after.on_periodic_emit(emitted)
    assert emitted.watermarks == [MIN_TIME]


def test_a_snapshot_of_another_generator_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'bounded', got one of 'per_event'"):
        BoundedOutOfOrdernessWatermarks(10).restore(PerEventWatermarks().snapshot())


class EverySecond(WatermarkGenerator):
    """Punctuated by a count that it has to remember."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.seen.append(timestamp)
        if len(self.seen) == 2:
            output.emit_watermark(Watermark(max(self.seen)))
            self.seen.clear()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@dataclass(slots=True)
class WithSlots(WatermarkGenerator):
    """A user's generator in the style of this very project."""

    highest: int = MIN_TIME

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.highest))


def test_attributes_of_a_users_generator_are_saved_and_restored(emitted: Emitted) -> None:
    before, after = EverySecond(), EverySecond()
    before.on_event("a", 7, emitted)
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.on_event("b", 5, emitted)
    assert emitted.watermarks == [7]


def test_a_snapshot_does_not_change_when_its_generator_goes_on() -> None:
    generator = EverySecond()
    generator.on_event("a", 7, Emitted())
    snapshot = generator.snapshot()
    generator.on_event("b", 5, Emitted())
    assert snapshot["attributes"] == {"seen": [7]}


def test_a_restored_generator_does_not_share_state_with_the_snapshot() -> None:
    before, after = EverySecond(), EverySecond()
    before.on_event("a", 7, Emitted())
    snapshot = before.snapshot()
    after.restore(snapshot)
    after.on_event("b", 5, Emitted())
    assert snapshot["attributes"] == {"seen": [7]}


def test_slots_of_a_users_generator_are_saved_and_restored(emitted: Emitted) -> None:
    before, after = WithSlots(), WithSlots()
    before.on_event("a", 7, Emitted())
    after.restore(before.snapshot())
    after.on_periodic_emit(emitted)
    assert emitted.watermarks == [7]


@dataclass(frozen=True)
class Frozen(WatermarkGenerator):
    """A generator that only has settings, as a value."""

    marker: str = "end"

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event == self.marker:
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@dataclass(frozen=True, slots=True)
class FrozenWithSlots(Frozen):
    pass


@pytest.mark.parametrize("kind", [Frozen, FrozenWithSlots])
def test_a_generator_that_is_a_frozen_value_can_be_restored(kind: type[Frozen], emitted: Emitted) -> None:
    before, after = kind("stop"), kind("stop")
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.on_event("stop", 5, emitted)
    assert emitted.watermarks == [5]


def test_the_emitter_is_an_output_for_generators() -> None:
    sent: list[Progress] = []
    output: WatermarkOutput = WatermarkEmitter(sent.append)
    generator = PerEventWatermarks()
    for timestamp in (5, 3, 6):
        generator.on_event("a", timestamp, output)
    assert sent == [Watermark(5), Watermark(6)]
