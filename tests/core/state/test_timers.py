from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.core.state.timers import MemoryTimerQueue, Timer, TimerService
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError
from tidegate.testing import ManualClock


class Timers(TimerService):
    """A timer service that keeps what fired, and calls back."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.fired: list[tuple[int, Any]] = []
        self.seen_watermarks: list[int] = []
        self.react: Callable[[Timer], None] = lambda timer: None
        super().__init__(
            MemoryTimerQueue(),
            MemoryTimerQueue(),
            self.clock,
            on_event_time=self._on_timer,
            on_processing_time=self._on_timer,
        )

    def _on_timer(self, timer: Timer) -> None:
        self.fired.append((timer.timestamp, timer.key))
        self.seen_watermarks.append(self.current_watermark)
        self.react(timer)

    def take(self) -> list[tuple[int, Any]]:
        fired, self.fired = self.fired, []
        return fired


@pytest.fixture
def timers() -> Timers:
    return Timers()


def test_event_time_timers_fire_at_or_before_the_watermark_earliest_first(timers: Timers) -> None:
    for timestamp in (30, 10, 20):
        timers.register_event_time(timestamp, "a")
    assert timers.advance_watermark(20)
    assert timers.take() == [(10, "a"), (20, "a")]


def test_processing_time_timers_fire_when_the_clock_has_passed_them(timers: Timers) -> None:
    timers.register_processing_time(999, "a")
    timers.clock.advance_to(999)
    timers.advance_processing_time()
    assert timers.take() == []
    timers.clock.advance_to(1000)
    timers.advance_processing_time()
    assert timers.take() == [(999, "a")]


def test_the_two_times_are_separate(timers: Timers) -> None:
    timers.register_event_time(5, "event")
    timers.register_processing_time(5, "clock")
    timers.advance_watermark(MAX_TIME)
    assert timers.take() == [(5, "event")]


def test_registering_twice_is_once(timers: Timers) -> None:
    timers.register_event_time(5, "a")
    timers.register_event_time(5, "a")
    timers.register_event_time(5, "b")
    timers.register_event_time(5, "a", "namespace")
    timers.advance_watermark(5)
    assert timers.take() == [(5, "a"), (5, "b"), (5, "a")]
    assert timers.num_fired_timers == 3


def test_a_deleted_timer_does_not_fire_and_may_be_registered_again(timers: Timers) -> None:
    timers.register_event_time(5, "a")
    timers.delete_event_time(5, "a")
    timers.delete_event_time(5, "never there")
    timers.advance_watermark(5)
    assert timers.take() == []
    timers.register_event_time(6, "a")
    timers.delete_event_time(6, "a")
    timers.register_event_time(6, "a")
    timers.advance_watermark(6)
    assert timers.take() == [(6, "a")]


def test_a_processing_time_timer_can_be_deleted(timers: Timers) -> None:
    timers.register_processing_time(5, "a")
    timers.delete_processing_time(5, "a")
    timers.clock.advance_to(100)
    timers.advance_processing_time()
    assert timers.take() == []


def test_in_the_callback_the_watermark_is_already_the_new_one(timers: Timers) -> None:
    assert timers.current_watermark == MIN_TIME
    timers.register_event_time(5, "a")
    timers.advance_watermark(50)
    assert timers.seen_watermarks == [50]


def test_a_timer_registered_in_a_callback_at_or_before_the_watermark_fires_in_the_same_advance(timers: Timers) -> None:
    timers.react = lambda timer: timers.register_event_time(timer.timestamp + 10, timer.key)
    timers.register_event_time(5, "a")
    timers.advance_watermark(30)
    assert timers.take() == [(5, "a"), (15, "a"), (25, "a")]


def test_a_timer_registered_in_the_past_fires_at_the_next_advance(timers: Timers) -> None:
    timers.advance_watermark(50)
    timers.register_event_time(5, "a")
    assert timers.take() == []
    timers.advance_watermark(51)
    assert timers.take() == [(5, "a")]


def test_the_end_of_input_fires_every_event_time_timer_also_at_the_end_of_time(timers: Timers) -> None:
    for timestamp in (MAX_TIME, MIN_TIME, 0):
        timers.register_event_time(timestamp, "a")
    timers.advance_watermark(MAX_TIME)
    assert [timestamp for timestamp, _ in timers.take()] == [MIN_TIME, 0, MAX_TIME]


# Interruption


def test_an_advance_can_stop_after_each_timer_and_go_on(timers: Timers) -> None:
    for timestamp in (1, 2, 3):
        timers.register_event_time(timestamp, "a")
    assert not timers.advance_watermark(10, lambda: True)
    assert timers.take() == [(1, "a")]
    assert not timers.advance_watermark(10, lambda: True)
    assert timers.take() == [(2, "a")]
    assert timers.advance_watermark(10, lambda: True)
    assert timers.take() == [(3, "a")]
    assert timers.advance_watermark(10, lambda: True)
    assert timers.num_fired_timers == 3


def test_a_stop_that_comes_with_the_last_timer_is_none(timers: Timers) -> None:
    timers.register_event_time(1, "a")
    timers.register_event_time(99, "later")
    assert timers.advance_watermark(10, lambda: True)


def test_an_advance_that_is_not_stopped_fires_all(timers: Timers) -> None:
    for timestamp in range(5):
        timers.register_event_time(timestamp, "a")
    calls = itertools.count()
    assert not timers.advance_watermark(10, lambda: next(calls) == 2)
    assert len(timers.take()) == 3


# The queue


def test_a_queue_survives_a_restart_with_its_order() -> None:
    queue = MemoryTimerQueue()
    for timestamp, key in ((5, "b"), (5, "a"), (1, "z"), (5, "c")):
        queue.add(timestamp, key, None)
    queue.remove(5, "a", None)
    restored = MemoryTimerQueue()
    restored.restore(queue.snapshot())
    assert len(restored) == 3
    assert restored.next_timestamp() == 1
    assert [restored.pop_until(9) for _ in range(4)] == [(1, "z", None), (5, "b", None), (5, "c", None), None]
    assert restored.next_timestamp() is None


def test_many_deleted_timers_do_not_stay_in_memory() -> None:
    queue = MemoryTimerQueue()
    for timestamp in range(10_000):
        queue.add(timestamp, "a", None)
        queue.remove(timestamp, "a", None)
    assert len(queue) == 0
    assert len(queue._heap) < 200


def test_a_queue_refuses_a_snapshot_of_something_else() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'timers'"):
        MemoryTimerQueue().restore({"kind": "valve", "version": 1})


# Refused


@pytest.mark.parametrize("timestamp", ["5", 1.5, True, None])
def test_a_timer_is_set_to_milliseconds(timers: Timers, timestamp: Any) -> None:
    with pytest.raises(InvalidTypeError, match="register_event_time_timer: a timestamp is an integer in milliseconds"):
        timers.register_event_time(timestamp, "a")
    with pytest.raises(InvalidTypeError, match="register_processing_time_timer: a timestamp is an integer"):
        timers.register_processing_time(timestamp, "a")


@pytest.mark.parametrize("timestamp", [2**63, -(2**63) - 1])
def test_a_timer_must_fit_into_64_bits(timers: Timers, timestamp: int) -> None:
    with pytest.raises(InvalidValueError, match="does not fit into 64 bits"):
        timers.register_processing_time(timestamp, "a")
    with pytest.raises(InvalidValueError, match="does not fit into 64 bits"):
        timers.register_event_time(timestamp, "a")
