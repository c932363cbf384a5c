"""State, timers and time to live, on keyed streams."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.common import Duration, Time, Types, WatermarkStrategy
from tidegate.common.watermark_strategy import TimestampAssigner
from tidegate.datastream import StreamExecutionEnvironment, TimeDomain
from tidegate.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    TimerService,
)
from tidegate.datastream.state import (
    AppendingState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)

PAYMENTS = [("Ann", 10.0), ("Ben", 3.5), ("Ann", 2.5), ("Ben", 1.0)]
PAYMENT = Types.TUPLE([Types.STRING(), Types.DOUBLE()])


class RunningTotal(KeyedProcessFunction):
    def __init__(self) -> None:
        self.total: ValueState[float] | None = None  # type: ignore[type-arg]

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("total", Types.DOUBLE())
        ttl = StateTtlConfig.new_builder(Time.hours(1)).set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
        descriptor.enable_time_to_live(ttl.disable_cleanup_in_background().build())
        self.total = runtime_context.get_state(descriptor)

    def process_element(self, value: tuple[str, float], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        assert self.total is not None
        total = (self.total.value() or 0.0) + value[1]
        self.total.update(total)
        yield ctx.get_current_key(), total


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_process_function_remembers_each_key(parallelism: int) -> None:
    """With several subtasks each has its own function, and its own state in it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    totals = env.from_collection(PAYMENTS, type_info=PAYMENT).key_by(lambda pair: pair[0]).process(RunningTotal())
    assert list(totals.execute_and_collect()) == [("Ann", 10.0), ("Ben", 3.5), ("Ann", 12.5), ("Ben", 4.5)]


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_reducing_state(
            ReducingStateDescriptor("count", lambda left, right: left + right, Types.INT())
        )

    def map(self, value: tuple[str, float]) -> tuple[str, int]:
        assert isinstance(self.count, AppendingState)
        self.count.add(1)
        return value[0], self.count.get()


class FirstOnly(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value: tuple[str, float]) -> bool:
        is_first = not self.seen.value()
        self.seen.update(True)
        return is_first


class Pairs(FlatMapFunction):
    """Two amounts of a key at a time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.DOUBLE()))

    def flat_map(self, value: tuple[str, float]) -> Iterator[tuple[float, ...]]:
        self.waiting.add(value[1])
        amounts = tuple(self.waiting)
        if len(amounts) == 2:
            self.waiting.clear()
            yield amounts


@pytest.mark.parametrize("parallelism", [1, 3])
def test_map_filter_and_flat_map_have_the_state_of_their_key(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    keyed = env.from_collection(PAYMENTS, type_info=PAYMENT).key_by(lambda pair: pair[0])
    assert list(keyed.map(Numbered()).execute_and_collect()) == [("Ann", 1), ("Ben", 1), ("Ann", 2), ("Ben", 2)]
    assert list(keyed.filter(FirstOnly()).execute_and_collect()) == PAYMENTS[:2]
    assert list(keyed.flat_map(Pairs()).execute_and_collect()) == [(10.0, 2.5), (3.5, 1.0)]


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: tuple[int, str], record_timestamp: int) -> int:
        return value[0]


class Silence(KeyedProcessFunction):
    """Says when a key has been silent for two seconds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: tuple[int, str], ctx: KeyedProcessFunction.Context) -> None:
        timers: TimerService = ctx.timer_service()
        last = self.last.value()
        if last is not None:
            timers.delete_event_time_timer(last + 2000)
        timestamp = ctx.timestamp()
        assert timestamp is not None
        self.last.update(timestamp)
        timers.register_event_time_timer(timestamp + 2000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield ctx.get_current_key(), timestamp, self.last.value()


def test_event_time_timers_fire_when_the_watermark_passes_them() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = [(1000, "a"), (4000, "b"), (2500, "a"), (3000, "a"), (9000, "b")]
    stream = env.from_collection(events, type_info=Types.TUPLE([Types.LONG(), Types.STRING()]))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(
        FirstField()
    )
    alarms = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda pair: pair[1]).process(Silence())
    assert sorted(alarms.execute_and_collect()) == [("a", 5000, 3000), ("b", 11000, 9000)]


class Seen(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.amounts = runtime_context.get_map_state(MapStateDescriptor("amounts", Types.DOUBLE(), Types.INT()))

    def process_element(self, value: tuple[str, float], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.amounts[value[1]] = (self.amounts[value[1]] or 0) + 1
        yield value[0], sorted(self.amounts.items())


def test_a_map_state_is_used_like_a_dict() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("Ann", 1.0), ("Ann", 2.0), ("Ann", 1.0)], type_info=PAYMENT)
    results = list(stream.key_by(lambda pair: pair[0]).process(Seen()).execute_and_collect())
    assert results[-1] == ("Ann", [(1.0, 2), (2.0, 1)])


class WithModule(RunningTotal):
    """Modules cannot be copied like other attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.module = math

    def process_element(self, value: tuple[str, float], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        for key, total in super().process_element(value, ctx):
            yield key, self.module.floor(total)


def test_a_function_may_hold_a_module_in_every_subtask() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(5)
    totals = env.from_collection(PAYMENTS, type_info=PAYMENT).key_by(lambda pair: pair[0]).process(WithModule())
    assert list(totals.execute_and_collect()) == [("Ann", 10), ("Ben", 3), ("Ann", 12), ("Ben", 4)]
