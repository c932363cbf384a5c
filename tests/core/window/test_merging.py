from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import pytest
from tests.core.window.windowing import LATE, Fired, Windowing, ms

from tidegate.core.function.functions import AggregateFunction
from tidegate.core.window.assigners import EventTimeSessionWindows, MergingWindowAssigner
from tidegate.core.window.merging import MergingWindowSet
from tidegate.core.window.trigger import Trigger, TriggerResult
from tidegate.core.window.triggers import DeltaTrigger, EventTimeTrigger
from tidegate.core.window.window_functions import AggregatedContents, ListContents
from tidegate.core.window.window_operator import WindowSpec
from tidegate.core.window.windows import TimeWindow
from tidegate.errors import InvalidValueError
from tidegate.testing import OneInputHarness


class SameStart(MergingWindowAssigner):
    """Windows `[0, value)`: those with the same start become the longest of them."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return (TimeWindow(timestamp, timestamp + element[1]),)

    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback) -> None:
        by_start: dict[int, list[TimeWindow]] = {}
        for window in windows:
            by_start.setdefault(window.start, []).append(window)
        for group in by_start.values():
            if len(group) > 1:
                callback.merge(group, max(group))

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class Merge(NamedTuple):
    result: Any
    merged: list[Any]
    state_window: Any
    merged_state_windows: list[Any]


class Sessions:
    """A set of merging windows, with the merges that it reported."""

    def __init__(self, *live: tuple[int, int], assigner: MergingWindowAssigner | None = None) -> None:
        self.live: dict[Any, Any] = {TimeWindow(*span): TimeWindow(*span) for span in live}
        self.merges: list[Merge] = []
        self._set = MergingWindowSet(assigner or EventTimeSessionWindows.with_gap(ms(10))).at(self.live)

    def add(self, start: int, end: int, *, is_late: bool = False) -> Any:
        return self._set.add(TimeWindow(start, end), lambda window: not is_late, self._on_merge)

    def _on_merge(self, *merge: Any) -> None:
        self.merges.append(Merge(*merge))


def test_a_window_that_touches_no_other_stays_alone() -> None:
    sessions = Sessions((0, 10))
    assert sessions.add(11, 20) == TimeWindow(11, 20)
    assert sessions.merges == []
    assert list(sessions.live) == [TimeWindow(0, 10), TimeWindow(11, 20)]


def test_a_growing_window_keeps_its_state_where_it_is() -> None:
    sessions = Sessions((0, 10))
    assert sessions.add(10, 20) == TimeWindow(0, 20)
    assert sessions.add(15, 25) == TimeWindow(0, 25)
    assert sessions.live == {TimeWindow(0, 25): TimeWindow(0, 10)}


def test_a_window_may_bring_others_together() -> None:
    sessions = Sessions((0, 10), (20, 30))
    assert sessions.add(5, 25) == TimeWindow(0, 30)
    assert sessions.merges == [
        Merge(TimeWindow(0, 30), [TimeWindow(0, 10), TimeWindow(20, 30)], TimeWindow(0, 10), [TimeWindow(20, 30)])
    ]
    assert sessions.live == {TimeWindow(0, 30): TimeWindow(0, 10)}


@pytest.mark.parametrize("inside", [(0, 10), (3, 7)])
def test_a_window_inside_a_live_one_merges_nothing(inside: tuple[int, int]) -> None:
    sessions = Sessions((0, 10))
    assert sessions.add(*inside) == TimeWindow(0, 10)
    assert sessions.merges == []


@pytest.mark.parametrize("assigner", [EventTimeSessionWindows.with_gap(ms(10)), SameStart()])
def test_a_window_that_would_be_late_is_not_created(assigner: MergingWindowAssigner) -> None:
    sessions = Sessions((0, 10), assigner=assigner)
    before = dict(sessions.live)
    assert sessions.add(15, 25, is_late=True) is None
    assert sessions.live == before
    assert sessions.merges == []


def test_a_merge_that_would_be_late_changes_nothing() -> None:
    sessions = Sessions((0, 10), assigner=SameStart())
    before = dict(sessions.live)
    assert sessions.add(0, 15, is_late=True) is None
    assert sessions.live == before
    assert sessions.merges == []


# In the operator


def test_sessions_merge_and_the_function_sees_one_window() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)))
    for timestamp in (0, 20, 10):
        harness.add(timestamp, timestamp)
    harness.add("other key", 5, key="b")
    assert sorted(harness.advance(14)) == [Fired("b", (5, 15), ["other key"])]
    assert harness.advance(29) == [Fired("a", (0, 30), [0, 20, 10])]


def test_an_element_whose_session_would_be_late_is_late() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), late_output=LATE)
    harness.advance(30)
    assert harness.add("late", 20) == []
    assert [record.value for record in harness.side_outputs(LATE)] == [("a", "late")]


def test_an_old_element_is_taken_by_a_session_that_is_not_late() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), late_output=LATE)
    harness.add("new", 25)
    harness.advance(28)
    assert harness.add("old", 16) == []
    assert harness.advance(34) == [Fired("a", (16, 35), ["new", "old"])]
    assert harness.side_outputs(LATE) == []


def test_an_allowed_late_element_makes_a_session_longer_that_has_fired() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), lateness=50)
    harness.add(1, 0)
    assert harness.advance(9) == [Fired("a", (0, 10), [1])]
    assert harness.add(2, 8) == []
    assert harness.advance(17) == [Fired("a", (0, 18), [1, 2])]
    assert harness.add(3, 2) == [Fired("a", (0, 18), [1, 2, 3])]


def test_a_session_that_was_cleaned_up_is_not_found_again() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), lateness=5)
    harness.add(1, 0)
    assert harness.advance(14) == [Fired("a", (0, 10), [1])]
    assert harness.add(2, 9) == []
    assert harness.advance(18) == [Fired("a", (9, 19), [2])]


class LongestOf(AggregateFunction):
    """Without `merge`."""

    def create_accumulator(self) -> Any:
        return ""

    def add(self, value: Any, accumulator: Any) -> Any:
        return max(value[1], accumulator, key=len)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


def test_an_aggregate_function_without_merge_says_that_sessions_need_it() -> None:
    spec = WindowSpec(EventTimeSessionWindows.with_gap(ms(10)), AggregatedContents(LongestOf()))
    harness = OneInputHarness(spec, key_selector=0)
    harness.process_element(("a", "x"), 0)
    harness.process_element(("a", "xx"), 15)
    with pytest.raises(InvalidValueError, match=r"LongestOf\.merge is not written, and session windows need it"):
        harness.process_element(("a", "xxx"), 8)


def test_a_trigger_that_cannot_merge_is_refused_with_sessions() -> None:
    with pytest.raises(InvalidValueError, match="DeltaTrigger cannot merge, and EventTimeSessionWindows merges"):
        WindowSpec(
            EventTimeSessionWindows.with_gap(ms(10)), ListContents(), trigger=DeltaTrigger.of(1, lambda a, b: 0.0)
        )


class NoMerge(EventTimeTrigger):
    def can_merge(self) -> bool:
        return False

    def on_merge(self, window: Any, ctx: Any) -> None:
        Trigger.on_merge(self, window, ctx)


def test_a_trigger_that_is_asked_to_merge_and_cannot_says_so() -> None:
    with pytest.raises(InvalidValueError, match="NoMerge cannot merge windows"):
        NoMerge().on_merge(TimeWindow(0, 1), None)


# Of users


def test_a_user_may_say_which_windows_merge() -> None:
    harness = Windowing(SameStart())
    for value, timestamp in ((10, 0), (30, 0), (20, 5), (20, 0)):
        harness.add(value, timestamp)
    assert harness.advance(24) == [Fired("a", (5, 25), [20])]
    assert harness.advance(29) == [Fired("a", (0, 30), [10, 30, 20])]


class CountedMerges(EventTimeTrigger):
    """Fires once two windows became one."""

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        super().on_merge(window, ctx)
        ctx.register_event_time_timer(window.start)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE


def test_timers_that_a_trigger_sets_when_windows_merge_belong_to_the_merged_one() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), CountedMerges())
    harness.add(1, 5)
    harness.add(2, 12)
    assert harness.advance(5) == [Fired("a", (5, 22), [1, 2])]
    assert harness.advance(21) == [Fired("a", (5, 22), [1, 2])]
