from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tidegate.core.function.process import (
    KeyedProcessFunction,
    KeyedProcessSpec,
    ProcessFunction,
    ProcessSpec,
    TimeDomain,
)
from tidegate.core.operator.output_tag import DEAD_LETTERS, OutputTag
from tidegate.core.state.descriptors import ValueStateDescriptor
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import OneInputHarness, Record, Watermark

SIDE = OutputTag("side")


class Act(KeyedProcessFunction):
    """Each element says what to do, as `(key, what, *arguments)`; a timer tells about itself."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _, what, *arguments = value
        self.seen.update((self.seen.value() or 0) + 1)
        timers = ctx.timer_service()
        if what == "tell":
            yield ctx.get_current_key(), ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()
        elif what == "output":
            ctx.output(SIDE, "by output")
            yield SIDE, "by yield"
            yield "main"
        else:
            getattr(timers, what)(*arguments)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        ctx.output(SIDE, timestamp)
        yield ctx.get_current_key(), timestamp, ctx.time_domain(), ctx.timestamp(), self.seen.value()


@pytest.fixture
def harness() -> OneInputHarness:
    return OneInputHarness(Act(), key_selector=0)


def test_a_keyed_function_knows_its_key_and_the_time(harness: OneInputHarness) -> None:
    harness.process_element(("a", "tell"))
    harness.set_processing_time(7)
    harness.process_watermark(5)
    harness.process_element(("b", "tell"), 6)
    assert harness.outputs() == [Record(("a", None, MIN_TIME, 0), None), Record(("b", 6, 5, 7), 6)]


def test_an_event_time_timer_fires_for_its_key_and_its_results_carry_its_time(harness: OneInputHarness) -> None:
    harness.process_element(("a", "register_event_time_timer", 10), 1)
    harness.process_element(("b", "register_event_time_timer", 9), 1)
    harness.process_element(("b", "register_event_time_timer", 9), 1)
    harness.process_watermark(10)
    assert harness.outputs() == [
        Record(("b", 9, TimeDomain.EVENT_TIME, 9, 2), 9),
        Record(("a", 10, TimeDomain.EVENT_TIME, 10, 1), 10),
    ]
    assert harness.side_outputs(SIDE) == [Record(9, 9), Record(10, 10)]
    assert harness.progress() == [Watermark(10)]
    assert harness.metrics()["num_fired_timers"] == 2


def test_a_processing_time_timer_gives_results_without_a_timestamp(harness: OneInputHarness) -> None:
    harness.process_element(("a", "register_processing_time_timer", 10), 1)
    harness.set_processing_time(10)
    assert harness.outputs() == []
    harness.set_processing_time(11)
    assert harness.outputs() == [Record(("a", 10, TimeDomain.PROCESSING_TIME, 10, 1), None)]


def test_timers_can_be_deleted(harness: OneInputHarness) -> None:
    for domain in ("event", "processing"):
        harness.process_element(("a", f"register_{domain}_time_timer", 10), 1)
        harness.process_element(("a", f"delete_{domain}_time_timer", 10), 1)
        harness.process_element(("a", f"delete_{domain}_time_timer", 99), 1)
    harness.process_watermark(MAX_TIME)
    harness.set_processing_time(1000)
    assert harness.outputs() == []


def test_results_go_to_side_outputs_by_output_and_by_yield(harness: OneInputHarness) -> None:
    harness.process_element(("a", "output"), 3)
    assert harness.outputs() == [Record("main", 3)]
    assert harness.side_outputs(SIDE) == [Record("by output", 3), Record("by yield", 3)]
    assert harness.side_outputs(SIDE) == []


def test_state_and_timers_survive_a_restart(harness: OneInputHarness) -> None:
    harness.process_element(("a", "register_event_time_timer", 10), 1)
    harness.process_element(("a", "register_processing_time_timer", 10), 1)
    harness.process_watermark(5)
    harness.restore(harness.snapshot())
    harness.process_element(("a", "tell"), 6)
    harness.process_watermark(10)
    harness.set_processing_time(11)
    values = [record.value for record in harness.outputs()]
    assert values == [
        ("a", 6, 5, 0),
        ("a", 10, TimeDomain.EVENT_TIME, 10, 3),
        ("a", 10, TimeDomain.PROCESSING_TIME, 10, 3),
    ]


def test_an_advance_may_be_interrupted_and_the_watermark_follows_when_all_have_fired(harness: OneInputHarness) -> None:
    for timestamp in (1, 2):
        harness.process_element(("a", "register_event_time_timer", timestamp), 0)
    operator: Any = harness._operator
    assert not operator.advance_watermark(Watermark(5), lambda: True)
    assert (len(harness.outputs()), harness.progress()) == (1, [])
    assert operator.advance_watermark(Watermark(5), lambda: True)
    assert (len(harness.outputs()), harness.progress()) == (1, [Watermark(5)])


class Reschedules(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[int]:
        ctx.timer_service().register_event_time_timer(timestamp + 10)
        return [timestamp]


def test_a_timer_set_in_a_callback_fires_in_the_same_advance_if_it_is_due() -> None:
    harness = OneInputHarness(Reschedules(), key_selector=lambda value: value)
    harness.process_element("a", 3)
    harness.process_watermark(25)
    assert [record.value for record in harness.outputs()] == [3, 13, 23]


class Silent(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)


def test_a_function_need_not_have_on_timer_nor_give_results() -> None:
    harness = OneInputHarness(Silent(), key_selector=0)
    harness.process_element("a", 0)
    harness.process_watermark(5)
    assert harness.outputs() == []


# Without keys


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if callable(value):
            value(ctx)
        timers = ctx.timer_service()
        ctx.output(SIDE, value)
        yield ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()


def test_a_function_without_keys_sees_time_and_has_side_outputs() -> None:
    harness = OneInputHarness(Plain())
    harness.process_element("x")
    harness.set_processing_time(7)
    harness.process_watermark(5)
    harness.process_element("y", 6)
    assert harness.outputs() == [Record((None, MIN_TIME, 0), None), Record((6, 5, 7), 6)]
    assert harness.side_outputs(SIDE) == [Record("x", None), Record("y", 6)]


def test_a_function_without_keys_remembers_the_watermark_after_a_restart() -> None:
    harness = OneInputHarness(Plain())
    harness.process_watermark(5)
    harness.restore(harness.snapshot())
    harness.process_element("y", 6)
    assert harness.outputs() == [Record((6, 5, 0), 6)]


@pytest.mark.parametrize(
    "method",
    [f"{verb}_{domain}_time_timer" for verb in ("register", "delete") for domain in ("event", "processing")],
)
def test_timers_need_a_keyed_stream(method: str) -> None:
    harness = OneInputHarness(Plain())
    with pytest.raises(InvalidValueError, match="test: timers need a keyed stream; call key_by before process"):
        harness.process_element(lambda ctx: getattr(ctx.timer_service(), method)(5))


def test_a_process_function_on_a_keyed_stream_has_timers() -> None:
    harness = OneInputHarness(Plain(), key_selector=lambda value: 0)
    harness.process_element(lambda ctx: ctx.timer_service().register_event_time_timer(5))


# What users get wrong


class Fails(KeyedProcessFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.where == "element":
            raise ValueError("bad")
        ctx.timer_service().register_event_time_timer(5)
        return self._late() if self.where == "yield" else None

    def _late(self) -> Iterable[Any]:
        yield "first"
        raise ValueError("bad")

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise ValueError("bad")


@pytest.mark.parametrize("where", ["element", "yield"])
def test_an_error_names_the_operator_and_the_record_and_keeps_its_cause(where: str) -> None:
    harness = OneInputHarness(Fails(where), key_selector=0)
    with pytest.raises(UserCodeError, match=r"test: ValueError: bad, for the record \('a', 1\)") as caught:
        harness.process_element(("a", 1), 0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_in_a_timer_names_the_operator_and_keeps_its_cause() -> None:
    harness = OneInputHarness(Fails("timer"), key_selector=0)
    harness.process_element(("a", 1), 0)
    with pytest.raises(UserCodeError, match=r"test.*ValueError: bad") as caught:
        harness.process_watermark(5)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("result", ["text", b"bytes", {"a": 1}, 5])
@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_function_must_give_a_list_of_results(result: Any, is_keyed: bool) -> None:
    class Gives(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return result

    harness = OneInputHarness(Gives(), key_selector=(lambda value: 0) if is_keyed else None)
    with pytest.raises(InvalidTypeError, match="test: the function must yield its results or return a list of them"):
        harness.process_element(1, 0)


class Divides(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 10 // value


@pytest.mark.parametrize("spec", [KeyedProcessSpec(Divides(), "side_output"), ProcessSpec(Divides(), "side_output")])
def test_a_record_that_cannot_be_processed_may_go_to_the_dead_letters(spec: Any) -> None:
    harness = OneInputHarness(spec, key_selector=lambda value: value)
    for value in (5, 0, 2):
        harness.process_element(value, 1)
    assert [record.value for record in harness.outputs()] == [2, 5]
    (letter,) = harness.side_outputs(DEAD_LETTERS)
    assert letter.timestamp == 1
    assert letter.value == ("test", 0, 1, "ZeroDivisionError: integer division or modulo by zero")
    assert harness.metrics()["num_dead_letters"] == 1


@pytest.mark.parametrize("function", [Act, 5, None, lambda value, ctx: None])
def test_what_is_no_process_function_is_refused(function: Any) -> None:
    with pytest.raises(InvalidTypeError, match="process: expected a KeyedProcessFunction object, got"):
        KeyedProcessSpec(function)
    with pytest.raises(InvalidTypeError, match="process: expected a ProcessFunction object, got"):
        ProcessSpec(function)


def test_an_output_takes_a_tag() -> None:
    class BadTag(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.output("side", value)

    with pytest.raises(InvalidTypeError, match=r"test: output\(\) takes an OutputTag, got 'side'"):
        OneInputHarness(BadTag()).process_element(1)


@pytest.mark.parametrize("tag_id", ["", None, 5])
def test_a_tag_needs_an_id(tag_id: Any) -> None:
    with pytest.raises(InvalidValueError, match="OutputTag: the id must be a text that is not empty, got"):
        OutputTag(tag_id)


def test_tags_with_the_same_id_are_the_same_output() -> None:
    assert OutputTag("x", "a type") == OutputTag("x")
