from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError, UnknownChannelError

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


def valve_at(*watermarks: int, rules: Any = "fixed") -> StatusWatermarkValve:
    """A valve whose channels have these watermarks."""
    valve = StatusWatermarkValve(len(watermarks), rules=rules)
    for channel, watermark in enumerate(watermarks):
        valve.input_watermark(watermark, channel)
    return valve


def test_before_any_watermark_the_output_is_the_lowest_time() -> None:
    assert StatusWatermarkValve(2).last_output == MIN_TIME


def test_nothing_comes_out_until_every_channel_has_spoken() -> None:
    valve = StatusWatermarkValve(2)
    assert valve.input_watermark(25, 0) == []
    assert valve.input_watermark(10, 1) == [Watermark(10)]


def test_the_slowest_channel_decides() -> None:
    valve = valve_at(10, 20)
    assert valve.input_watermark(30, 1) == []
    assert valve.input_watermark(15, 0) == [Watermark(15)]


@pytest.mark.parametrize("watermark", [10, 9, MIN_TIME])
def test_a_watermark_that_is_not_higher_than_its_channels_is_ignored(watermark: int) -> None:
    assert valve_at(10).input_watermark(watermark, 0) == []


def test_a_watermark_object_is_as_good_as_its_number() -> None:
    assert StatusWatermarkValve(1).input_watermark(Watermark(5), 0) == [Watermark(5)]


def test_the_slowest_channel_going_idle_releases_the_next() -> None:
    assert valve_at(10, 20, 30).input_status(IDLE, 0) == [Watermark(20)]


def test_a_faster_channel_going_idle_releases_nothing() -> None:
    assert valve_at(10, 20).input_status(IDLE, 1) == []


def test_the_same_status_again_does_nothing() -> None:
    valve = valve_at(10, 20)
    assert valve.input_status(ACTIVE, 0) == []
    valve.input_status(IDLE, 1)
    assert valve.input_status(IDLE, 1) == []


def test_when_the_last_channel_goes_idle_the_highest_watermark_is_flushed_before_the_status() -> None:
    valve = valve_at(10, 30, 20)
    valve.input_status(IDLE, 1)
    assert valve.input_status(IDLE, 0) == [Watermark(20)]
    assert valve.input_status(IDLE, 2) == [Watermark(30), IDLE]
    assert valve.is_idle


def test_an_idle_valve_ignores_watermarks() -> None:
    valve = valve_at(10)
    valve.input_status(IDLE, 0)
    assert valve.input_watermark(50, 0) == []
    assert valve.input_status(ACTIVE, 0) == [ACTIVE]
    assert valve.input_watermark(11, 0) == [Watermark(11)]


def test_an_idle_channel_ignores_watermarks() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 0)
    assert valve.input_watermark(50, 0) == []
    assert valve.channels[0].watermark == 10


def test_resumed_channel_waits_until_it_catches_up() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 0)
    assert valve.input_status(ACTIVE, 0) == []
    assert valve.input_watermark(15, 0) == []
    assert valve.input_watermark(30, 1) == [Watermark(30)]
    assert valve.input_watermark(40, 0) == []
    assert valve.input_watermark(50, 1) == [Watermark(40)]


def test_reaching_the_last_output_is_enough_to_count_again() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 0)
    valve.input_status(ACTIVE, 0)
    assert valve.input_watermark(20, 0) == []
    assert valve.input_watermark(30, 1) == []


def test_resumed_channel_ahead_of_the_output_counts_at_once() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 1)
    valve.input_status(ACTIVE, 1)
    assert valve.input_watermark(30, 0) == [Watermark(20)]


def test_while_every_active_channel_is_behind_nothing_comes_out() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 0)
    valve.input_status(ACTIVE, 0)
    assert valve.input_status(IDLE, 1) == []
    assert valve.input_watermark(15, 0) == []
    assert valve.input_watermark(21, 0) == [Watermark(21)]


def test_the_maximum_is_flushed_although_the_last_channel_to_go_idle_was_behind() -> None:
    valve = valve_at(12, 33, 6)
    for status, channel in [(IDLE, 2), (ACTIVE, 2), (IDLE, 1), (IDLE, 0)]:
        valve.input_status(status, channel)
    assert valve.input_status(IDLE, 2) == [Watermark(33), IDLE]


def test_flink_loses_the_maximum_when_the_last_channel_to_go_idle_was_behind() -> None:
    valve = valve_at(12, 33, 6, rules="flink-2.3")
    for status, channel in [(IDLE, 2), (ACTIVE, 2), (IDLE, 1), (IDLE, 0)]:
        valve.input_status(status, channel)
    assert valve.input_status(IDLE, 2) == [IDLE]


def test_the_only_aligned_channel_releases_its_watermark_when_it_returns() -> None:
    valve = valve_at(12, 33, 6)
    for status, channel in [(IDLE, 1), (IDLE, 2), (ACTIVE, 2), (IDLE, 0)]:
        valve.input_status(status, channel)
    assert valve.input_status(ACTIVE, 1) == [Watermark(33)]


def test_flink_stalls_when_the_only_aligned_channel_returns() -> None:
    valve = valve_at(12, 33, 6, rules="flink-2.3")
    for status, channel in [(IDLE, 1), (IDLE, 2), (ACTIVE, 2), (IDLE, 0)]:
        valve.input_status(status, channel)
    assert valve.input_status(ACTIVE, 1) == []


# Ended channels


def test_the_end_comes_out_when_every_channel_has_ended() -> None:
    valve = valve_at(10, 20)
    assert valve.input_watermark(MAX_TIME, 1) == []
    assert valve.input_watermark(MAX_TIME, 0) == [Watermark.MAX]


def test_the_end_comes_out_once() -> None:
    valve = valve_at(MAX_TIME)
    assert valve.input_watermark(MAX_TIME, 0) == []
    assert valve.input_watermark(5, 0) == []


def test_the_slowest_channel_ending_releases_the_next() -> None:
    assert valve_at(10, 20).input_watermark(MAX_TIME, 0) == [Watermark(20)]


def test_an_ended_channel_is_not_flushed_when_the_rest_go_idle() -> None:
    valve = valve_at(5, MAX_TIME)
    assert valve.input_status(IDLE, 0) == [IDLE]
    assert valve.input_status(ACTIVE, 0) == [ACTIVE]
    assert valve.input_watermark(9, 0) == [Watermark(9)]


def test_in_flink_an_ended_channel_drags_the_output_to_the_end_when_the_rest_go_idle() -> None:
    assert valve_at(5, MAX_TIME, rules="flink-2.3").input_status(IDLE, 0) == [Watermark.MAX]


def test_in_flink_an_ended_channel_is_flushed_when_all_are_idle() -> None:
    valve = valve_at(5, MAX_TIME, rules="flink-2.3")
    assert valve.input_status(IDLE, 1) == []
    assert valve.input_status(IDLE, 0) == [Watermark.MAX, IDLE]


def test_the_last_active_channel_ending_flushes_the_idle_ones() -> None:
    valve = valve_at(5, 30, 20)
    valve.input_status(IDLE, 1)
    valve.input_status(IDLE, 2)
    assert valve.input_watermark(MAX_TIME, 0) == [Watermark(30), IDLE]


@pytest.mark.parametrize("status", [IDLE, ACTIVE])
def test_statuses_of_an_ended_channel_are_ignored(status: WatermarkStatus) -> None:
    assert valve_at(5, MAX_TIME).input_status(status, 1) == []


def test_an_idle_channel_can_end() -> None:
    valve = valve_at(5, 9)
    valve.input_status(IDLE, 0)
    assert valve.input_watermark(MAX_TIME, 0) == []
    assert valve.input_watermark(MAX_TIME, 1) == [Watermark.MAX]


def test_an_idle_valve_ends_after_it_was_announced_active() -> None:
    valve = valve_at(5, 9)
    valve.input_status(IDLE, 0)
    valve.input_status(IDLE, 1)
    assert valve.input_watermark(MAX_TIME, 1) == []
    assert valve.input_watermark(MAX_TIME, 0) == [ACTIVE, Watermark.MAX]


def test_the_fastest_channel_having_ended_the_next_highest_is_flushed() -> None:
    valve = valve_at(5, 50, 20)
    valve.input_watermark(MAX_TIME, 1)
    valve.input_status(IDLE, 2)
    assert valve.input_status(IDLE, 0) == [Watermark(20), IDLE]


# Channels that join


def test_a_channel_that_joins_holds_the_output_where_it_stands() -> None:
    valve = valve_at(10)
    assert valve.add_channel() == (1, [])
    assert valve.input_watermark(20, 0) == []
    assert valve.input_watermark(7, 1) == []
    assert valve.input_watermark(15, 1) == [Watermark(15)]
    assert valve.input_watermark(30, 1) == [Watermark(20)]


def test_a_channel_that_joined_and_goes_idle_releases_the_output() -> None:
    valve = valve_at(10)
    valve.add_channel()
    valve.input_watermark(20, 0)
    assert valve.input_status(IDLE, 1) == [Watermark(20)]


def test_a_channel_that_joined_and_ends_releases_the_output() -> None:
    valve = valve_at(10)
    valve.add_channel()
    valve.input_watermark(20, 0)
    assert valve.input_watermark(MAX_TIME, 1) == [Watermark(20)]


def test_a_channel_that_joins_an_idle_valve_makes_it_active() -> None:
    valve = valve_at(10)
    valve.input_status(IDLE, 0)
    assert valve.add_channel() == (1, [ACTIVE])
    assert valve.input_watermark(10, 1) == []
    assert valve.input_watermark(11, 1) == [Watermark(11)]


def test_the_first_channel_to_join_an_empty_valve_decides() -> None:
    valve = StatusWatermarkValve()
    assert valve.add_channel() == (0, [])
    assert valve.input_watermark(5, 0) == [Watermark(5)]


def test_a_channel_that_joins_before_the_rest_end_holds_the_end_back() -> None:
    valve = valve_at(10)
    valve.add_channel()
    assert valve.input_watermark(MAX_TIME, 0) == []
    assert valve.input_watermark(20, 1) == [Watermark(20)]
    assert valve.input_watermark(MAX_TIME, 1) == [Watermark.MAX]


# Channels that leave


def test_the_slowest_channel_leaving_releases_the_next() -> None:
    assert valve_at(10, 20, 30).remove_channel(0) == [Watermark(20)]


def test_a_faster_channel_leaving_releases_nothing() -> None:
    assert valve_at(10, 20).remove_channel(1) == []


def test_an_idle_channel_leaving_releases_nothing() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 1)
    assert valve.remove_channel(1) == []
    assert valve.input_watermark(15, 0) == [Watermark(15)]


def test_the_last_active_channel_leaving_flushes_the_idle_ones() -> None:
    valve = valve_at(10, 20)
    valve.input_status(IDLE, 1)
    assert valve.remove_channel(0) == [Watermark(20), IDLE]


def test_the_watermark_of_a_channel_that_left_is_not_flushed() -> None:
    valve = valve_at(10, 50, 20)
    valve.remove_channel(1)
    valve.input_status(IDLE, 2)
    assert valve.input_status(IDLE, 0) == [Watermark(20), IDLE]


def test_the_last_channel_leaving_is_no_end() -> None:
    valve = valve_at(10)
    assert valve.remove_channel(0) == []
    assert valve.last_output == 10
    index, emitted = valve.add_channel()
    assert emitted == []
    assert valve.input_watermark(11, index) == [Watermark(11)]


def test_a_channel_leaving_when_the_rest_have_ended_ends_the_valve() -> None:
    assert valve_at(10, MAX_TIME).remove_channel(0) == [Watermark.MAX]


def test_an_idle_channel_leaving_when_the_rest_have_ended_ends_the_valve() -> None:
    valve = valve_at(10, MAX_TIME)
    valve.input_status(IDLE, 0)
    assert valve.remove_channel(0) == [ACTIVE, Watermark.MAX]


def test_an_ended_channel_leaving_changes_nothing() -> None:
    valve = valve_at(10, MAX_TIME)
    assert valve.remove_channel(1) == []
    assert valve.input_watermark(11, 0) == [Watermark(11)]
    assert valve.input_watermark(MAX_TIME, 0) == [Watermark.MAX]


def test_an_ended_channel_leaving_an_idle_valve_changes_nothing() -> None:
    valve = valve_at(10, MAX_TIME)
    valve.input_status(IDLE, 0)
    assert valve.remove_channel(1) == []
    assert valve.input_status(ACTIVE, 0) == [ACTIVE]


def test_the_index_of_a_channel_that_left_is_not_given_again() -> None:
    valve = valve_at(10, 20)
    valve.remove_channel(1)
    assert valve.add_channel()[0] == 2


def test_channels_can_join_and_leave_under_the_rules_of_flink_too() -> None:
    valve = valve_at(10, rules="flink-2.3")
    index, _ = valve.add_channel()
    valve.input_watermark(20, 0)
    assert valve.input_status(IDLE, index) == [Watermark(20)]
    assert valve.remove_channel(0) == [IDLE]


# Restart


def test_a_restored_valve_goes_on_where_the_other_was() -> None:
    valve = valve_at(10, 20, 5, MAX_TIME)
    valve.input_status(IDLE, 2)
    valve.input_status(ACTIVE, 2)
    restored = StatusWatermarkValve.restore(json.loads(json.dumps(valve.snapshot())))
    assert restored.last_output == 10
    assert restored.input_watermark(30, 0) == [Watermark(20)]
    assert restored.input_watermark(40, 1) == [Watermark(30)]
    assert restored.add_channel()[0] == 4


def test_a_snapshot_of_something_else_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'valve', got one of 'combined'"):
        StatusWatermarkValve.restore({"kind": "combined", "version": 1})


# Bad input


@pytest.mark.parametrize("channel", [2, -1, None, "a", [0]])
def test_a_channel_out_of_range_is_refused(channel: Any) -> None:
    valve = valve_at(10, 20)
    message = re.escape(f"the valve has no channel {channel!r}; it has 0 to 1")
    with pytest.raises(UnknownChannelError, match=message):
        valve.input_watermark(30, channel)
    with pytest.raises(UnknownChannelError, match=message):
        valve.input_status(IDLE, channel)
    with pytest.raises(UnknownChannelError, match=message):
        valve.remove_channel(channel)
    assert valve.last_output == 10


def test_a_channel_that_left_is_unknown() -> None:
    valve = valve_at(10, 20, 30)
    valve.remove_channel(1)
    with pytest.raises(UnknownChannelError, match="the valve has no channel 1; it has 0, 2"):
        valve.input_watermark(30, 1)


def test_the_known_channels_are_listed_briefly() -> None:
    valve = StatusWatermarkValve(20)
    valve.remove_channel(0)
    with pytest.raises(UnknownChannelError, match=re.escape("it has 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...")):
        valve.remove_channel(0)


def test_an_empty_valve_has_no_channel() -> None:
    with pytest.raises(UnknownChannelError, match="the valve has no channel 0; it has none"):
        StatusWatermarkValve().input_watermark(5, 0)


@pytest.mark.parametrize("watermark", [1.5, "5", None, True])
def test_a_watermark_that_is_no_integer_is_refused(watermark: Any) -> None:
    with pytest.raises(InvalidTypeError, match="watermark: a timestamp is an integer in milliseconds, got"):
        StatusWatermarkValve(1).input_watermark(watermark, 0)


def test_a_watermark_beyond_64_bits_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="watermark: the timestamp 9223372036854775808 does not fit"):
        StatusWatermarkValve(1).input_watermark(MAX_TIME + 1, 0)


@pytest.mark.parametrize("status", ["idle", True, None])
def test_a_status_that_is_none_is_refused(status: Any) -> None:
    with pytest.raises(InvalidTypeError, match=f"input_status takes a WatermarkStatus, got {status!r}"):
        StatusWatermarkValve(1).input_status(status, 0)


@pytest.mark.parametrize("channels", [-1, 1.0, "2", None, True])
def test_a_number_of_channels_that_is_none_is_refused(channels: Any) -> None:
    message = f"a valve takes a number of channels of 0 or more, got {channels!r}"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        StatusWatermarkValve(channels)


@pytest.mark.parametrize("rules", ["flink", "", None])
def test_unknown_rules_are_refused(rules: Any) -> None:
    with pytest.raises(InvalidValueError, match=f"rules must be one of fixed, flink-2.3, got {rules!r}"):
        StatusWatermarkValve(1, rules=rules)
