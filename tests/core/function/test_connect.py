from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from tidegate.core.function.connect import (
    BroadcastProcessFunction,
    BroadcastSpec,
    CoProcessFunction,
    CoProcessSpec,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from tidegate.core.function.functions import CoFlatMapFunction, CoMapFunction
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.state.descriptors import MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from tidegate.core.time.millis import MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import Record, TwoInputHarness, Watermark, WatermarkStatus

SIDE = OutputTag("side")
ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Both(KeyedCoProcessFunction):
    """Adds the numbers of both inputs of a key; a timer gives the sum."""

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda left, right: left + right))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.sum.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.sum.add(value[1])
        ctx.output(SIDE, ctx.get_current_key())
        yield "second"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), self.sum.get()


@pytest.fixture
def both() -> TwoInputHarness:
    return TwoInputHarness(Both(), key_selector1=0, key_selector2=0)


# Connected streams


def test_two_inputs_share_the_state_and_timers_of_a_key(both: TwoInputHarness) -> None:
    both.process_element1(("a", 1), 5)
    both.process_element2(("a", 2), 3)
    both.process_element2(("b", 50), 3)
    assert both.outputs() == [Record("second", 3)] * 2
    assert both.side_outputs(SIDE) == [Record("a", 3), Record("b", 3)]
    both.process_watermark(5)
    assert both.outputs() == [Record(("a", 3), 5)]


def test_the_watermark_is_the_lowest_of_the_inputs(both: TwoInputHarness) -> None:
    both.process_element1(("a", 1), 5)
    both.process_watermark1(10)
    assert (both.outputs(), both.progress()) == ([], [])
    both.process_watermark2(7)
    assert both.outputs() == [Record(("a", 1), 5)]
    assert both.progress() == [Watermark(7)]
    assert both.current_watermark() == 7


def test_an_idle_input_does_not_hold_the_other_and_holds_it_when_it_is_back(both: TwoInputHarness) -> None:
    both.process_status2(IDLE)
    both.process_watermark1(10)
    assert both.progress() == [Watermark(10)]
    both.process_status2(ACTIVE)
    both.process_watermark1(20)
    assert both.progress() == []
    both.process_watermark2(15)
    assert both.progress() == [Watermark(15)]


def test_two_idle_inputs_are_idle_together(both: TwoInputHarness) -> None:
    both.process_watermark1(10)
    both.process_status1(IDLE)
    assert both.progress() == []
    both.process_status2(IDLE)
    assert both.progress() == [Watermark(10), IDLE]


def test_state_timers_and_watermarks_of_both_inputs_survive_a_restart(both: TwoInputHarness) -> None:
    both.process_element1(("a", 1), 5)
    both.process_watermark1(10)
    both.restore(both.snapshot())
    both.process_watermark2(7)
    assert both.outputs() == [Record(("a", 1), 5)]
    assert both.progress() == [Watermark(7)]


class Times(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        if callable(value):
            value(ctx.timer_service())
        return [("first", ctx.timestamp(), ctx.timer_service().current_watermark())]

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [("second", ctx.timestamp(), ctx.timer_service().current_processing_time())]


def test_streams_without_keys_may_be_connected() -> None:
    harness = TwoInputHarness(Times())
    harness.process_element1(1, 5)
    harness.process_element2(2)
    assert [record.value for record in harness.outputs()] == [("first", 5, MIN_TIME), ("second", None, 0)]


def test_streams_without_keys_have_no_timers() -> None:
    harness = TwoInputHarness(Times())
    with pytest.raises(
        InvalidValueError, match="register_event_time_timer: timers need keyed streams; call key_by on both before"
    ):
        harness.process_element1(lambda timers: timers.register_event_time_timer(5), 5)


class Maps(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value + 1

    def map2(self, value: Any) -> Any:
        return value * 10


class FlatMaps(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        return [value, value]

    def flat_map2(self, value: Any) -> None:
        return None


@pytest.mark.parametrize(("function", "expected"), [(Maps(), [2, 20]), (FlatMaps(), [1, 1])])
@pytest.mark.parametrize("key", [None, lambda value: 0])
def test_one_function_maps_both_inputs(function: Any, expected: list[int], key: Any) -> None:
    harness = TwoInputHarness(function, key_selector1=key, key_selector2=key)
    harness.process_element1(1, 0)
    harness.process_element2(2, 0)
    assert [record.value for record in harness.outputs()] == expected


def test_an_error_names_the_operator_and_the_record() -> None:
    harness = TwoInputHarness(Maps())
    with pytest.raises(UserCodeError, match=r"test: TypeError: .*, for the record 'x'") as caught:
        harness.process_element1("x", 0)
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize(("is_keyed", "wanted"), [(True, "KeyedCoProcessFunction"), (False, "CoProcessFunction")])
def test_what_is_no_function_of_two_inputs_is_refused(is_keyed: bool, wanted: str) -> None:
    for function in (5, Both, lambda value: value):
        with pytest.raises(InvalidTypeError, match=f"connect.process: expected a {wanted} object, got"):
            CoProcessSpec(function, is_keyed=is_keyed)


# Broadcast

RULES = MapStateDescriptor("rules")
COUNT = ValueStateDescriptor("count")


class Rules(KeyedBroadcastProcessFunction):
    """Elements pass if a rule of their name is there. Broadcast: `(name, rule)`, or a function of the context."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if callable(value[1]):
            value[1](ctx)
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(100)
        rule = ctx.get_broadcast_state(RULES).get(value[1])
        if rule is not None:
            yield ctx.get_current_key(), rule, ctx.current_watermark(), ctx.current_processing_time()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if callable(value):
            value(ctx)
            return
        ctx.get_broadcast_state(RULES).put(*value)
        ctx.output(SIDE, value)
        yield "rule", ctx.timestamp(), ctx.current_watermark(), ctx.current_processing_time()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), self.count.value(), sorted(ctx.get_broadcast_state(RULES))


@pytest.fixture
def rules() -> TwoInputHarness:
    return TwoInputHarness(Rules(), key_selector1=0, descriptors=[RULES])


def test_the_keyed_side_reads_what_the_broadcast_side_wrote(rules: TwoInputHarness) -> None:
    rules.process_element1(("a", "x"), 1)
    rules.process_element2(("x", "allow"), 2)
    rules.process_element1(("a", "x"), 3)
    rules.process_element1(("b", "y"), 3)
    assert rules.outputs() == [Record(("rule", 2, MIN_TIME, 0), 2), Record(("a", "allow", MIN_TIME, 0), 3)]
    assert rules.side_outputs(SIDE) == [Record(("x", "allow"), 2)]
    rules.process_watermark(100)
    assert [record.value for record in rules.outputs()] == [("a", 2, ["x"]), ("b", 1, ["x"])]


def test_broadcast_state_keyed_state_and_timers_survive_a_restart(rules: TwoInputHarness) -> None:
    rules.process_element2(("x", "allow"), 2)
    rules.process_element1(("a", "x"), 3)
    rules.restore(rules.snapshot())
    rules.process_watermark(100)
    assert [record.value for record in rules.outputs()] == [("a", 1, ["x"])]


@pytest.mark.parametrize(
    "write",
    [
        lambda state: state.put("x", 1),
        lambda state: state.put_all({"x": 1}),
        lambda state: state.remove("x"),
        lambda state: state.clear(),
    ],
)
def test_broadcast_state_is_read_only_on_the_keyed_side(rules: TwoInputHarness, write: Any) -> None:
    with pytest.raises(
        InvalidValueError, match="broadcast state is read-only here: only process_broadcast_element may write it"
    ):
        rules.process_element1(("a", lambda ctx: write(ctx.get_broadcast_state(RULES))), 1)


def test_broadcast_state_is_a_map(rules: TwoInputHarness) -> None:
    found: list[Any] = []

    def use(ctx: Any) -> None:
        state = ctx.get_broadcast_state(RULES)
        assert state.is_empty()
        state["x"] = 1
        state.put_all({"y": 2, "z": 3})
        del state["x"]
        state.remove("never there")
        found.extend([list(state), list(state.keys()), list(state.values()), list(state.items()), state["y"]])
        found.extend(["y" in state, state.contains("x"), state.get("x")])
        state.clear()
        assert state.is_empty()

    rules.process_element2(use, 1)
    assert found == [["y", "z"], ["y", "z"], [2, 3], [("y", 2), ("z", 3)], 2, True, False, None]


def test_the_broadcast_side_can_visit_the_state_of_every_key(rules: TwoInputHarness) -> None:
    for key in ("a", "b", "b"):
        rules.process_element1((key, "x"), 1)
    visited: list[Any] = []

    def visit(key: Any, state: Any) -> None:
        visited.append((key, state.value()))
        state.update(10) if key == "a" else state.clear()

    rules.process_element2(lambda ctx: ctx.apply_to_keyed_state(COUNT, visit), 1)
    assert visited == [("a", 1), ("b", 2)]
    rules.process_watermark(100)
    assert [record.value for record in rules.outputs()] == [("a", 10, []), ("b", None, [])]


def test_visiting_keyed_state_takes_a_descriptor(rules: TwoInputHarness) -> None:
    with pytest.raises(InvalidTypeError, match="apply_to_keyed_state: expected a state descriptor, got 'count'"):
        rules.process_element2(lambda ctx: ctx.apply_to_keyed_state("count", lambda key, state: None), 1)


def test_state_that_was_not_declared_is_refused(rules: TwoInputHarness) -> None:
    with pytest.raises(InvalidValueError, match=r"is not one of the broadcast states \['rules'\]; pass its descriptor"):
        rules.process_element2(lambda ctx: ctx.get_broadcast_state(MapStateDescriptor("other")), 1)


def test_keyed_state_used_without_a_key_does_not_leak_into_other_operators() -> None:
    first, second = Rules(), Rules()
    harnesses = [TwoInputHarness(function, key_selector1=0, descriptors=[RULES]) for function in (first, second)]
    try:
        harnesses[0].process_element2(lambda ctx: first.count.update("of the first"), 1)
    except InvalidValueError:
        return  # to refuse it is better still
    found: list[Any] = []
    harnesses[1].process_element2(lambda ctx: found.append(second.count.value()), 1)
    assert found == [None]


class PlainRules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if callable(value):
            value(ctx)
        yield ctx.get_broadcast_state(RULES).get("x")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("x", value)


def test_a_stream_without_keys_may_be_connected_to_a_broadcast_one() -> None:
    harness = TwoInputHarness(PlainRules(), descriptors=[RULES])
    harness.process_element1("a", 1)
    harness.process_element2(5, 1)
    harness.process_element1("b", 1)
    assert [record.value for record in harness.outputs()] == [None, 5]
    with pytest.raises(InvalidValueError, match="timers need keyed streams"):
        harness.process_element1(lambda ctx: ctx.timer_service().register_event_time_timer(5), 1)


@pytest.mark.parametrize(
    ("is_keyed", "wanted"), [(True, "KeyedBroadcastProcessFunction"), (False, "BroadcastProcessFunction")]
)
def test_what_is_no_broadcast_function_is_refused(is_keyed: bool, wanted: str) -> None:
    with pytest.raises(InvalidTypeError, match=rf"connect\(broadcast\).process: expected a {wanted} object, got"):
        BroadcastSpec(Both(), (RULES,), is_keyed)


@pytest.mark.parametrize(("side", "record"), [(1, ("a", [])), (2, ("a", 1, 2))])
def test_an_error_of_a_broadcast_function_names_the_operator_and_the_record(
    rules: TwoInputHarness, side: int, record: Any
) -> None:
    feed = rules.process_element1 if side == 1 else rules.process_element2
    with pytest.raises(UserCodeError, match=rf"test: TypeError: .*, for the record {re.escape(repr(record))}"):
        feed(record, 1)
