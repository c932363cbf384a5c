from __future__ import annotations

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.lowest import LowestWatermark


def test_without_channels_there_is_no_minimum() -> None:
    assert LowestWatermark().get() is None


def test_the_minimum_follows_a_channel_that_moves() -> None:
    lowest = LowestWatermark()
    lowest.put(0, 10)
    lowest.put(1, 20)
    minima = [lowest.get()]
    lowest.put(0, 30)
    minima.append(lowest.get())
    lowest.put(0, 5)
    minima.append(lowest.get())
    assert minima == [10, 20, 5]


def test_a_discarded_channel_no_longer_counts() -> None:
    lowest = LowestWatermark()
    lowest.put(0, 10)
    lowest.put(1, 20)
    lowest.discard(0)
    assert lowest.get() == 20
    assert 0 not in lowest
    assert 1 in lowest
    assert len(lowest) == 1


def test_discarding_what_is_not_there_does_nothing() -> None:
    lowest = LowestWatermark()
    lowest.put(0, 10)
    lowest.discard(7)
    assert lowest.get() == 10


def test_a_channel_that_comes_back_counts_with_its_new_watermark() -> None:
    lowest = LowestWatermark()
    lowest.put(0, 10)
    lowest.discard(0)
    lowest.put(0, 15)
    assert lowest.get() == 15


def test_two_channels_at_the_minimum_both_have_to_leave_it() -> None:
    lowest = LowestWatermark()
    lowest.put(0, 10)
    lowest.put(1, 10)
    lowest.discard(0)
    assert lowest.get() == 10


def test_a_channel_that_moves_for_long_leaves_no_waste_behind() -> None:
    lowest = LowestWatermark()
    lowest.put(0, MIN_TIME)
    for watermark in range(10_000):
        lowest.put(1, watermark)
    assert lowest.get() == MIN_TIME
    assert len(lowest._heap) < 200
