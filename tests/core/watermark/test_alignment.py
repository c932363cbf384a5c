from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.alignment import AlignmentGroup, AlignmentParameters
from tidegate.errors import InvalidTypeError, InvalidValueError, UnknownChannelError

PARAMETERS = AlignmentParameters("group", max_drift=10, update_interval=100)


def group_at(*watermarks: int, parameters: AlignmentParameters = PARAMETERS) -> AlignmentGroup:
    """A group whose channels have reported these watermarks; its limit was worked out at 0."""
    group = AlignmentGroup(parameters)
    for watermark in watermarks:
        group.report(group.add_channel(), watermark)
    group.update(0)
    return group


def readable(group: AlignmentGroup, channels: int) -> list[bool]:
    return [group.may_read(channel) for channel in range(channels)]


def test_the_limit_is_the_lowest_watermark_plus_the_drift() -> None:
    assert group_at(100, 500).limit == 110


def test_exactly_the_drift_ahead_may_be_read_and_more_may_not() -> None:
    assert readable(group_at(100, 110, 111), 3) == [True, True, False]


def test_a_channel_is_read_again_when_the_group_has_caught_up() -> None:
    group = group_at(100, 111)
    group.report(0, 101)
    assert group.update(100) == 111
    assert readable(group, 2) == [True, True]


def test_without_drift_only_the_slowest_are_read() -> None:
    group = group_at(100, 100, 101, parameters=AlignmentParameters("group", max_drift=0))
    assert readable(group, 3) == [True, True, False]


def test_a_channel_that_has_not_spoken_holds_the_group() -> None:
    assert readable(group_at(MIN_TIME, 100), 2) == [True, False]


def test_an_idle_channel_does_not_hold_the_group() -> None:
    group = group_at(100, 500)
    group.set_idle(0, is_idle=True)
    assert group.update(100) == 510


def test_a_channel_that_is_active_again_holds_the_group_again() -> None:
    group = group_at(100, 500)
    group.set_idle(0, is_idle=True)
    group.update(100)
    group.set_idle(0, is_idle=False)
    assert group.update(200) == 110


def test_a_report_does_not_wake_an_idle_channel() -> None:
    group = group_at(100, 500)
    group.set_idle(0, is_idle=True)
    group.report(0, 101)
    assert group.update(100) == 510


def test_a_finished_channel_does_not_hold_the_group() -> None:
    group = group_at(100, 500)
    group.report(0, MAX_TIME)
    assert group.update(100) == 510


def test_when_every_channel_is_idle_or_finished_nobody_is_held() -> None:
    group = group_at(100, 500)
    group.report(0, MAX_TIME)
    group.set_idle(1, is_idle=True)
    assert group.update(100) == MAX_TIME
    assert readable(group, 2) == [True, True]


def test_a_channel_that_leaves_does_not_hold_the_group() -> None:
    group = group_at(100, 500)
    group.remove_channel(0)
    assert group.update(100) == 510


def test_a_channel_that_joins_holds_the_group_from_the_next_update() -> None:
    group = group_at(100)
    joined = group.add_channel()
    assert group.may_read(joined)
    assert group.update(100) == MIN_TIME + 10


def test_the_limit_is_worked_out_once_per_interval() -> None:
    group = group_at(100)
    group.report(0, 200)
    assert [group.update(now) for now in (1, 99, 100)] == [110, 110, 210]


def test_before_the_first_update_everyone_may_be_read() -> None:
    group = AlignmentGroup(PARAMETERS)
    group.report(group.add_channel(), 100)
    assert group.limit == MAX_TIME


@pytest.mark.parametrize("drift", [MAX_TIME, MAX_TIME - 50])
def test_the_limit_does_not_overflow(drift: int) -> None:
    group = group_at(100, parameters=AlignmentParameters("group", max_drift=drift))
    assert group.limit == MAX_TIME


def test_a_restored_group_holds_whom_it_held_before() -> None:
    group = group_at(100, 500, 700)
    group.set_idle(0, is_idle=True)
    group.update(100)
    restored = AlignmentGroup(PARAMETERS)
    restored.restore(json.loads(json.dumps(group.snapshot())))
    assert (restored.limit, readable(restored, 3)) == (510, [True, True, False])


def test_after_a_restart_the_first_update_works_the_limit_out() -> None:
    group = group_at(100, 500)
    group.report(0, 300)
    restored = AlignmentGroup(PARAMETERS)
    restored.restore(group.snapshot())
    assert restored.update(1) == 310
    assert restored.add_channel() == 2


@pytest.mark.parametrize("channel", [1, -1, None])
def test_an_unknown_channel_is_refused(channel: Any) -> None:
    group = group_at(100)
    message = f"alignment group 'group' has no channel {channel}; "
    with pytest.raises(UnknownChannelError, match=message):
        group.report(channel, 5)
    with pytest.raises(UnknownChannelError, match=message):
        group.set_idle(channel, is_idle=True)
    with pytest.raises(UnknownChannelError, match=message):
        group.may_read(channel)
    with pytest.raises(UnknownChannelError, match=message):
        group.remove_channel(channel)


def test_a_channel_that_left_is_unknown() -> None:
    group = group_at(100)
    group.remove_channel(0)
    with pytest.raises(UnknownChannelError, match="alignment group 'group' has no channel 0"):
        group.may_read(0)


@pytest.mark.parametrize("watermark", [1.5, "5", None])
def test_a_watermark_that_is_no_integer_is_refused(watermark: Any) -> None:
    group = group_at(100)
    with pytest.raises(InvalidTypeError, match="alignment: a timestamp is an integer in milliseconds, got"):
        group.report(0, watermark)


def test_a_negative_drift_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="alignment drift must not be negative, got -1 ms"):
        AlignmentParameters("group", max_drift=-1)


@pytest.mark.parametrize("interval", [0, -1])
def test_an_update_interval_that_is_not_positive_is_refused(interval: int) -> None:
    with pytest.raises(
        InvalidValueError, match=f"alignment update interval must be longer than 0 ms, got {interval} ms"
    ):
        AlignmentParameters("group", max_drift=1, update_interval=interval)


def test_parameters_are_picklable_values() -> None:
    assert pickle.loads(pickle.dumps(PARAMETERS)) == PARAMETERS
