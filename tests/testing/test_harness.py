"""The harnesses as a user has them: one operator or function, controlled elements and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tidegate.common import Time, WatermarkStrategy
from tidegate.core.time.millis import MIN_TIME
from tidegate.datastream import (
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from tidegate.datastream.state import MapStateDescriptor, ValueStateDescriptor
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.testing import ManualSource, OneInputHarness, Record, TwoInputHarness, Watermark, WatermarkStatus

BIG = OutputTag("big")


class Spent(KeyedProcessFunction):
    """What a user spent, a minute after the first order."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: Any) -> None:
        if self.total.value() is None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
            ctx.timer_service().register_processing_time_timer(1_000)
        if value["amount"] > 100:
            ctx.output(BIG, value["amount"])
        self.total.update((self.total.value() or 0) + value["amount"])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[str]:
        yield f"{ctx.get_current_key()} spent {self.total.value()}"


@pytest.fixture
def spent() -> OneInputHarness:
    return OneInputHarness(Spent(), key_selector=lambda order: order["user"])


def test_a_process_function_is_tested_in_five_lines() -> None:
    harness = OneInputHarness(Spent(), key_selector=lambda order: order["user"])
    harness.process_element({"user": "ann", "amount": 3}, timestamp=1_000)
    harness.process_watermark(61_000)
    assert harness.outputs() == [Record("ann spent 3", 61_000)]


def test_outputs_are_taken_once(spent: OneInputHarness) -> None:
    spent.process_element({"user": "ann", "amount": 300}, 0)
    assert spent.side_outputs(BIG) == [Record(300, 0)]
    assert spent.side_outputs(BIG) == []
    spent.process_watermark(60_000)
    assert len(spent.outputs()) == 1
    assert spent.outputs() == []
    assert spent.progress() == [Watermark(60_000)]
    assert spent.progress() == []


def test_the_clock_fires_processing_time_timers(spent: OneInputHarness) -> None:
    spent.process_element({"user": "ann", "amount": 3}, 0)
    spent.set_processing_time(1_000)
    assert spent.outputs() == []
    spent.set_processing_time(1_001)
    assert spent.outputs() == [Record("ann spent 3", None)]


def test_a_snapshot_is_bytes_and_a_harness_goes_on_from_it(spent: OneInputHarness) -> None:
    spent.process_element({"user": "ann", "amount": 3}, 0)
    spent.process_watermark(50)
    saved = spent.snapshot()
    assert isinstance(saved, bytes)
    spent.process_element({"user": "ann", "amount": 1000}, 0)
    spent.restore(saved)
    assert spent.current_watermark() == 50
    spent.process_watermark(60_000)
    assert spent.outputs() == [Record("ann spent 3", 60_000)]


def test_a_snapshot_can_be_restored_into_another_harness(spent: OneInputHarness) -> None:
    spent.process_element({"user": "ann", "amount": 3}, 0)
    other = OneInputHarness(Spent(), key_selector="user").restore(spent.snapshot())
    other.process_watermark(60_000)
    assert other.outputs() == [Record("ann spent 3", 60_000)]


def test_metrics_can_be_read(spent: OneInputHarness) -> None:
    spent.process_element({"user": "ann", "amount": 3}, 0)
    spent.process_watermark(60_000)
    assert spent.metrics()["num_fired_timers"] == 1


def test_several_channels_meet_in_the_valve() -> None:
    harness = OneInputHarness(Spent(), key_selector="user", channels=2)
    harness.process_watermark(10, channel=0)
    assert harness.current_watermark() == MIN_TIME
    harness.process_status(WatermarkStatus.IDLE, channel=1)
    assert harness.progress() == [Watermark(10)]
    harness.process_status(WatermarkStatus.IDLE)
    assert harness.progress() == [WatermarkStatus.IDLE]


# Other subjects


class Twice(MapFunction):
    def map(self, value: Any) -> Any:
        return value * 2


class Each(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        return [value, value]


class Even(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2 == 0)


class Timestamps(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.timestamp()


class Ask(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [f"to {value}"]


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (Twice(), [6, 8]),
        (Each(), [3, 3, 4, 4]),
        (Even(), [4]),
        (Timestamps(), [1, 2]),
        (Ask(), ["to 3", "to 4"]),
    ],
)
def test_every_function_of_one_input_is_a_subject(subject: Any, expected: list[Any]) -> None:
    harness = OneInputHarness(subject)
    harness.process_element(3, 1)
    harness.process_element(4, 2)
    harness.process_watermark(2)
    assert [record.value for record in harness.outputs()] == expected
    harness.close()


def test_a_strategy_is_a_subject() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("10 ms").with_timestamp_assigner(lambda value, _: value)
    harness = OneInputHarness(strategy.with_idleness("1 second"))
    harness.process_element(100)
    assert harness.outputs() == [Record(100, 100)]
    assert harness.progress() == []
    harness.set_processing_time(200)
    assert harness.progress() == [Watermark(89)]
    harness.set_processing_time(400)
    harness.set_processing_time(1401)
    assert harness.progress() == [WatermarkStatus.IDLE]


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.first = runtime_context.get_state(ValueStateDescriptor("first"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.first.update(value[1])

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield self.first.value(), value[1]


def test_two_inputs_are_driven_apart() -> None:
    harness = TwoInputHarness(Both(), key_selector1=0, key_selector2=lambda value: value[0], channels=2)
    harness.process_element1(("a", "left"), 1)
    harness.process_element2(("a", "right"), 2)
    assert harness.outputs() == [Record(("left", "right"), 2)]
    harness.process_watermark1(10, channel=0)
    harness.process_watermark1(8, channel=1)
    harness.process_watermark2(9, channel=0)
    harness.process_status2(WatermarkStatus.IDLE, channel=1)
    assert harness.progress() == [Watermark(8)]
    harness.process_status1(WatermarkStatus.IDLE, channel=0)
    harness.process_status1(WatermarkStatus.IDLE, channel=1)
    assert harness.progress() == [Watermark(9)]
    harness.process_watermark(20)
    assert harness.progress() == [Watermark(20)]


class Labels(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "first"

    def map2(self, value: Any) -> Any:
        return "second"


RULES = MapStateDescriptor("rules")


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def test_functions_of_two_inputs_without_keys_are_subjects() -> None:
    labels = TwoInputHarness(Labels())
    labels.process_element1(1)
    labels.process_element2(1)
    assert [record.value for record in labels.outputs()] == ["first", "second"]
    rules = TwoInputHarness(Rules(), descriptors=[RULES])
    rules.process_element2(("x", 5))
    rules.process_element1("x")
    assert rules.outputs() == [Record(5, None)]


# A stream as subject


def stream() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    return env.add_source(ManualSource(1))


def test_the_last_operator_of_a_stream_is_a_subject_with_its_own_keys() -> None:
    sums = stream().key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(1))).sum(1)
    harness = OneInputHarness(sums)
    harness.process_element(("a", 1), 10)
    harness.process_element(("b", 5), 10)
    harness.process_element(("a", 2), 20)
    harness.process_watermark(999)
    assert harness.outputs() == [Record(("a", 3), 999), Record(("b", 5), 999)]


def test_an_operator_in_a_chain_is_a_subject() -> None:
    harness = OneInputHarness(stream().map(lambda value: value + 1))
    harness.process_element(1, 5)
    assert harness.outputs() == [Record(2, 5)]


def test_an_operator_with_two_inputs_is_a_subject_with_its_own_keys() -> None:
    one = stream()
    other = one._env.from_collection([("a", 0)])
    connected = one.key_by(0).connect(other.key_by(0)).process(Both())
    harness = TwoInputHarness(connected)
    harness.process_element1(("a", 1), 0)
    harness.process_element2(("a", 2), 0)
    assert [record.value for record in harness.outputs()] == [(1, 2)]


# Refused


def test_a_source_is_no_subject() -> None:
    with pytest.raises(InvalidTypeError, match="harness: a source is not an operator; pass a stream that an"):
        OneInputHarness(stream())


def test_a_keyed_function_needs_a_key() -> None:
    with pytest.raises(InvalidValueError, match=r"harness: Spent needs key_selector=\.\.\."):
        OneInputHarness(Spent())


@pytest.mark.parametrize("subject", [5, Spent, lambda value: value])
def test_what_is_no_function_is_refused(subject: Any) -> None:
    with pytest.raises(InvalidTypeError, match="harness: expected a function object such as a KeyedProcess"):
        OneInputHarness(subject)


def test_a_manual_source_is_fed_and_not_read() -> None:
    source = ManualSource(2)
    assert source.channels() == ("0", "1")
    with pytest.raises(InvalidTypeError, match="a manual source is fed, not read"):
        source.read("0")
