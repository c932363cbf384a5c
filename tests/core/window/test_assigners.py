from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from tests.core.window.windowing import Fired, Windowing, ms

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.window.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from tidegate.core.window.evictors import CountEvictor
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from tidegate.core.window.windows import GlobalWindow, TimeWindow
from tidegate.errors import InvalidTypeError, InvalidValueError


class At(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int) -> None:
        self._now = now

    def get_current_processing_time(self) -> int:
        return self._now

    def get_runtime_context(self) -> Any:
        return None


def spans(assigner: WindowAssigner, timestamp: int = MIN_TIME, *, now: int = 0, element: Any = None) -> list[Any]:
    return [tuple(window) for window in assigner.assign_windows(element, timestamp, At(now))]


# Tumbling


@pytest.mark.parametrize(("timestamp", "start"), [(0, 0), (999, 0), (1000, 1000), (-1, -1000)])
def test_tumbling_windows_lie_side_by_side(timestamp: int, start: int) -> None:
    assert spans(TumblingEventTimeWindows.of(ms(1000)), timestamp) == [(start, start + 1000)]


@pytest.mark.parametrize(("offset", "start"), [(100, 100), (-100, -100), (999, -1)])
def test_an_offset_moves_tumbling_windows(offset: int, start: int) -> None:
    assert spans(TumblingEventTimeWindows.of(ms(1000), ms(offset)), 150) == [(start, start + 1000)]


def test_tumbling_windows_by_the_clock_ignore_the_timestamp() -> None:
    assert spans(TumblingProcessingTimeWindows.of(ms(10)), 999, now=25) == [(20, 30)]


def test_a_window_at_the_end_of_time_stays_within_64_bits() -> None:
    ((start, end),) = spans(TumblingEventTimeWindows.of(ms(1000)), MAX_TIME)
    assert MIN_TIME <= start < end == MAX_TIME


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(ms(1000)), SlidingEventTimeWindows.of(ms(1000), ms(300))]
)
def test_a_window_at_the_beginning_of_time_stays_within_64_bits(assigner: WindowAssigner) -> None:
    found = spans(assigner, MIN_TIME + 1)
    assert found
    assert all(MIN_TIME <= start < end for start, end in found)


# Sliding


def test_an_element_is_in_every_sliding_window_that_holds_its_time() -> None:
    assert sorted(spans(SlidingEventTimeWindows.of(ms(10), ms(4)), 9)) == [(0, 10), (4, 14), (8, 18)]


def test_an_offset_moves_sliding_windows() -> None:
    assert sorted(spans(SlidingEventTimeWindows.of(ms(10), ms(5), ms(2)), 9)) == [(2, 12), (7, 17)]


def test_sliding_windows_are_right_below_zero() -> None:
    assert sorted(spans(SlidingEventTimeWindows.of(ms(10), ms(5)), -1)) == [(-10, 0), (-5, 5)]


def test_windows_that_slide_further_than_they_are_long_leave_gaps() -> None:
    assigner = SlidingEventTimeWindows.of(ms(3), ms(10))
    assert [spans(assigner, timestamp) for timestamp in (2, 3, 9, 10)] == [[(0, 3)], [], [], [(10, 13)]]


def test_sliding_windows_by_the_clock_ignore_the_timestamp() -> None:
    assert sorted(spans(SlidingProcessingTimeWindows.of(ms(10), ms(5)), 999, now=12)) == [(5, 15), (10, 20)]


# Sessions


def test_a_session_reaches_from_the_element_to_the_gap_behind_it() -> None:
    assert spans(EventTimeSessionWindows.with_gap(ms(10)), 7) == [(7, 17)]
    assert spans(ProcessingTimeSessionWindows.with_gap(ms(10)), 7, now=100) == [(100, 110)]


class GapInElement(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element)


@pytest.mark.parametrize("extractor", [GapInElement(), lambda element: int(element)])
def test_a_gap_may_depend_on_the_element(extractor: Any) -> None:
    assert spans(EventTimeSessionWindows.with_dynamic_gap(extractor), 7, element="5") == [(7, 12)]
    assert spans(ProcessingTimeSessionWindows.with_dynamic_gap(extractor), now=1, element="5") == [(1, 6)]


@pytest.mark.parametrize("gap", [0, -1, True, 1.5, None])
def test_a_dynamic_gap_that_is_no_span_names_the_element(gap: Any) -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda element: gap)
    with pytest.raises(InvalidValueError, match=r"the gap of 'x' must be an integer above 0 ms, got"):
        spans(assigner, 7, element="x")


def test_a_dynamic_gap_needs_something_to_call() -> None:
    with pytest.raises(InvalidTypeError, match=r"with_dynamic_gap: expected a SessionWindowTimeGapExtractor or a fun"):
        EventTimeSessionWindows.with_dynamic_gap(10)  # type: ignore[arg-type]


def test_a_session_at_the_end_of_time_stays_within_64_bits() -> None:
    assert spans(EventTimeSessionWindows.with_gap(ms(10)), MAX_TIME - 3) == [(MAX_TIME - 3, MAX_TIME)]


# Global and count


def test_everything_is_in_the_global_window() -> None:
    assert GlobalWindows.create().assign_windows("x", 5, At(0)) == (GlobalWindow(),)


def test_count_windows_fire_every_n_elements_and_keep_a_rest() -> None:
    harness = Windowing(CountTumblingWindowAssigner.of(2))
    assert [harness.add(n) for n in range(5)] == [
        [],
        [Fired("a", None, [0, 1])],
        [],
        [Fired("a", None, [2, 3])],
        [],
    ]
    assert harness.advance(MAX_TIME) == []


def test_sliding_count_windows_give_the_last_elements_also_before_there_are_enough() -> None:
    harness = Windowing(CountSlidingWindowAssigner.of(3, 2))
    fired = [values for n in range(6) for _, _, values in harness.add(n)]
    assert fired == [[0, 1], [1, 2, 3], [3, 4, 5]]


# What they say about themselves


@pytest.mark.parametrize(
    ("assigner", "trigger", "is_event_time"),
    [
        (TumblingEventTimeWindows.of(ms(1)), EventTimeTrigger, True),
        (TumblingProcessingTimeWindows.of(ms(1)), ProcessingTimeTrigger, False),
        (SlidingEventTimeWindows.of(ms(1), ms(1)), EventTimeTrigger, True),
        (SlidingProcessingTimeWindows.of(ms(1), ms(1)), ProcessingTimeTrigger, False),
        (EventTimeSessionWindows.with_gap(ms(1)), EventTimeTrigger, True),
        (EventTimeSessionWindows.with_dynamic_gap(lambda e: 1), EventTimeTrigger, True),
        (ProcessingTimeSessionWindows.with_gap(ms(1)), ProcessingTimeTrigger, False),
        (ProcessingTimeSessionWindows.with_dynamic_gap(lambda e: 1), ProcessingTimeTrigger, False),
        (GlobalWindows.create(), NeverTrigger, False),
        (GlobalWindows.create_with_end_of_stream_trigger(), EndOfStreamTrigger, False),
        (CountTumblingWindowAssigner.of(2), PurgingTrigger, False),
        (CountSlidingWindowAssigner.of(2, 1), CountTrigger, False),
    ],
)
def test_every_assigner_knows_its_time_and_its_trigger(
    assigner: WindowAssigner, trigger: type[Trigger], is_event_time: bool
) -> None:
    assert type(assigner.get_default_trigger(None)) is trigger
    assert assigner.is_event_time() is is_event_time
    assert assigner.get_window_serializer() is None


def test_only_sliding_count_windows_evict_by_themselves() -> None:
    assert isinstance(CountSlidingWindowAssigner.of(2, 1).get_default_evictor(), CountEvictor)
    assert CountTumblingWindowAssigner.of(2).get_default_evictor() is None


# Refused


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: TumblingEventTimeWindows.of(ms(0)),
            "TumblingEventTimeWindows: size must be longer than 0 ms, got 0",
        ),
        (lambda: TumblingProcessingTimeWindows.of(ms(-5)), "TumblingProcessingTimeWindows: size must be longer than 0"),
        (
            lambda: TumblingEventTimeWindows.of(ms(10), ms(10)),
            "TumblingEventTimeWindows: the offset must be smaller than the size 10 ms, got 10 ms",
        ),
        (lambda: SlidingEventTimeWindows.of(ms(0), ms(1)), "SlidingEventTimeWindows: size must be longer than 0 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(1), ms(-1)), "SlidingEventTimeWindows: slide must be longer than 0 ms"),
        (
            lambda: SlidingEventTimeWindows.of(ms(10), ms(5), ms(-5)),
            "SlidingEventTimeWindows: the offset must be smaller than the slide 5 ms, got -5 ms",
        ),
        (
            lambda: SlidingEventTimeWindows.of("1 day", ms(1)),
            "SlidingEventTimeWindows: 86400000 windows for each element are too many; use a longer slide",
        ),
        (lambda: EventTimeSessionWindows.with_gap(ms(-1)), "EventTimeSessionWindows: gap must be longer than 0 ms"),
        (lambda: CountTumblingWindowAssigner.of(0), "CountTrigger: the count must be an integer of 1 or more, got 0"),
        (lambda: CountSlidingWindowAssigner.of(-1, 1), "CountEvictor: the count must be an integer of 0 or more"),
    ],
)
def test_windows_that_cannot_be_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        build()


# Stagger


def test_natural_windows_start_with_the_first_element_of_the_clock() -> None:
    harness = Windowing(TumblingProcessingTimeWindows.of(ms(10), None, WindowStagger.NATURAL))
    harness.set_processing_time(13)
    harness.add(1)
    assert harness.at(24) == [Fired("a", (13, 23), [1])]


def test_random_windows_are_shifted_by_less_than_their_size_and_alike_on_every_run() -> None:
    def starts() -> list[tuple[int, ...] | None]:
        harness = Windowing(TumblingEventTimeWindows.of(ms(1000), None, WindowStagger.RANDOM))
        for timestamp in (100, 1100, 2100):
            harness.add("x", timestamp)
        return [span for _, span, _ in harness.advance(9999)]

    first = starts()
    assert starts() == first
    assert len(first) == 3
    assert all(span is not None and span[1] - span[0] == 1000 for span in first)


def test_a_restart_keeps_the_shift_of_staggered_windows() -> None:
    harness = Windowing(TumblingProcessingTimeWindows.of(ms(10), None, WindowStagger.NATURAL))
    harness.set_processing_time(13)
    harness.add(1)
    harness.restore(harness.snapshot())
    harness.set_processing_time(18)
    harness.add(2)
    assert harness.at(24) == [Fired("a", (13, 23), [1, 2])]


def test_aligned_windows_are_not_shifted() -> None:
    assert WindowStagger.ALIGNED.offset(13, 10, 99) == 0


# Of users


class OddAndEven(WindowAssigner):
    """Odd numbers live in [0, 10), even ones in [0, 10) and [10, 20)."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return (TimeWindow(0, 10),) if element[1] % 2 else (TimeWindow(0, 10), TimeWindow(10, 20))

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


def test_a_user_may_assign_windows() -> None:
    harness = Windowing(OddAndEven())
    for number in (1, 2, 3):
        harness.add(number, 5)
    assert harness.advance(9) == [Fired("a", (0, 10), [1, 2, 3])]
    assert harness.advance(19) == [Fired("a", (10, 20), [2])]
