from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError, UnknownChannelError

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


def combined_at(*watermarks: int, rules: Any = "fixed") -> CombinedWatermark:
    """A combination whose inputs have these watermarks."""
    combined = CombinedWatermark(len(watermarks), rules=rules)
    for index, watermark in enumerate(watermarks):
        combined.input_watermark(watermark, index)
    return combined


def test_valve_and_combination_differ_when_a_slower_channel_returns() -> None:
    def run(machine: StatusWatermarkValve | CombinedWatermark) -> list[Progress]:
        emitted = machine.input_watermark(10, 0) + machine.input_watermark(20, 1)
        emitted += machine.input_status(IDLE, 0)
        emitted += machine.input_status(ACTIVE, 0)
        emitted += machine.input_watermark(30, 1)
        emitted += machine.input_watermark(15, 0)
        emitted += machine.input_watermark(40, 1)
        emitted += machine.input_watermark(35, 0)
        return emitted

    left_out_until_it_catches_up = [Watermark(10), Watermark(20), Watermark(30), Watermark(40)]
    counts_at_once = [Watermark(10), Watermark(20), Watermark(35)]
    assert run(StatusWatermarkValve(2)) == left_out_until_it_catches_up
    assert run(CombinedWatermark(2)) == counts_at_once


def test_the_last_output_starts_at_the_lowest_time() -> None:
    assert CombinedWatermark(2).last_output == MIN_TIME


def test_the_last_output_is_the_minimum_of_the_inputs() -> None:
    assert combined_at(8, 5).last_output == 5


def test_the_slowest_input_decides() -> None:
    combined = CombinedWatermark(2)
    assert combined.input_watermark(8, 0) == []
    assert combined.input_watermark(Watermark(5), 1) == [Watermark(5)]
    assert combined.input_watermark(9, 1) == [Watermark(8)]


@pytest.mark.parametrize("watermark", [10, 9, MIN_TIME])
def test_a_watermark_that_is_not_higher_than_its_inputs_is_ignored(watermark: int) -> None:
    assert combined_at(10).input_watermark(watermark, 0) == []


def test_the_slowest_input_going_idle_releases_the_next() -> None:
    assert combined_at(10, 20, 30).input_status(IDLE, 0) == [Watermark(20)]


def test_an_input_that_returns_holds_the_output_until_it_catches_up() -> None:
    combined = combined_at(10, 20)
    combined.input_status(IDLE, 0)
    assert combined.input_status(ACTIVE, 0) == []
    assert combined.input_watermark(30, 1) == []
    assert combined.input_watermark(20, 0) == []
    assert combined.input_watermark(25, 0) == [Watermark(25)]


def test_a_watermark_on_an_idle_input_makes_it_active() -> None:
    combined = combined_at(10, 20)
    combined.input_status(IDLE, 0)
    assert combined.input_watermark(12, 0) == []
    assert combined.input_watermark(30, 1) == []
    assert combined.input_watermark(25, 0) == [Watermark(25)]


def test_a_watermark_on_an_idle_combination_announces_active_first() -> None:
    combined = combined_at(10)
    combined.input_status(IDLE, 0)
    assert combined.input_watermark(11, 0) == [ACTIVE, Watermark(11)]


def test_a_watermark_that_is_not_higher_makes_an_idle_input_active_all_the_same() -> None:
    combined = combined_at(10)
    combined.input_status(IDLE, 0)
    assert combined.input_watermark(10, 0) == [ACTIVE]


def test_the_same_status_again_does_nothing() -> None:
    combined = combined_at(10, 20)
    assert combined.input_status(ACTIVE, 0) == []
    combined.input_status(IDLE, 1)
    assert combined.input_status(IDLE, 1) == []


def test_when_all_inputs_are_idle_the_maximum_comes_before_the_status() -> None:
    combined = combined_at(10, 30)
    combined.input_status(IDLE, 1)
    assert combined.input_status(IDLE, 0) == [Watermark(30), IDLE]
    assert combined.is_idle


def test_an_input_that_returns_has_to_pass_what_was_flushed() -> None:
    combined = combined_at(10, 30)
    combined.input_status(IDLE, 1)
    combined.input_status(IDLE, 0)
    assert combined.input_status(ACTIVE, 0) == [ACTIVE]
    assert combined.input_watermark(30, 0) == []
    assert combined.input_watermark(31, 0) == [Watermark(31)]


def test_the_end_comes_out_when_every_input_has_ended() -> None:
    combined = combined_at(10, 20)
    assert combined.input_watermark(MAX_TIME, 0) == [Watermark(20)]
    assert combined.input_watermark(MAX_TIME, 1) == [Watermark.MAX]
    assert combined.input_watermark(MAX_TIME, 1) == []


def test_an_ended_input_is_not_flushed_when_the_rest_go_idle() -> None:
    combined = combined_at(5, MAX_TIME)
    assert combined.input_status(IDLE, 0) == [IDLE]
    assert combined.input_status(ACTIVE, 0) == [ACTIVE]


def test_in_flink_an_ended_input_drags_the_output_to_the_end_when_the_rest_go_idle() -> None:
    assert combined_at(5, MAX_TIME, rules="flink-2.3").input_status(IDLE, 0) == [Watermark.MAX]


def test_in_flink_an_ended_input_is_flushed_when_all_are_idle() -> None:
    combined = combined_at(5, MAX_TIME, rules="flink-2.3")
    assert combined.input_status(IDLE, 1) == []
    assert combined.input_status(IDLE, 0) == [Watermark.MAX, IDLE]


def test_in_flink_an_input_that_ends_alone_among_idle_ones_ends_everything() -> None:
    combined = combined_at(5, 6, rules="flink-2.3")
    combined.input_status(IDLE, 0)
    assert combined.input_watermark(MAX_TIME, 1) == [Watermark.MAX]


def test_the_last_active_input_ending_flushes_the_idle_ones() -> None:
    combined = combined_at(5, 30)
    combined.input_status(IDLE, 1)
    assert combined.input_watermark(MAX_TIME, 0) == [Watermark(30), IDLE]


def test_an_idle_input_can_end_and_wakes_nobody() -> None:
    combined = combined_at(5, 9)
    combined.input_status(IDLE, 0)
    combined.input_status(IDLE, 1)
    assert combined.input_watermark(MAX_TIME, 0) == []
    assert combined.input_watermark(MAX_TIME, 1) == [ACTIVE, Watermark.MAX]


@pytest.mark.parametrize("status", [IDLE, ACTIVE])
def test_statuses_of_an_ended_input_are_ignored(status: WatermarkStatus) -> None:
    assert combined_at(5, MAX_TIME).input_status(status, 1) == []


def test_a_restored_combination_goes_on_where_the_other_was() -> None:
    combined = combined_at(10, 20, MAX_TIME)
    combined.input_status(IDLE, 0)
    restored = CombinedWatermark.restore(json.loads(json.dumps(combined.snapshot())))
    assert restored.last_output == 20
    assert restored.input_watermark(21, 1) == [Watermark(21)]
    assert restored.input_status(IDLE, 1) == [IDLE]


def test_a_snapshot_of_something_else_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'combined', got one of 'valve'"):
        CombinedWatermark.restore({"kind": "valve", "version": 1})


@pytest.mark.parametrize("index", [2, -1, None, "a"])
def test_an_input_out_of_range_is_refused(index: Any) -> None:
    combined = combined_at(10, 20)
    message = re.escape(f"there is no input {index!r}; inputs are 0 to 1")
    with pytest.raises(UnknownChannelError, match=message):
        combined.input_watermark(30, index)
    with pytest.raises(UnknownChannelError, match=message):
        combined.input_status(IDLE, index)
    assert combined.last_output == 10


@pytest.mark.parametrize("watermark", [1.5, "5", None, True])
def test_a_watermark_that_is_no_integer_is_refused(watermark: Any) -> None:
    with pytest.raises(InvalidTypeError, match="watermark: a timestamp is an integer in milliseconds, got"):
        CombinedWatermark(1).input_watermark(watermark, 0)


@pytest.mark.parametrize("status", ["idle", True, None])
def test_a_status_that_is_none_is_refused(status: Any) -> None:
    with pytest.raises(InvalidTypeError, match=f"input_status takes a WatermarkStatus, got {status!r}"):
        CombinedWatermark(1).input_status(status, 0)


@pytest.mark.parametrize("inputs", [0, -1, 1.0, None, True])
def test_a_number_of_inputs_that_is_none_is_refused(inputs: Any) -> None:
    message = f"a combination takes a number of inputs of 1 or more, got {inputs!r}"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        CombinedWatermark(inputs)


def test_unknown_rules_are_refused() -> None:
    rules: Any = "flink"
    with pytest.raises(InvalidValueError, match=r"rules must be one of fixed, flink-2\.3, got 'flink'"):
        CombinedWatermark(1, rules=rules)
