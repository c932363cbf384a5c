"""Windows of all kinds, with functions of all kinds."""

from collections.abc import Collection, Iterable
from typing import Any

from tidegate.common import Time, Types, WatermarkStrategy
from tidegate.common.watermark_strategy import TimestampAssigner
from tidegate.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from tidegate.datastream.functions import WindowFunction
from tidegate.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
SPAN = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.INT()])


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return int(value[1])


class SpanAndCount(ProcessWindowFunction[tuple[str, int], tuple[str, int, int, int], str, TimeWindow]):  # type: ignore[type-arg]
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],  # type: ignore[type-arg]
        elements: Iterable[tuple[str, int]],
    ) -> Iterable[tuple[str, int, int, int]]:
        window = context.window()
        return [(key, window.start, window.end, len(list(elements)))]


def clicks(env: StreamExecutionEnvironment, *times: int) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    pairs = env.from_collection([("page", time) for time in times], type_info=PAIR)
    return pairs.assign_timestamps_and_watermarks(strategy)


def spans(assigner: Any, *times: int) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    keyed = clicks(env, *times).key_by(lambda pair: pair[0], key_type=Types.STRING())
    return list(keyed.window(assigner).process(SpanAndCount(), SPAN).execute_and_collect())


def test_tumbling_windows_lie_side_by_side() -> None:
    found = spans(TumblingEventTimeWindows.of(Time.milliseconds(10)), 1, 9, 10, 25)
    assert found == [("page", 0, 10, 2), ("page", 10, 20, 1), ("page", 20, 30, 1)]


def test_sliding_windows_overlap() -> None:
    found = spans(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)), 3, 7)
    assert found == [("page", -5, 5, 1), ("page", 0, 10, 2), ("page", 5, 15, 1)]


def test_a_session_ends_after_its_gap() -> None:
    found = spans(EventTimeSessionWindows.with_gap(Time.milliseconds(5)), 1, 4, 8, 20)
    assert found == [("page", 1, 13, 3), ("page", 20, 25, 1)]


class TwiceItsTime(SessionWindowTimeGapExtractor):
    def extract(self, element: tuple[str, int]) -> int:
        return 2 * element[1]


def test_an_element_may_say_how_long_its_session_lasts() -> None:
    found = spans(EventTimeSessionWindows.with_dynamic_gap(TwiceItsTime()), 1, 2, 10)
    assert found == [("page", 1, 6, 2), ("page", 10, 30, 1)]


class Total(WindowFunction[tuple[str, int], tuple[str, int], str, CountWindow]):  # type: ignore[type-arg]
    def apply(self, key: str, window: CountWindow, inputs: Iterable[tuple[str, int]]) -> Iterable[tuple[str, int]]:
        return [(key, sum(value for _, value in inputs))]


def test_every_so_many_elements_are_a_count_window() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([("a", 1), ("b", 5), ("a", 2), ("a", 9), ("b", 6)], type_info=PAIR)
    totals = pairs.key_by(lambda pair: pair[0]).count_window(2).apply(Total(), PAIR)
    assert list(totals.execute_and_collect()) == [("a", 3), ("b", 11)]


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithKey(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: Iterable[float]) -> Iterable[Any]:
        yield key, next(iter(elements)), context.current_watermark() >= context.window().max_timestamp()


def test_an_aggregate_goes_on_to_a_window_function() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    windows = clicks(env, 2, 4, 12).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    averages = windows.aggregate(
        Average(),
        window_function=WithKey(),
        accumulator_type=Types.TUPLE([Types.INT(), Types.INT()]),
        output_type=Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]),
    )
    assert list(averages.execute_and_collect()) == [("page", 6.0, True)]


class Count(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements: Iterable[Any]) -> Iterable[int]:
        return [len(list(elements))]


def test_windows_may_span_all_keys() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    windows = clicks(env, 2, 4, 12).window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    assert list(windows.process(Count(), Types.INT()).execute_and_collect()) == [2, 1]


def test_options_of_a_window_stick_when_the_result_is_not_used() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    late = OutputTag("late", PAIR)
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(SecondField())
    pairs = env.from_collection([("page", time) for time in (1, 2, 30, 5)], type_info=PAIR)
    keyed = pairs.assign_timestamps_and_watermarks(strategy).key_by(lambda pair: pair[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.trigger(PurgingTrigger.of(CountTrigger.of(1)))
    windows.side_output_late_data(late)
    counts = windows.process(SpanAndCount(), SPAN)
    assert [row[3] for row in counts.execute_and_collect()] == [1, 1, 1]
    assert list(counts.get_side_output(late).execute_and_collect()) == [("page", 5)]
    windows.allowed_lateness(100)
    assert [row[3] for row in windows.process(SpanAndCount(), SPAN).execute_and_collect()] == [1, 1, 1, 1]


def test_every_option_of_a_window_returns_the_window() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for windows in (
        clicks(env, 1).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))),
        clicks(env, 1).window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))),
    ):
        assert windows.trigger(CountTrigger.of(1)) is windows
        assert windows.evictor(CountEvictor.of(1)) is windows
        assert windows.allowed_lateness(5) is windows
        assert windows.side_output_late_data(OutputTag("late")) is windows


def test_constructors_take_milliseconds() -> None:
    assert spans(TumblingEventTimeWindows(10, 0), 1, 12) == [("page", 0, 10, 1), ("page", 10, 20, 1)]
    assert spans(SlidingEventTimeWindows(10, 10, 0), 1) == [("page", 0, 10, 1)]
    assert spans(EventTimeSessionWindows(5), 1) == [("page", 1, 6, 1)]


class Tens(WindowAssigner):
    """Written as PyFlink declares it: the environment has no default."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp // 10 * 10, timestamp // 10 * 10 + 10)]

    def get_default_trigger(self, env: Any) -> Trigger:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_an_assigner_of_the_user_is_asked_for_its_trigger_with_an_environment() -> None:
    assert spans(Tens(), 1, 12) == [("page", 0, 10, 1), ("page", 10, 20, 1)]
