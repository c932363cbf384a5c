"""Laws of timers: a set, earliest first, whatever is registered and deleted while it fires."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.state.timers import MemoryTimerQueue, Timer, TimerService
from tidegate.testing import ManualClock


class Deed(NamedTuple):
    """Something done to the timers: `verb` is register, delete or advance."""

    verb: str
    timestamp: int
    key: int = 0
    namespace: int = 0


VERBS = ["register"] * 5 + ["delete"] * 2 + ["advance"]


def deeds_of(data: bytes) -> list[Deed]:
    """Deeds whose times grow; every advance is a little behind them, so that both past and future happen."""
    deeds = []
    for index in range(len(data) // 3):
        verb, shift, place = data[index * 3 : index * 3 + 3]
        deeds.append(Deed(VERBS[verb % len(VERBS)], index + shift % 12 - 5, place % 3, place // 8 % 2))
    return deeds


scripts = st.binary(min_size=60, max_size=180).map(deeds_of)


def reactions(timer: Timer) -> list[Deed]:
    """What the callback does when a timer fires: some register more, at, before or after now, and some delete."""
    timestamp, key, namespace = timer
    if timestamp % 5 == 0:
        return [Deed("register", timestamp + 1, key, 1 - namespace), Deed("register", timestamp - 3, key + 10)]
    if timestamp % 7 == 1:
        return [Deed("delete", timestamp + 2, key, namespace), Deed("register", timestamp + 9, key, namespace)]
    return []


class Subject:
    """A timer service by event time or by the clock, and what it fired."""

    def __init__(self, *, by_clock: bool) -> None:
        self.by_clock = by_clock
        self.clock = ManualClock(-100)
        self.queue = MemoryTimerQueue()
        self.fired: list[Timer] = []
        self._serve()

    def do(self, deed: Deed) -> None:
        verb, timestamp, key, namespace = deed
        service = self.service
        if verb == "register":
            (service.register_processing_time if self.by_clock else service.register_event_time)(
                timestamp, key, namespace
            )
        elif verb == "delete":
            (service.delete_processing_time if self.by_clock else service.delete_event_time)(timestamp, key, namespace)
        else:
            self.advance(timestamp)

    def advance(self, timestamp: int, should_stop: Callable[[], bool] | None = None) -> bool:
        if not self.by_clock:
            return self.service.advance_watermark(timestamp, should_stop)
        self.clock.advance_to(max(timestamp, self.clock()))
        self.service.advance_processing_time()
        return True

    def restart(self) -> None:
        watermark = self.service.current_watermark
        saved = pickle.dumps(self.queue.snapshot())
        self.queue = MemoryTimerQueue()
        self.queue.restore(pickle.loads(saved))
        self._serve()
        self.service.current_watermark = watermark

    def _serve(self) -> None:
        empty = MemoryTimerQueue()
        self.service = TimerService(
            empty if self.by_clock else self.queue,
            self.queue if self.by_clock else empty,
            self.clock,
            on_event_time=self._on_timer,
            on_processing_time=self._on_timer,
        )

    def _on_timer(self, timer: Timer) -> None:
        self.fired.append(timer)
        for deed in reactions(timer):
            self.do(deed)


def check_by_a_set(subject: Subject, script: list[Deed]) -> None:
    """A plain set must agree with everything that the subject fires."""
    timers: set[tuple[int, int, int]] = set()

    def apply(deed: Deed) -> None:
        if deed.verb == "register":
            timers.add(deed[1:])
        elif deed.verb == "delete":
            timers.discard(deed[1:])

    reached = -100
    for deed in script:
        apply(deed)
        subject.do(deed)
        fired, subject.fired = subject.fired, []
        if deed.verb != "advance":
            assert not fired, "a timer in the past waits for the next advance"
            continue
        # By the clock a timer is due when it is strictly in the past, and time does not go back.
        reached = max(reached, deed.timestamp) if subject.by_clock else deed.timestamp
        last_due = reached - 1 if subject.by_clock else reached
        for timer in fired:
            assert tuple(timer) in timers
            assert timer.timestamp == min(timer[0] for timer in timers)
            assert timer.timestamp <= last_due
            timers.discard(tuple(timer))
            for reaction in reactions(timer):
                apply(reaction)
        assert all(timestamp > last_due for timestamp, _, _ in timers)
    assert len(subject.queue) == len(timers)


@given(scripts, st.booleans())
@settings(max_examples=150, deadline=None)
def test_timers_are_a_set_and_fire_earliest_first(script: list[Deed], by_clock: bool) -> None:
    check_by_a_set(Subject(by_clock=by_clock), script)


@given(scripts, st.booleans(), st.sets(st.integers(0, 60), max_size=5))
@settings(max_examples=100, deadline=None)
def test_ties_fire_in_the_same_order_on_every_run_and_after_every_restart(
    script: list[Deed], by_clock: bool, cuts: set[int]
) -> None:
    whole, stopped = Subject(by_clock=by_clock), Subject(by_clock=by_clock)
    for number, deed in enumerate(script):
        if number in cuts:
            stopped.restart()
        whole.do(deed)
        stopped.do(deed)
    assert stopped.fired == whole.fired


def whims(data: bytes) -> Iterator[bool]:
    while True:
        yield from (byte % 2 == 0 for byte in data)


@given(scripts, st.binary(min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_an_interrupted_advance_is_taken_up_where_it_stopped(script: list[Deed], data: bytes) -> None:
    whole, interrupted = Subject(by_clock=False), Subject(by_clock=False)
    stops = whims(data)
    for deed in script:
        whole.do(deed)
        if deed.verb != "advance":
            interrupted.do(deed)
            continue
        before = len(interrupted.fired)
        while not interrupted.advance(deed.timestamp, lambda: next(stops)):
            assert len(interrupted.fired) > before, "at least one fires each time"
            before = len(interrupted.fired)
            following = interrupted.queue.next_timestamp()
            assert following is not None
            assert following <= deed.timestamp
    assert interrupted.fired == whole.fired
    assert interrupted.service.num_fired_timers == whole.service.num_fired_timers == len(whole.fired)
