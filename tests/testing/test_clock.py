from __future__ import annotations

import pytest

from tidegate.errors import InvalidValueError
from tidegate.testing import ManualClock


def test_a_manual_clock_starts_at_zero_and_stands_still() -> None:
    clock = ManualClock()
    assert [clock(), clock()] == [0, 0]


def test_a_manual_clock_moves_when_told() -> None:
    clock = ManualClock(100)
    clock.advance(20)
    times = [clock()]
    clock.advance_to(500)
    times.append(clock())
    assert times == [120, 500]


def test_processing_time_does_not_go_back() -> None:
    clock = ManualClock(100)
    clock.advance_to(100)
    with pytest.raises(InvalidValueError, match="processing time does not go back: it is 100, asked for 99"):
        clock.advance_to(99)
