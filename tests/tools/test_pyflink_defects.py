"""PyFlink's known defects are not copied; `tools/flink_compatibility/defects.yaml` names these tests."""

from collections.abc import Iterable
from typing import Any

from tidegate.common import Duration, Time, WatermarkStrategy
from tidegate.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from tidegate.core.watermark.timestamps import TimestampAssigner
from tidegate.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    Trigger,
    TriggerResult,
    WindowFunction,
)
from tidegate.datastream.sources import NumberSequenceSource
from tidegate.datastream.window import (
    ContinuousProcessingTimeTrigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tidegate.testing import OneInputHarness


def stamped(*values: Any) -> DataStream:
    """A stream whose timestamps are assigned, to build operators on."""
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    return env.from_collection(values).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    )


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


def values(harness: OneInputHarness) -> list[Any]:
    return [record.value for record in harness.outputs()]


def test_a_timestamp_assigner_survives_the_builder_calls_after_it() -> None:
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
        .with_timestamp_assigner(FirstField())
        .with_idleness(Duration.of_minutes(1))
        .with_watermark_alignment("group", Duration.of_seconds(5))
    )
    harness = OneInputHarness(strategy)
    harness.process_element((7, "a"))
    assert [record.timestamp for record in harness.outputs()] == [7]


def test_from_source_uses_the_timestamp_assigner_of_its_strategy() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value * 100)
    numbers = env.from_source(NumberSequenceSource(1, 4), strategy, "numbers")
    windows = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(300)))
    assert list(windows.reduce(lambda a, b: a + b).execute_and_collect()) == [1 + 2, 3 + 4]


def test_a_count_window_that_has_fired_leaves_nothing_behind() -> None:
    marker = "marker of the first window"
    harness = OneInputHarness(stamped().key_by(lambda _: "k").count_window(2).apply(Collect()))
    harness.process_element((1, marker), 1)
    assert marker.encode() in harness.snapshot()
    harness.process_element((2, "b"), 2)
    assert values(harness) == [[(1, marker), (2, "b")]]
    assert marker.encode() not in harness.snapshot()


class Collect(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield list(inputs)


def test_endless_lateness_keeps_a_window_open() -> None:
    windows = stamped().key_by(lambda _: "k").window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    harness = OneInputHarness(windows.allowed_lateness(MAX_LONG_VALUE).reduce(lambda a, b: (a[0], a[1] + b[1])))
    harness.process_element((1, 1), 1)
    harness.process_watermark(MAX_LONG_VALUE - 1)
    harness.process_element((2, 1), 2)
    assert values(harness) == [(1, 1), (1, 2)]


class EveryElement(Trigger):
    """Fires and purges for each element."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        pass


class NothingBelowTwo(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int | None:
        return accumulator if accumulator >= 2 else None


def test_a_firing_without_a_result_purges_the_window_all_the_same() -> None:
    windows = stamped().key_by(lambda _: "k").window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    harness = OneInputHarness(windows.trigger(EveryElement()).aggregate(NothingBelowTwo()))
    harness.process_element((1, "a"), 1)
    harness.process_element((2, "b"), 2)
    assert [value for value in values(harness) if value is not None] == []


def test_a_continuous_processing_time_trigger_fires_at_the_end_of_the_window() -> None:
    windows = stamped().key_by(lambda _: "k").window(TumblingProcessingTimeWindows.of(Time.milliseconds(25)))
    trigger = ContinuousProcessingTimeTrigger.of(Time.milliseconds(10))
    harness = OneInputHarness(windows.trigger(trigger).reduce(lambda a, b: (a[0], a[1] + b[1])))
    harness.process_element((0, 1))
    harness.set_processing_time(21)
    harness.outputs()
    harness.process_element((0, 1))
    harness.set_processing_time(24)
    assert values(harness) == []
    harness.set_processing_time(25)
    assert values(harness) == [(0, 2)]


class SeenWatermark(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(10)
        yield ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield "timer", ctx.timer_service().current_watermark()


def test_the_watermark_before_the_first_one_is_the_lowest_time() -> None:
    harness = OneInputHarness(SeenWatermark(), key_selector=lambda _: "k")
    harness.process_element("a", 1)
    assert values(harness) == [MIN_LONG_VALUE]


def test_a_timer_sees_the_watermark_that_fired_it() -> None:
    harness = OneInputHarness(SeenWatermark(), key_selector=lambda _: "k")
    harness.process_element("a", 1)
    harness.outputs()
    harness.process_watermark(25)
    assert values(harness) == [("timer", 25)]
