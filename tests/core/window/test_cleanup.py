"""When a window is forgotten, also if the lateness is another after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.window.windowing import Windowing, ms

from tidegate.core.state.timers import MemoryTimerQueue
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.window.assigners import EventTimeSessionWindows, TumblingEventTimeWindows
from tidegate.core.window.cleanup import Cleanup
from tidegate.core.window.windows import GlobalWindow, TimeWindow

WINDOW = TimeWindow(0, 10)


def lives(*latenesses: int) -> tuple[Cleanup, MemoryTimerQueue]:
    """What cleans up after restarts: a job had all these latenesses, and WINDOW is open since the first."""
    timers = MemoryTimerQueue()
    cleanup = Cleanup(latenesses[0], timers)
    cleanup.register("a", WINDOW)
    for lateness in latenesses[1:]:
        before, cleanup = cleanup, Cleanup(lateness, timers)
        cleanup.restore(before.snapshot())
    return cleanup, timers


def forgotten(cleanup: Cleanup, timers: MemoryTimerQueue, until: int = MAX_TIME) -> list[int]:
    """The times at which windows are forgotten while the watermark goes on."""
    times = []
    while (timer := timers.pop_until(until)) is not None:
        if cleanup.is_due(timer.key, timer.namespace, timer.timestamp):
            times.append(timer.timestamp)
    return times


# One lateness


@given(st.integers(0, 1_000))
def test_a_window_is_forgotten_at_its_last_timestamp_and_the_lateness(lateness: int) -> None:
    cleanup, timers = lives(lateness)
    assert cleanup.time(WINDOW) == 9 + lateness
    assert forgotten(cleanup, timers, 8 + lateness) == []
    assert forgotten(cleanup, timers) == [9 + lateness]


def test_other_timers_of_a_window_do_not_end_it() -> None:
    cleanup, timers = lives(5)
    assert [time for time in range(20) if cleanup.is_due("a", WINDOW, time)] == [14]
    assert len(timers) == 1


def test_each_key_has_its_own_timer_set_once() -> None:
    cleanup, timers = lives(5)
    for key in ("a", "b", "b"):
        cleanup.register(key, WINDOW)
    assert forgotten(cleanup, timers) == [14, 14]


def test_a_window_that_was_merged_is_not_waited_for() -> None:
    cleanup, timers = lives(5)
    cleanup.register("b", WINDOW)
    cleanup.delete("a", WINDOW)
    timer = timers.pop_until(MAX_TIME)
    assert timer == (14, "b", WINDOW)
    assert len(timers) == 0


@pytest.mark.parametrize(
    ("window", "lateness", "num_timers"),
    [
        (TimeWindow(0, 10), MAX_TIME, 0),
        (TimeWindow(0, 10), MAX_TIME - 9, 0),
        (TimeWindow(0, 10), MAX_TIME - 10, 1),
        (TimeWindow(0, MAX_TIME), 0, 1),
        (TimeWindow(0, MAX_TIME), 1, 0),
        (GlobalWindow(), 0, 0),
    ],
)
def test_nothing_is_set_for_the_end_of_time(window: Any, lateness: int, num_timers: int) -> None:
    timers = MemoryTimerQueue()
    cleanup = Cleanup(lateness, timers)
    cleanup.register("a", window)
    assert len(timers) == num_timers
    assert cleanup.time(window) == (MAX_TIME if num_timers == 0 else MAX_TIME - 1)
    cleanup.delete("a", window)
    assert len(timers) == 0


# Another lateness after a restart


def test_a_longer_lateness_keeps_a_window_that_is_open() -> None:
    assert forgotten(*lives(5, 8)) == [17]


def test_only_the_timer_that_an_earlier_run_has_set_gives_way_to_another() -> None:
    cleanup, timers = lives(5, 8)
    assert not any(cleanup.is_due("a", WINDOW, time) for time in range(14))
    assert len(timers) == 1
    assert not cleanup.is_due("a", WINDOW, 14)
    assert len(timers) == 2


def test_a_shorter_lateness_forgets_an_open_window_by_the_timer_that_it_has() -> None:
    assert forgotten(*lives(5, 0)) == [14]


def test_an_open_window_may_be_kept_without_end() -> None:
    cleanup, timers = lives(5, MAX_TIME)
    assert forgotten(cleanup, timers) == []
    assert len(timers) == 0


def test_latenesses_of_all_runs_before_are_remembered() -> None:
    cleanup, _ = lives(5, 8, 3, 8, 5, 5)
    assert sorted(cleanup.snapshot()) == [3, 5, 8]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=1, max_size=5))
def test_whatever_the_restarts_a_window_is_forgotten_once_over_and_no_timer_is_left(
    runs: list[tuple[int, int]],
) -> None:
    """Each run has a lateness, and a time by which the watermark goes on; the window gets elements while it may."""
    timers = MemoryTimerQueue()
    saved: list[int] = []
    watermark, is_kept = 0, True
    for number, (lateness, step) in enumerate(runs):
        cleanup = Cleanup(lateness, timers)
        cleanup.restore(saved)
        if is_kept and cleanup.time(WINDOW) > watermark:
            cleanup.register("a", WINDOW)
        watermark = watermark + step if number < len(runs) - 1 else 1_000
        times = forgotten(cleanup, timers, watermark)
        longest = max(lateness for lateness, _ in runs[: number + 1])
        assert all(9 + lateness <= time <= 9 + longest for time in times)
        is_kept = is_kept and not times
        saved = cleanup.snapshot()
    assert not is_kept
    assert len(timers) == 0


@pytest.mark.parametrize(
    "assigner",
    [TumblingEventTimeWindows.of(ms(10)), EventTimeSessionWindows.with_gap(ms(9))],
    ids=["tumbling", "session"],
)
@pytest.mark.parametrize(("before", "after"), [(0, 5), (5, 0), (5, 8), (8, 5)])
def test_an_open_window_of_an_operator_takes_late_elements_by_the_lateness_of_now(
    assigner: Any, before: int, after: int
) -> None:
    first = Windowing(assigner, lateness=before)
    first.add("early", 1)
    again = Windowing(assigner, lateness=after)
    again.restore(first.snapshot())
    assert [values for _, _, values in again.advance(9)] == [["early"]]
    again.advance(9 + after - 1)
    late = again.add("late", 1)
    assert [values for _, _, values in late] == ([["early", "late"]] if after else [])
    again.advance(9 + after)
    assert again.add("too late", 1) == []
    again.advance(9 + max(before, after))
    operator: Any = again._operator
    operator.snapshot()
    assert list(operator.state.store.keys()) == []
    assert len(operator.context.event_timers) == 0
