from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.core.window.windowing import Windowing, ms

from tidegate.core.window.assigners import EventTimeSessionWindows, GlobalWindows, TumblingEventTimeWindows
from tidegate.core.window.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from tidegate.core.window.triggers import CountTrigger
from tidegate.errors import InvalidTypeError, InvalidValueError

TUMBLING = TumblingEventTimeWindows.of(ms(100))
NOTHING: Any = None
EVERY = CountTrigger.of(1)


def distance(old: Any, new: Any) -> float:
    return float(abs(new[1] - old[1]))


def seen(evictor: Evictor, elements: list[tuple[Any, int | None]]) -> list[list[Any]]:
    """What the function saw at each of the elements, under a trigger that fires for every one."""
    harness = Windowing(GlobalWindows.create(), EVERY, evictor)
    return [harness.add(value, timestamp)[0].values for value, timestamp in elements]


def test_a_count_evictor_keeps_the_elements_that_came_last() -> None:
    assert seen(CountEvictor.of(2), [(n, None) for n in range(4)]) == [[0], [0, 1], [1, 2], [2, 3]]


def test_an_evictor_may_evict_after_the_function() -> None:
    assert seen(CountEvictor.of(1, do_evict_after=True), [(n, None) for n in range(3)]) == [[0], [0, 1], [1, 2]]


def test_a_time_evictor_keeps_what_is_newer_than_the_newest_minus_the_span() -> None:
    elements: list[tuple[Any, int | None]] = [(0, 0), (10, 10), (5, 5), (14, 14)]
    assert seen(TimeEvictor.of(ms(10)), elements) == [[0], [10], [10, 5], [10, 5, 14]]


def test_a_time_evictor_keeps_elements_without_timestamps() -> None:
    assert seen(TimeEvictor.of(ms(10)), [(1, None), (2, None)]) == [[1], [1, 2]]


def test_a_delta_evictor_drops_what_is_far_from_the_last_element() -> None:
    elements: list[tuple[Any, int | None]] = [(0, None), (5, None), (2, None), (6, None)]
    assert seen(DeltaEvictor.of(5, distance), elements) == [[0], [5], [5, 2], [5, 2, 6]]


def test_an_evictor_works_with_windows_that_merge() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), evictor=TimeEvictor.of(ms(6)))
    for timestamp in (0, 12, 6):
        harness.add(timestamp, timestamp)
    assert [fired.values for fired in harness.advance(21)] == [[12]]


def test_evicted_elements_are_gone_for_the_next_firing_and_after_a_restart() -> None:
    harness = Windowing(TUMBLING, CountTrigger.of(2), CountEvictor.of(1))
    harness.add(1, 0)
    assert harness.add(2, 0)[0].values == [2]
    harness.restore(harness.snapshot())
    harness.add(3, 0)
    harness_fired = harness.add(4, 0)
    assert harness_fired[0].values == [4]


class DropsOdd(Evictor):
    """Drops odd numbers before the function, and everything after it once the watermark is above zero."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.times: list[int] = []

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        self.sizes.append(size)
        self.times.append(ctx.get_current_processing_time())
        elements[:] = [element for element in elements if element.value[1] % 2 == 0]

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        if ctx.get_current_watermark() > 0:
            elements.clear()


def test_a_user_may_write_an_evictor() -> None:
    evictor = DropsOdd()
    harness = Windowing(TUMBLING, CountTrigger.of(3), evictor)
    harness.set_processing_time(7)
    for number in (1, 2):
        harness.add(number, 0)
    assert harness.add(3, 0)[0].values == [2]
    harness.advance(5)
    for number in (4, 5):
        harness.add(number, 10)
    assert harness.add(6, 10)[0].values == [2, 4, 6]
    for number in (7, 8):
        harness.add(number, 10)
    assert harness.add(9, 10)[0].values == [8]
    assert evictor.sizes == [3, 4, 3]
    assert evictor.times == [7, 7, 7]


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (
            lambda: CountEvictor.of(-1),
            InvalidValueError,
            "the count must be an integer of 0 or more, got -1",
        ),
        (lambda: CountEvictor.of(True), InvalidValueError, "CountEvictor: the count must be an integer"),
        (lambda: TimeEvictor.of(ms(0)), InvalidValueError, "TimeEvictor: span must be longer than 0 ms, got 0 ms"),
        (
            lambda: DeltaEvictor.of(1, NOTHING),
            InvalidTypeError,
            r"DeltaEvictor: expected a function \(old, new\) -> number, got None",
        ),
    ],
)
def test_evictors_that_cannot_be_are_refused(build: Callable[[], Evictor], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        build()
