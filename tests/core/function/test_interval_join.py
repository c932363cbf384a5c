from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tidegate.core.function.interval_join import IntervalJoinSpec, ProcessJoinFunction
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import Record, TwoInputHarness, Watermark

LEFT, RIGHT, SIDE = OutputTag("late left"), OutputTag("late right"), OutputTag("side")


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        ctx.output(SIDE, ctx.get_timestamp())
        yield left[1], right[1], ctx.get_left_timestamp(), ctx.get_right_timestamp()


def joined(lower: int, upper: int, **options: Any) -> TwoInputHarness:
    return TwoInputHarness(IntervalJoinSpec(lower, upper, Pair(), **options), key_selector1=0, key_selector2=0)


def test_elements_pair_within_the_bounds_both_included() -> None:
    harness = joined(-5, 10)
    harness.process_element1(("a", "left"), 100)
    for timestamp in (94, 95, 100, 110, 111):
        harness.process_element2(("a", timestamp), timestamp)
    harness.process_element2(("b", "other key"), 100)
    assert harness.outputs() == [
        Record(("left", 95, 100, 95), 100),
        Record(("left", 100, 100, 100), 100),
        Record(("left", 110, 100, 110), 110),
    ]
    assert [record.value for record in harness.side_outputs(SIDE)] == [100, 100, 110]


def test_every_element_pairs_with_all_earlier_ones_of_the_other_side() -> None:
    harness = joined(-5, 5)
    for name in ("l1", "l2"):
        harness.process_element1(("a", name), 10)
    harness.process_element2(("a", "r1"), 12)
    harness.process_element1(("a", "l3"), 13)
    assert [record.value[:2] for record in harness.outputs()] == [("l1", "r1"), ("l2", "r1"), ("l3", "r1")]


def test_an_element_behind_the_watermark_is_late_and_one_at_the_watermark_is_not() -> None:
    harness = joined(-5, 5, late_left=LEFT, late_right=RIGHT)
    harness.process_watermark(10)
    harness.process_element1(("a", 9), 9)
    harness.process_element2(("a", 9), 9)
    harness.process_element1(("a", 10), 10)
    harness.process_element2(("a", 10), 10)
    assert len(harness.outputs()) == 1
    assert harness.side_outputs(LEFT) == [Record(("a", 9), 9)]
    assert harness.side_outputs(RIGHT) == [Record(("a", 9), 9)]
    assert harness.metrics()["num_late_records_to_side_output"] == 2


def test_late_elements_without_an_output_are_dropped_and_counted() -> None:
    harness = joined(-5, 5, late_right=RIGHT)
    harness.process_watermark(10)
    harness.process_element1(("a", 9), 9)
    harness.process_element2(("a", 9), 9)
    assert harness.metrics()["num_late_records_dropped"] == 1
    assert harness.metrics()["num_late_records_to_side_output"] == 1


@pytest.mark.parametrize(("lower", "upper"), [(-5, 10), (3, 10), (-10, -3), (0, 0)])
def test_a_partner_at_the_very_bound_of_an_element_at_the_watermark_is_found(lower: int, upper: int) -> None:
    harness = joined(lower, upper)
    harness.process_element1(("a", "left"), 100)
    harness.process_element2(("a", "right"), 100)
    harness.outputs()
    harness.process_watermark(max(100 + upper, 100 - lower))
    last_for_left, last_for_right = 100 + upper, 100 - lower
    if last_for_left >= last_for_right:
        harness.process_element2(("a", "late partner"), last_for_left)
    else:
        harness.process_element1(("a", "late partner"), last_for_right)
    assert len(harness.outputs()) == 1


@pytest.mark.parametrize(("lower", "upper"), [(-5, 10), (3, 10), (-10, -3)])
def test_nothing_is_kept_when_no_partner_can_come_any_more(lower: int, upper: int) -> None:
    harness = joined(lower, upper)
    for timestamp in (100, 101, 105):
        harness.process_element1(("a", "left"), timestamp)
        harness.process_element2(("a", "right"), timestamp)
    harness.process_watermark(120)
    operator: Any = harness._operator
    operator.snapshot()
    assert list(operator.state.store.keys()) == []
    assert operator.context.event_timers.next_timestamp() is None


def test_buffers_and_time_survive_a_restart() -> None:
    harness = joined(-5, 5, late_left=LEFT)
    harness.process_element1(("a", "left"), 10)
    harness.process_watermark(8)
    harness.restore(harness.snapshot())
    harness.process_element2(("a", "right"), 12)
    harness.process_element1(("a", "late"), 7)
    assert [record.value[:2] for record in harness.outputs()] == [("left", "right")]
    assert len(harness.side_outputs(LEFT)) == 1


def test_the_watermark_is_the_lowest_of_both_sides() -> None:
    harness = joined(0, 0)
    harness.process_watermark1(10)
    assert harness.progress() == []
    harness.process_watermark2(4)
    assert harness.progress() == [Watermark(4)]


def test_bounds_may_reach_to_the_end_of_time() -> None:
    harness = joined(MIN_TIME, MAX_TIME)
    harness.process_element1(("a", "left"), 10)
    harness.process_watermark(1000)
    harness.process_element2(("a", "right"), 2000)
    assert len(harness.outputs()) == 1


@pytest.mark.parametrize("timestamp", [None, MIN_TIME])
def test_a_record_without_a_timestamp_is_refused(timestamp: int | None) -> None:
    with pytest.raises(
        InvalidValueError,
        match=r"interval join on 'test': the record \('a', 1\) has no timestamp; call assign_timestamps_and_watermarks",
    ):
        joined(0, 0).process_element1(("a", 1), timestamp)


def test_bounds_that_no_pair_can_meet_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="the lower bound 5 ms is above the upper bound 4 ms, so no pair could"):
        IntervalJoinSpec(5, 4, Pair())


@pytest.mark.parametrize("function", [5, Pair])
def test_what_is_no_join_function_is_refused(function: Any) -> None:
    with pytest.raises(InvalidTypeError, match="interval_join: expected a ProcessJoinFunction object, got"):
        IntervalJoinSpec(0, 0, function)


class Fails(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        raise ValueError("bad pair")


def test_an_error_of_the_join_function_names_the_operator_and_the_record() -> None:
    harness = TwoInputHarness(IntervalJoinSpec(0, 0, Fails()), key_selector1=0, key_selector2=0)
    harness.process_element1(("a", 1), 5)
    with pytest.raises(UserCodeError, match=r"test.*ValueError: bad pair.*\('a', 2\)") as caught:
        harness.process_element2(("a", 2), 5)
    assert isinstance(caught.value.__cause__, ValueError)
