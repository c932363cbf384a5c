from __future__ import annotations

import json

import pytest

from tidegate.core.watermark.idleness import IdlenessCountdown
from tidegate.errors import InvalidValueError


def counting(timeout: int = 100, *, since: int) -> IdlenessCountdown:
    """A countdown that runs since the given time."""
    countdown = IdlenessCountdown(timeout)
    countdown.probe(since)
    return countdown


def test_the_countdown_starts_at_the_first_quiet_probe_and_not_at_the_last_event() -> None:
    countdown = IdlenessCountdown(100)
    countdown.event()
    assert [countdown.probe(now) for now in (50, 90, 190, 191)] == [False, False, False, True]


def test_exactly_the_timeout_is_not_yet_idle() -> None:
    countdown = counting(100, since=50)
    assert [countdown.probe(now) for now in (150, 151)] == [False, True]


def test_idleness_is_reported_once() -> None:
    countdown = counting(100, since=0)
    assert [countdown.probe(now) for now in (101, 102, 900)] == [True, False, False]
    assert countdown.is_idle


def test_an_event_restarts_the_countdown() -> None:
    countdown = counting(100, since=0)
    countdown.event()
    assert [countdown.probe(now) for now in (101, 110, 210, 211)] == [False, False, False, True]


def test_an_event_ends_the_idle_phase_at_once() -> None:
    countdown = counting(100, since=0)
    countdown.probe(101)
    assert countdown.event()
    assert not countdown.is_idle


def test_an_event_of_an_active_channel_ends_nothing() -> None:
    assert not IdlenessCountdown(100).event()


def test_the_clock_stands_still_while_the_channel_is_not_read() -> None:
    countdown = counting(100, since=0)
    countdown.pause(60)
    assert [countdown.probe(now) for now in (200, 5_000)] == [False, False]
    countdown.resume(5_000)
    assert [countdown.probe(now) for now in (5_040, 5_041)] == [False, True]


def test_no_countdown_starts_while_the_channel_is_not_read() -> None:
    countdown = IdlenessCountdown(100)
    countdown.pause(0)
    countdown.probe(10)
    countdown.resume(1_000)
    assert [countdown.probe(now) for now in (1_000, 1_100, 1_101)] == [False, False, True]


def test_a_second_pause_does_not_move_the_first() -> None:
    countdown = counting(100, since=0)
    countdown.pause(60)
    countdown.pause(500)
    countdown.resume(1_000)
    assert [countdown.probe(now) for now in (1_040, 1_041)] == [False, True]


def test_resume_without_pause_does_nothing() -> None:
    countdown = counting(100, since=0)
    countdown.resume(90)
    assert countdown.probe(101)


def test_an_event_during_a_pause_restarts_the_countdown() -> None:
    countdown = counting(100, since=0)
    countdown.pause(60)
    countdown.event()
    countdown.probe(70)
    countdown.resume(1_000)
    assert [countdown.probe(now) for now in (1_000, 1_100, 1_101)] == [False, False, True]


def test_a_pause_keeps_an_idle_channel_idle() -> None:
    countdown = counting(100, since=0)
    countdown.probe(101)
    countdown.pause(110)
    countdown.resume(500)
    assert countdown.is_idle


def test_a_restart_keeps_the_status() -> None:
    before, after = counting(100, since=0), IdlenessCountdown(100)
    before.probe(101)
    after.restore(json.loads(json.dumps(before.snapshot())))
    assert after.is_idle


def test_after_a_restart_the_countdown_starts_anew() -> None:
    before, after = counting(100, since=0), IdlenessCountdown(100)
    after.restore(json.loads(json.dumps(before.snapshot())))
    assert [after.probe(now) for now in (90_000, 90_100, 90_101)] == [False, False, True]


def test_a_restart_ends_a_pause() -> None:
    before = counting(100, since=0)
    before.pause(10)
    before.restore(before.snapshot())
    assert [before.probe(now) for now in (20, 120, 121)] == [False, False, True]


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_is_not_positive_is_refused(timeout: int) -> None:
    with pytest.raises(InvalidValueError, match=f"idle timeout must be longer than 0 ms, got {timeout} ms"):
        IdlenessCountdown(timeout)
