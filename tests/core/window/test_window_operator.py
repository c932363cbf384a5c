from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.core.window.windowing import LATE, Fired, Listing, Windowing, ms

from tidegate.core.function.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tidegate.core.window.evictors import Evictor
from tidegate.core.window.triggers import CountTrigger, EventTimeTrigger, NeverTrigger, PurgingTrigger
from tidegate.core.window.window_functions import AggregatedContents, ListContents, ReducedContents
from tidegate.core.window.window_operator import WindowSpec
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import OneInputHarness, Record, Watermark

TUMBLING = TumblingEventTimeWindows.of(ms(10))


class General(EventTimeTrigger):
    """Keeps the operator from taking the short way."""


BOTH_WAYS = pytest.mark.parametrize("trigger", [EventTimeTrigger(), General()])


# Time of results


@BOTH_WAYS
def test_results_carry_the_last_timestamp_of_their_window_and_come_before_the_watermark(
    trigger: EventTimeTrigger,
) -> None:
    harness = Windowing(TUMBLING, trigger)
    harness.add(1, 3)
    harness.process_watermark(12)
    assert harness.outputs() == [Record(Fired("a", (0, 10), [1]), 9)]
    assert harness.progress() == [Watermark(12)]


# Lateness


@BOTH_WAYS
def test_a_window_is_late_once_the_watermark_reached_its_end_plus_the_allowed_lateness(
    trigger: EventTimeTrigger,
) -> None:
    harness = Windowing(TUMBLING, trigger, lateness=5, late_output=LATE)
    harness.advance(13)
    assert harness.add("allowed", 9) == [Fired("a", (0, 10), ["allowed"])]
    harness.advance(14)
    assert harness.add("late", 9) == []
    assert harness.side_outputs(LATE) == [Record(("a", "late"), 9)]


@BOTH_WAYS
def test_late_elements_are_counted_whether_dropped_or_sent_aside(trigger: EventTimeTrigger) -> None:
    dropping = Windowing(TUMBLING, trigger)
    sending = Windowing(TUMBLING, trigger, late_output=LATE)
    for harness in (dropping, sending):
        harness.advance(9)
        harness.add("late", 3)
    names = ("num_late_records_dropped", "num_late_records_to_side_output", "num_records_in_no_window")
    assert [dropping.metrics()[name] for name in names] == [1, 0, 0]
    assert [sending.metrics()[name] for name in names] == [0, 1, 0]


@BOTH_WAYS
def test_an_element_in_a_gap_between_windows_is_in_no_window_until_it_is_late(trigger: EventTimeTrigger) -> None:
    harness = Windowing(SlidingEventTimeWindows.of(ms(3), ms(10)), trigger, late_output=LATE)
    harness.add("gap", 5)
    assert harness.metrics()["num_records_in_no_window"] == 1
    harness.advance(5)
    harness.add("late gap", 5)
    assert harness.metrics()["num_records_in_no_window"] == 1
    assert harness.side_outputs(LATE) == [Record(("a", "late gap"), 5)]


@BOTH_WAYS
def test_an_element_is_not_late_if_one_of_its_windows_takes_it(trigger: EventTimeTrigger) -> None:
    harness = Windowing(SlidingEventTimeWindows.of(ms(10), ms(5)), trigger, late_output=LATE)
    harness.advance(9)
    assert harness.add(1, 7) == []
    assert harness.advance(14) == [Fired("a", (5, 15), [1])]
    assert harness.side_outputs(LATE) == []


@BOTH_WAYS
def test_an_allowed_lateness_without_end_never_cleans_up(trigger: EventTimeTrigger) -> None:
    harness = Windowing(TUMBLING, trigger, lateness=MAX_TIME)
    harness.add(1, 0)
    harness.advance(MAX_TIME - 1)
    assert harness.add(2, 0) == [Fired("a", (0, 10), [1, 2])]


def test_allowed_lateness_does_not_concern_windows_by_the_clock() -> None:
    harness = Windowing(TumblingProcessingTimeWindows.of(ms(10)), lateness=1000)
    harness.add(1)
    assert harness.at(10) == [Fired("a", (0, 10), [1])]
    assert harness.metrics()["num_fired_timers"] == 1
    assert harness.at(2000) == []
    assert harness.metrics()["num_fired_timers"] == 1


def test_nothing_is_late_for_the_global_window() -> None:
    harness = Windowing(GlobalWindows.create(), CountTrigger.of(1), late_output=LATE)
    harness.advance(1000)
    assert harness.add(1, 5) == [Fired("a", None, [1])]


@BOTH_WAYS
def test_a_restart_remembers_what_is_late(trigger: EventTimeTrigger) -> None:
    harness = Windowing(TUMBLING, trigger, late_output=LATE)
    harness.advance(9)
    harness.restore(harness.snapshot())
    harness.add("late", 3)
    assert harness.side_outputs(LATE) == [Record(("a", "late"), 3)]


# Records without timestamps


@pytest.mark.parametrize("assigner", [TUMBLING, EventTimeSessionWindows.with_gap(ms(10))])
@BOTH_WAYS
def test_event_time_windows_refuse_a_record_without_a_timestamp(assigner: Any, trigger: EventTimeTrigger) -> None:
    harness = Windowing(assigner, trigger)
    with pytest.raises(
        InvalidValueError,
        match=r"window on 'test': the record \('a', 1\) has no timestamp; call assign_timestamps_and_watermarks before",
    ):
        harness.add(1)


@BOTH_WAYS
def test_event_time_windows_refuse_the_timestamp_that_stands_for_none(trigger: EventTimeTrigger) -> None:
    # A strategy without a timestamp assigner leaves it to records that had none.
    harness = Windowing(TUMBLING, trigger)
    with pytest.raises(InvalidValueError, match="has no timestamp"):
        harness.add(1, MIN_TIME)


def test_other_windows_take_records_without_timestamps() -> None:
    assert Windowing(GlobalWindows.create(), CountTrigger.of(1)).add(1) == [Fired("a", None, [1])]


# Functions


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Named(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(key, window.start, list(inputs))]


class AllNamed(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(window.start, list(inputs))]


@pytest.mark.parametrize(
    ("contents", "function", "expected"),
    [
        (ReducedContents(Sum()), None, ("a", 3)),
        (ReducedContents(lambda left, right: (left[0], left[1] * right[1])), None, ("a", 2)),
        (AggregatedContents(Total()), None, 3),
        (ReducedContents(Sum()), Named(), ("a", 0, [("a", 3)])),
        (AggregatedContents(Total()), Named(), ("a", 0, [3])),
        (AggregatedContents(Total()), lambda key, window, elements: [(key, window.end, elements)], ("a", 10, [3])),
        (ListContents(), Named(), ("a", 0, [("a", 1), ("a", 2)])),
        (ListContents(), Listing(), Fired("a", (0, 10), [1, 2])),
    ],
)
@pytest.mark.parametrize("assigner", [TUMBLING, SlidingEventTimeWindows.of(ms(10), ms(20))])
def test_elements_may_be_reduced_or_aggregated_as_they_come_and_a_function_may_see_the_result(
    contents: Any, function: Any, expected: Any, assigner: Any
) -> None:
    harness = OneInputHarness(WindowSpec(assigner, contents, function), key_selector=0)
    for number in (1, 2):
        harness.process_element(("a", number), number)
    harness.process_watermark(9)
    assert harness.outputs() == [Record(expected, 9)]


@pytest.mark.parametrize("function", [AllNamed(), lambda window, elements: [(window.start, elements)]])
def test_a_window_over_everything_has_no_key(function: Any) -> None:
    harness = OneInputHarness(WindowSpec(TUMBLING, ListContents(), function, is_keyed=False))
    harness.process_element("x", 1)
    harness.process_watermark(9)
    assert harness.outputs() == [Record((0, ["x"]), 9)]


@pytest.mark.parametrize(
    ("function", "is_keyed", "wanted"),
    [
        (5, True, "ProcessWindowFunction or WindowFunction"),
        (Listing, True, "ProcessWindowFunction or WindowFunction"),
        (AllNamed(), True, "ProcessWindowFunction or WindowFunction"),
        (Named(), False, "ProcessAllWindowFunction or AllWindowFunction"),
    ],
)
def test_a_function_of_another_kind_is_refused(function: Any, is_keyed: bool, wanted: str) -> None:
    with pytest.raises(InvalidTypeError, match=f"window: expected a {wanted} object or a function, got"):
        WindowSpec(TUMBLING, ListContents(), function, is_keyed=is_keyed)


def test_a_negative_lateness_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="allowed_lateness must not be negative, got -1 ms"):
        WindowSpec(TUMBLING, ListContents(), allowed_lateness=-1)


# The context of a window function

SIDE = OutputTag("side")


class Firings(ProcessWindowFunction):
    """Counts the firings of each window and of all windows of the key, and remembers what was cleared."""

    def __init__(self) -> None:
        self.of_window = ValueStateDescriptor("firings")
        self.of_key = ReducingStateDescriptor("firings", lambda left, right: left + right)
        self.cleared: list[Any] = []
        self.opened = self.closed = 0

    def open(self, runtime_context: Any) -> None:
        self.opened += 1

    def close(self) -> None:
        self.closed += 1

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        here = context.window_state().get_state(self.of_window)
        here.update((here.value() or 0) + 1)
        everywhere = context.global_state().get_reducing_state(self.of_key)
        everywhere.add(1)
        context.output(SIDE, f"by output {context.current_watermark()} {context.current_processing_time()}")
        yield SIDE, "by yield"
        yield here.value(), everywhere.get()

    def clear(self, context: Any) -> None:
        self.cleared.append((tuple(context.window()), context.window_state().get_state(self.of_window).value()))


@BOTH_WAYS
def test_a_process_function_has_state_of_the_window_and_of_the_key_and_side_outputs(trigger: EventTimeTrigger) -> None:
    function = Firings()
    harness = Windowing(TUMBLING, trigger, lateness=5, function=function)
    harness.set_processing_time(77)
    harness.add(1, 0)
    harness.add(2, 10)
    harness.advance(9)
    harness.add(3, 0)
    harness.restore(harness.snapshot())
    assert harness.add(4, 0) == [(3, 3)]
    assert harness.side_outputs(SIDE) == [Record("by output 9 77", 9), Record("by yield", 9)]
    assert harness.advance(19) == [(1, 4)]
    assert function.cleared == [((0, 10), 3)]
    harness.close()
    assert (function.opened, function.closed) == (2, 2)


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    harness = Windowing(EventTimeSessionWindows.with_gap(ms(10)), function=Firings())
    harness.add(1, 0)
    with pytest.raises(InvalidValueError, match=r"test: windows that merge have no per-window state.*use global_state"):
        harness.advance(9)


def test_an_output_takes_a_tag() -> None:
    class BadTag(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            context.output("side", 1)
            return []

    harness = Windowing(TUMBLING, function=BadTag())
    harness.add(1, 0)
    with pytest.raises(InvalidTypeError, match=r"test: output\(\) takes an OutputTag, got 'side'"):
        harness.advance(9)


class AllFirings(ProcessAllWindowFunction):
    def __init__(self) -> None:
        self.cleared: list[Any] = []

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().end, list(elements)

    def clear(self, context: Any) -> None:
        self.cleared.append(tuple(context.window()))


def test_a_process_function_over_everything_is_told_when_a_window_is_cleaned_up() -> None:
    function = AllFirings()
    harness = OneInputHarness(WindowSpec(TUMBLING, ListContents(), function, is_keyed=False))
    harness.process_element(1, 0)
    harness.process_watermark(9)
    assert harness.outputs() == [Record((10, [1]), 9)]
    assert function.cleared == [(0, 10)]


# Clean-up


MERGING_TRIGGERS = [EventTimeTrigger(), General(), CountTrigger.of(5), PurgingTrigger.of(CountTrigger.of(2))]
SESSIONS = EventTimeSessionWindows.with_gap(ms(10))


@pytest.mark.parametrize(
    ("assigner", "trigger"),
    [*((a, t) for a in (TUMBLING, SESSIONS) for t in MERGING_TRIGGERS), (TUMBLING, NeverTrigger())],
)
def test_after_the_clean_up_nothing_of_a_window_is_left(assigner: Any, trigger: Any) -> None:
    harness = Windowing(assigner, trigger, lateness=3)
    for number in range(3):
        harness.add(number, number * 4)
    harness.process_element(("b", 1), 0)
    harness.advance(50)
    operator: Any = harness._operator
    assert operator.context.event_timers.next_timestamp() is None
    assert operator.context.processing_timers.next_timestamp() is None
    operator.snapshot()
    assert list(operator.state.store.keys()) == []


# What users get wrong


class Fails(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        raise ZeroDivisionError("no elements")


class FailsToAdd(Total):
    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1].missing


def test_an_error_of_the_window_function_names_the_operator() -> None:
    harness = Windowing(TUMBLING, function=Fails())
    harness.add(1, 0)
    with pytest.raises(UserCodeError, match=r"test.*ZeroDivisionError: no elements") as caught:
        harness.advance(9)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_while_an_element_is_added_names_the_operator_and_the_record() -> None:
    spec = WindowSpec(TUMBLING, AggregatedContents(FailsToAdd()))
    harness = OneInputHarness(spec, key_selector=0)
    with pytest.raises(UserCodeError, match=r"test.*AttributeError.*\('a', 1\)") as caught:
        harness.process_element(("a", 1), 0)
    assert isinstance(caught.value.__cause__, AttributeError)


class BadWindows(TumblingEventTimeWindows):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        raise LookupError("bad part")


class BadDynamicSessions(EventTimeSessionWindows):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        raise LookupError("bad part")


class BadOnElement(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        raise LookupError("bad part")


class BadOnTime(EventTimeTrigger):
    def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
        raise LookupError("bad part")


class BadOnMerge(EventTimeTrigger):
    def on_merge(self, window: Any, ctx: Any) -> None:
        raise LookupError("bad part")


class BadClear(EventTimeTrigger):
    def clear(self, window: Any, ctx: Any) -> None:
        raise LookupError("bad part")


class BadEvictor(Evictor):
    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        raise LookupError("bad part")

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("assigner", "trigger", "evictor"),
    [
        (BadWindows(ms(10)), None, None),
        (BadWindows(ms(10)), General(), None),
        (BadDynamicSessions(ms(10)), None, None),
        (TUMBLING, BadOnElement(), None),
        (TUMBLING, BadOnTime(), None),
        (SESSIONS, BadOnTime(), None),
        (SESSIONS, BadOnMerge(), None),
        (TUMBLING, BadClear(), None),
        (TUMBLING, None, BadEvictor()),
    ],
    ids=lambda part: type(part).__name__,
)
def test_an_error_of_any_part_of_a_window_names_the_operator_and_keeps_its_cause(
    assigner: Any, trigger: Any, evictor: Any
) -> None:
    harness = Windowing(assigner, trigger, evictor)

    def run() -> None:
        for number in (1, 2):
            harness.add(number, number)
        harness.advance(50)

    with pytest.raises(UserCodeError, match="test: LookupError: bad part") as caught:
        run()
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize("results", ["text", {"a": 1}, 5])
def test_a_window_function_must_give_a_list_of_results(results: Any) -> None:
    harness = Windowing(TUMBLING, function=lambda key, window, elements: results)
    harness.add(1, 0)
    with pytest.raises(InvalidTypeError, match="test: the function must yield its results or return a list of them"):
        harness.advance(9)


@pytest.mark.parametrize("results", [None, [], ()])
def test_a_window_function_may_give_nothing(results: Any) -> None:
    harness = Windowing(TUMBLING, function=lambda key, window, elements: results)
    harness.add(1, 0)
    assert harness.advance(9) == []
