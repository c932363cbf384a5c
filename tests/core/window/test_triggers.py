from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.core.window.windowing import Fired, Windowing, ms

from tidegate.core.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tidegate.core.window.trigger import Trigger, TriggerResult
from tidegate.core.window.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    check_trigger,
)
from tidegate.errors import InvalidTypeError, InvalidValueError

TUMBLING = TumblingEventTimeWindows.of(ms(10))
NOTHING: Any = None
A_CLASS: Any = CountTrigger
CLOCK = TumblingProcessingTimeWindows.of(ms(10))


def distance(old: Any, new: Any) -> float:
    return float(abs(new[1] - old[1]))


def values(fired: list[Fired]) -> list[list[Any]]:
    return [found for _, _, found in fired]


def test_a_result_says_whether_to_fire_and_whether_to_purge() -> None:
    results = (TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE)
    assert [(result.is_fire(), result.is_purge()) for result in results] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


# Event time


@pytest.mark.parametrize("trigger", [None, EventTimeTrigger.create()])
def test_a_window_fires_once_the_watermark_reaches_its_last_timestamp(trigger: Trigger | None) -> None:
    harness = Windowing(TUMBLING, trigger)
    harness.add(1, 0)
    assert harness.advance(8) == []
    assert harness.advance(9) == [Fired("a", (0, 10), [1])]
    assert harness.advance(100) == []


def test_an_allowed_late_element_fires_its_window_again_with_all_it_holds() -> None:
    harness = Windowing(TUMBLING, lateness=5)
    harness.add(1, 0)
    harness.advance(9)
    assert harness.add(2, 3) == [Fired("a", (0, 10), [1, 2])]
    assert harness.advance(14) == []
    assert harness.add(3, 3) == []


# Processing time


def test_a_processing_time_window_fires_when_the_clock_has_passed_its_last_timestamp() -> None:
    harness = Windowing(CLOCK)
    harness.add(1)
    assert harness.at(9) == []
    assert harness.at(10) == [Fired("a", (0, 10), [1])]


def test_a_processing_time_window_does_not_fire_at_the_end_of_input() -> None:
    harness = Windowing(CLOCK)
    harness.add(1)
    assert harness.advance(MAX_TIME) == []


def test_sessions_by_the_clock_merge() -> None:
    harness = Windowing(ProcessingTimeSessionWindows.with_gap(ms(10)))
    harness.add(1)
    assert harness.at(5) == []
    harness.add(2)
    assert harness.at(14) == []
    assert harness.at(15) == [Fired("a", (0, 15), [1, 2])]


def test_sliding_windows_by_the_clock_fire_one_after_the_other() -> None:
    harness = Windowing(SlidingProcessingTimeWindows.of(ms(10), ms(5)))
    harness.set_processing_time(7)
    harness.add(1)
    assert harness.at(100) == [Fired("a", (0, 10), [1]), Fired("a", (5, 15), [1])]


def test_the_processing_time_trigger_works_on_event_time_windows() -> None:
    harness = Windowing(TUMBLING, ProcessingTimeTrigger.create())
    harness.add(1, 3)
    assert harness.advance(5) == []
    assert harness.at(10) == [Fired("a", (0, 10), [1])]


def test_the_event_time_trigger_on_windows_by_the_clock_needs_no_timestamps() -> None:
    harness = Windowing(CLOCK, EventTimeTrigger.create())
    harness.add(1)
    assert harness.advance(9) == [Fired("a", (0, 10), [1])]


def test_the_event_time_trigger_on_windows_by_the_clock_makes_nothing_late() -> None:
    harness = Windowing(CLOCK, EventTimeTrigger.create())
    harness.advance(50)
    assert harness.add(1, 60) == [Fired("a", (0, 10), [1])]
    assert harness.metrics()["num_late_records_dropped"] == 0


def test_windows_by_the_clock_are_cleaned_up_by_the_clock_whatever_the_trigger() -> None:
    harness = Windowing(CLOCK, EventTimeTrigger.create())
    harness.add(1, 3)
    harness.at(50)
    assert harness.advance(9) == []


# Count


def test_a_count_trigger_fires_at_every_nth_element_of_a_window() -> None:
    harness = Windowing(TUMBLING, CountTrigger.of(2))
    assert values(harness.add(1, 0)) == []
    assert values(harness.add("next window", 10)) == []
    assert values(harness.add("other key", 0, key="b")) == []
    assert values(harness.add(2, 1)) == [[1, 2]]
    assert values(harness.add(3, 2)) == []
    assert values(harness.add(4, 3)) == [[1, 2, 3, 4]]
    assert harness.advance(9) == []


def test_the_counts_of_merged_sessions_are_added() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), CountTrigger.of(4))
    for timestamp in (0, 1, 20):
        assert harness.add(timestamp, timestamp) == []
    assert harness.add(10, 10) == [Fired("a", (0, 30), [0, 1, 20, 10])]


# Continuous


def test_a_continuous_trigger_fires_at_every_interval_and_at_the_end_of_the_window() -> None:
    harness = Windowing(TumblingEventTimeWindows.of(ms(25)), ContinuousEventTimeTrigger.of(ms(10)))
    harness.add(1, 3)
    assert values(harness.advance(9)) == []
    assert values(harness.advance(10)) == [[1]]
    harness.add(2, 12)
    assert values(harness.advance(23)) == [[1, 2]]
    assert values(harness.advance(24)) == [[1, 2]]


def test_a_continuous_trigger_that_missed_intervals_fires_for_each() -> None:
    harness = Windowing(TumblingEventTimeWindows.of(ms(100)), ContinuousEventTimeTrigger.of(ms(10)))
    harness.add(1, 3)
    assert values(harness.advance(35)) == [[1], [1], [1]]


def test_a_continuous_trigger_fires_at_once_for_an_allowed_late_element() -> None:
    harness = Windowing(TUMBLING, ContinuousEventTimeTrigger.of(ms(4)), lateness=20)
    harness.advance(15)
    assert values(harness.add(1, 3)) == [[1]]


def test_a_continuous_trigger_on_the_global_window_fires_once_at_the_end_of_input() -> None:
    harness = Windowing(GlobalWindows.create(), ContinuousEventTimeTrigger.of(ms(10)))
    harness.add(1, 3)
    assert values(harness.advance(25)) == [[1], [1]]
    assert harness.advance(MAX_TIME) == [Fired("a", None, [1])]
    assert harness.metrics()["num_fired_timers"] == 4


def test_a_continuous_trigger_on_a_finite_window_fires_for_every_interval_at_the_end_of_input() -> None:
    harness = Windowing(TumblingEventTimeWindows.of(ms(30)), ContinuousEventTimeTrigger.of(ms(10)))
    harness.add(1, 3)
    assert values(harness.advance(MAX_TIME)) == [[1], [1], [1]]


def test_the_next_firing_of_merged_sessions_is_the_earliest_of_theirs() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(20)), ContinuousEventTimeTrigger.of(ms(10)))
    for number, timestamp in enumerate((35, 10, 25)):
        harness.add(number, timestamp)
    assert harness.advance(19) == []
    assert harness.advance(20) == [Fired("a", (10, 55), [0, 1, 2])]
    assert harness.advance(29) == []
    assert harness.advance(30) == [Fired("a", (10, 55), [0, 1, 2])]


def test_a_continuous_trigger_by_the_clock_fires_at_every_interval_and_at_the_end_of_the_window() -> None:
    harness = Windowing(TumblingProcessingTimeWindows.of(ms(25)), ContinuousProcessingTimeTrigger.of(ms(10)))
    harness.set_processing_time(3)
    harness.add(1)
    assert values(harness.at(10)) == []
    assert values(harness.at(11)) == [[1]]
    assert values(harness.at(21)) == [[1]]
    assert values(harness.at(25)) == [[1]]
    assert values(harness.at(500)) == []


def test_continuous_triggers_by_the_clock_merge() -> None:
    harness = Windowing(ProcessingTimeSessionWindows.with_gap(ms(20)), ContinuousProcessingTimeTrigger.of(ms(10)))
    harness.add(1)
    assert harness.at(5) == []
    harness.add(2)
    assert harness.at(11) == [Fired("a", (0, 25), [1, 2])]


# Delta


def test_a_delta_trigger_fires_when_the_value_moved_further_than_the_threshold() -> None:
    harness = Windowing(GlobalWindows.create(), DeltaTrigger.of(5, distance))
    assert [values(harness.add(number)) for number in (10, 15, 16, 20, 10)] == [
        [],
        [],
        [[10, 15, 16]],
        [],
        [[10, 15, 16, 20, 10]],
    ]


# Purging


def test_a_purging_trigger_empties_the_window_whenever_it_fires() -> None:
    harness = Windowing(TUMBLING, PurgingTrigger.of(EventTimeTrigger()), lateness=10)
    harness.add(1, 0)
    assert values(harness.advance(9)) == [[1]]
    assert values(harness.add(2, 0)) == [[2]]


def test_a_purging_trigger_can_merge_if_what_it_holds_can() -> None:
    assert PurgingTrigger.of(CountTrigger.of(1)).can_merge()
    assert not PurgingTrigger.of(DeltaTrigger.of(1, distance)).can_merge()


def test_a_purged_session_goes_on_as_a_window() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), PurgingTrigger.of(CountTrigger.of(2)))
    harness.add(1, 0)
    assert harness.add(2, 5) == [Fired("a", (0, 15), [1, 2])]
    harness.add(3, 14)
    assert harness.add(4, 14) == [Fired("a", (0, 24), [3, 4])]


# Processing timeout


def test_a_timeout_fires_what_the_nested_trigger_left() -> None:
    harness = Windowing(GlobalWindows.create(), ProcessingTimeoutTrigger.of(CountTrigger.of(3), ms(10)))
    harness.add(1)
    harness.at(5)
    harness.add(2)
    assert harness.at(10) == []
    assert values(harness.at(11)) == [[1, 2]]
    assert values(harness.at(100)) == []


def test_a_timeout_may_start_anew_with_each_element() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), ms(10), reset_timer_on_new_record=True)
    harness = Windowing(GlobalWindows.create(), trigger)
    harness.add(1)
    harness.at(5)
    harness.add(2)
    assert values(harness.at(15)) == []
    assert values(harness.at(16)) == [[1, 2]]


def test_a_timeout_clears_the_nested_trigger_unless_told_otherwise() -> None:
    def fired(*, should_clear: bool) -> list[list[Any]]:
        trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(2), ms(10), should_clear_on_timeout=should_clear)
        harness = Windowing(GlobalWindows.create(), trigger)
        harness.add(1)
        harness.at(11)
        return values(harness.add(2))

    assert fired(should_clear=True) == []
    assert fired(should_clear=False) == [[1, 2]]


def test_a_firing_of_the_nested_trigger_ends_the_timeout() -> None:
    harness = Windowing(GlobalWindows.create(), ProcessingTimeoutTrigger.of(CountTrigger.of(2), ms(10)))
    harness.add(1)
    assert values(harness.add(2)) == [[1, 2]]
    assert harness.at(100) == []


def test_a_timeout_purges_if_the_nested_trigger_does_and_fires_for_event_time_too() -> None:
    trigger = ProcessingTimeoutTrigger.of(PurgingTrigger.of(EventTimeTrigger()), ms(10))
    harness = Windowing(TUMBLING, trigger, lateness=20)
    harness.add(1, 0)
    assert values(harness.advance(9)) == [[1]]
    assert values(harness.add(2, 0)) == [[2]]
    assert not trigger.can_merge()


# Never, and at the end


def test_the_never_trigger_never_fires() -> None:
    harness = Windowing(TUMBLING, NeverTrigger())
    harness.add(1, 0)
    assert harness.at(1000) == []
    assert harness.advance(MAX_TIME) == []


@pytest.mark.parametrize(
    "harness",
    [
        Windowing(GlobalWindows.create_with_end_of_stream_trigger()),
        Windowing(GlobalWindows.create(), EndOfStreamTrigger()),
        Windowing(GlobalWindows.create(), EventTimeTrigger()),
    ],
)
def test_the_end_of_input_fires_the_global_window_once(harness: Windowing) -> None:
    harness.add(1, 5)
    harness.add(2, 3)
    assert harness.advance(1000) == []
    assert harness.advance(MAX_TIME) == [Fired("a", None, [1, 2])]


# Of users


class ThreeOrStop(Trigger):
    """Fires at every third element and a while after; "stop" empties the window; tells how often it was cleared."""

    def __init__(self) -> None:
        self.count = ReducingStateDescriptor("count", lambda left, right: left + right)
        self.cleared: list[Any] = []

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if element[1] == "stop":
            return TriggerResult.PURGE
        count = ctx.get_partitioned_state(self.count)
        count.add(1)
        if count.get() == 3:
            ctx.register_processing_time_timer(ctx.get_current_processing_time() + 5)
            ctx.register_event_time_timer(ctx.get_current_watermark() + 2)
            ctx.get_metric_group().counter("threes").inc()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self.cleared.append(window)
        ctx.get_partitioned_state(self.count).clear()


def test_a_user_may_write_a_trigger_with_state_and_timers() -> None:
    trigger = ThreeOrStop()
    harness = Windowing(TUMBLING, trigger)
    harness.advance(0)
    harness.add("gone", 1)
    harness.add("stop", 1)
    assert values(harness.add(1, 1)) == []
    assert values(harness.add(2, 1)) == [[1, 2]]
    assert harness.metrics()["threes"] == 1
    assert values(harness.at(6)) == [[1, 2]]
    assert values(harness.advance(2)) == [[1, 2]]
    assert values(harness.add(3, 5)) == []
    assert trigger.cleared == []
    assert values(harness.advance(9)) == [[3]]
    assert trigger.cleared == [(0, 10)]


def test_the_state_and_timers_of_a_trigger_survive_a_restart() -> None:
    harness = Windowing(TumblingEventTimeWindows.of(ms(100)), ContinuousEventTimeTrigger.of(ms(10)))
    harness.add(1, 3)
    harness.restore(harness.snapshot())
    harness.add(2, 5)
    assert values(harness.advance(10)) == [[1, 2]]


class Forgets(EventTimeTrigger):
    """Sets a timer behind the window and leaves it there."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(50)
        return super().on_element(element, timestamp, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE


def test_a_timer_that_outlives_its_window_finds_nothing_to_fire() -> None:
    harness = Windowing(TUMBLING, Forgets())
    harness.add(1, 0)
    assert values(harness.advance(9)) == [[1]]
    assert values(harness.advance(60)) == []


class WithValueState(EventTimeTrigger):
    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(ValueStateDescriptor("v"))


def test_a_state_that_cannot_merge_says_so() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), WithValueState())
    harness.add(1, 0)
    with pytest.raises(InvalidValueError, match="a ValueState cannot merge; use a reducing or list state"):
        harness.add(2, 5)


# Refused


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CountTrigger.of(0), "CountTrigger: the count must be an integer of 1 or more, got 0"),
        (lambda: CountTrigger.of(True), "CountTrigger: the count must be an integer of 1 or more, got True"),
        (lambda: ContinuousEventTimeTrigger.of(ms(0)), "ContinuousEventTimeTrigger: interval must be longer than 0 ms"),
        (
            lambda: ContinuousProcessingTimeTrigger.of(ms(-1)),
            "ContinuousProcessingTimeTrigger: interval must be",
        ),
        (
            lambda: ProcessingTimeoutTrigger.of(CountTrigger.of(1), ms(0)),
            "ProcessingTimeoutTrigger: timeout must be longer than 0 ms",
        ),
    ],
)
def test_triggers_that_cannot_be_are_refused(build: Callable[[], Trigger], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DeltaTrigger.of(1, NOTHING), r"DeltaTrigger: expected a function \(old, new\) -> number, got None"),
        (lambda: PurgingTrigger.of(A_CLASS), "PurgingTrigger: expected a Trigger such as CountTrigger.of"),
        (lambda: ProcessingTimeoutTrigger.of(NOTHING, ms(1)), "ProcessingTimeoutTrigger: expected a Trigger such as"),
        (lambda: check_trigger(5, "trigger"), r"trigger: expected a Trigger such as CountTrigger.of\(10\), got 5"),
    ],
)
def test_what_is_no_trigger_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        build()
