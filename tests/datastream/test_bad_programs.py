"""Bad programs are refused when they are built, with an error that says what to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.datastream.running import BY_SECOND_FIELD, local, stamped

from tidegate import agg
from tidegate.common import Time, Types
from tidegate.datastream import (
    AsyncDataStream,
    CoMapFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from tidegate.datastream.sources import CollectionSource, NumberSequenceSource, SocketTextSource
from tidegate.datastream.state import MapStateDescriptor
from tidegate.datastream.window import (
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, TidegateError, UnsupportedError

ms = Time.milliseconds
TUMBLING = TumblingEventTimeWindows.of(ms(10))
NOTHING: Any = None
NOT_A_RUNTIME: Any = "flink"


@pytest.fixture
def plain() -> DataStream:
    return local().from_collection([("a", 1)])


@pytest.fixture
def timed() -> DataStream:
    return stamped([("a", 1)])


@pytest.fixture
def keyed(timed: DataStream) -> KeyedStream:
    return timed.key_by(0)


def refused(build: Callable[[], Any], kind: type[TidegateError], message: str) -> None:
    with pytest.raises(kind, match=message):
        build()


# Time


@pytest.mark.parametrize(
    "assigner", [TUMBLING, SlidingEventTimeWindows.of(ms(10), ms(5)), EventTimeSessionWindows.with_gap(ms(5))]
)
def test_an_event_time_window_needs_timestamps(plain: DataStream, assigner: Any) -> None:
    message = (
        rf"window\({type(assigner).__name__}\): the records have no timestamps; call assign_timestamps_and_watermarks "
        r"before window\(\), or use a processing-time window"
    )
    refused(lambda: plain.key_by(0).window(assigner), InvalidValueError, message)
    refused(lambda: plain.window_all(assigner), InvalidValueError, message)
    refused(lambda: plain.join(plain).where(0).equal_to(0).window(assigner), InvalidValueError, message)


def test_windows_by_the_clock_or_by_count_need_no_timestamps(plain: DataStream) -> None:
    plain.key_by(0).window(TumblingProcessingTimeWindows.of(ms(10)))
    plain.key_by(0).window(GlobalWindows.create())
    plain.key_by(0).count_window(2)


def test_time_windows_follow_the_time_that_the_job_runs_on(plain: DataStream) -> None:
    refused(lambda: plain.key_by(0).time_window(ms(10)), InvalidValueError, "the records have no timestamps")
    plain.get_execution_environment().set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    plain.key_by(0).time_window(ms(10))
    plain.key_by(0).time_window(ms(10), ms(5))


def test_an_interval_join_needs_timestamps_on_both_sides(keyed: KeyedStream) -> None:
    plain = keyed._env.from_collection([("a", 1)])
    for left, right, side in ((plain.key_by(0), keyed, "left"), (keyed, plain.key_by(0), "right")):
        refused(
            lambda left=left, right=right: left.interval_join(right).between(ms(0), ms(1)),  # type: ignore[misc]
            InvalidValueError,
            f"interval_join: the records of the {side} stream have no timestamps; call assign_timestamps_and_wat",
        )


RULES = MapStateDescriptor("rules")


@pytest.mark.parametrize(
    ("where", "combine"),
    [
        ("union", lambda one, other: one.union(other)),
        ("connect", lambda one, other: one.connect(other)),
        ("connect", lambda one, other: one.connect(other.broadcast(RULES))),
        ("join", lambda one, other: one.join(other)),
        ("co_group", lambda one, other: one.co_group(other)),
        ("interval_join", lambda one, other: one.key_by(0).interval_join(other.key_by(0))),
    ],
)
def test_streams_of_two_environments_do_not_mix(
    plain: DataStream, timed: DataStream, where: str, combine: Callable[[Any, Any], Any]
) -> None:
    refused(
        lambda: combine(plain, timed), InvalidValueError, f"{where}: the streams are of two environments; call get_exec"
    )


# Windows


@pytest.mark.parametrize(
    "trigger",
    [DeltaTrigger.of(1, lambda old, new: 0.0), ProcessingTimeoutTrigger.of(CountTrigger.of(1), ms(5))],
)
def test_a_trigger_that_cannot_merge_is_refused_with_sessions(keyed: KeyedStream, trigger: Any) -> None:
    windows = keyed.window(EventTimeSessionWindows.with_gap(ms(5))).trigger(trigger)
    refused(
        lambda: windows.sum(1),
        InvalidValueError,
        rf"{type(trigger).__name__} cannot merge, and EventTimeSessionWindows merges windows; use a trigger with can_m",
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EventTimeSessionWindows.with_gap(ms(-5)), "gap must be longer than 0 ms, got -5 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(-5)), "size must be longer than 0 ms, got -5 ms"),
        (lambda: stamped([]).key_by(0).window(TUMBLING).allowed_lateness(-5), "allowed_lateness must not be negative"),
        (
            lambda: stamped([]).key_by(0).window(TUMBLING).allowed_lateness(ms(-5)),
            "allowed_lateness must not be negative",
        ),
        (lambda: stamped([]).key_by(0).count_window(0), "the count must be an integer of 1 or more, got 0"),
        (lambda: stamped([]).count_window_all(2, -1), "the count must be an integer of 1 or more, got -1"),
    ],
)
def test_negative_sizes_gaps_and_lateness_are_refused(build: Callable[[], Any], message: str) -> None:
    refused(build, InvalidValueError, message)


def test_windows_that_slide_further_than_they_are_long_warn(keyed: KeyedStream) -> None:
    with pytest.warns(UserWarning, match="windows of 10 ms every 15 ms leave gaps: records that fall between"):
        keyed.window(SlidingEventTimeWindows.of(ms(10), ms(15)))


class Whole(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return []


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda keyed: keyed.window("1 minute"),
            "window: expected a WindowAssigner such as TumblingEventTimeWindows.of",
        ),
        (lambda keyed: keyed.window(TumblingEventTimeWindows), "window: expected a WindowAssigner"),
        (lambda keyed: keyed.window(TUMBLING).trigger(5), r"trigger: expected a Trigger such as CountTrigger.of\(10\)"),
        (
            lambda keyed: keyed.window(TUMBLING).evictor(5),
            r"evictor: expected an Evictor such as CountEvictor.of\(10\)",
        ),
        (
            lambda keyed: keyed.window(TUMBLING).side_output_late_data("late"),
            "side_output_late_data: expected an OutputTag, got 'late'",
        ),
        (lambda keyed: keyed.window(TUMBLING).allowed_lateness(True), "allowed_lateness: expected a Duration, a Time"),
        (
            lambda keyed: keyed.window(TUMBLING).reduce(5),
            "reduce: expected a ReduceFunction object or a function, got 5",
        ),
        (lambda keyed: keyed.window(TUMBLING).aggregate(5), "aggregate: expected an AggregateFunction object, got 5"),
        (
            lambda keyed: keyed.window(TUMBLING).process(Whole),
            "window: expected a ProcessWindowFunction or WindowFunction",
        ),
        (lambda keyed: keyed.window(TUMBLING).apply(5), "window: expected a ProcessWindowFunction or WindowFunction"),
        (
            lambda keyed: keyed.window_all(TUMBLING).process(Whole()),
            "window: expected a ProcessAllWindowFunction or All",
        ),
        (lambda keyed: keyed.window(TUMBLING).agg(total="amount"), r"agg\(total=...\): expected an aggregate such as"),
        (lambda keyed: keyed.window(TUMBLING).sum(None), "sum: expected the position or name of a field, got None"),
    ],
)
def test_what_does_not_fit_a_window_is_refused(keyed: KeyedStream, build: Callable[[Any], Any], message: str) -> None:
    refused(lambda: build(keyed), InvalidTypeError, message)


def test_an_aggregate_may_not_take_the_name_of_another_column(timed: DataStream) -> None:
    windows = timed.key_by(lambda value: value[0]).window(TUMBLING)
    for name in ("key", "window_start", "window_end"):
        refused(
            lambda name=name: windows.agg(**{name: agg.count()}),  # type: ignore[misc]
            InvalidValueError,
            rf"agg\({name}=...\): the result has a column of that name already",
        )
    refused(lambda: windows.agg(), InvalidValueError, r"agg\(\) needs at least one aggregate")


# Functions


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(5), "map: expected a MapFunction object or a function, got 5"),
        (lambda s: s.flat_map(None), "flat_map: expected a FlatMapFunction object or a function, got None"),
        (lambda s: s.filter("x"), "filter: expected a FilterFunction object or a function, got 'x'"),
        (lambda s: s.map(CoMapFunction), "map: expected a MapFunction object or a function, got"),
        (lambda s: s.process(str), "process: expected a ProcessFunction object, got"),
        (lambda s: s.key_by(0).process(5), "process: expected a KeyedProcessFunction object, got 5"),
        (lambda s: s.key_by(0).reduce(5), "reduce: expected a ReduceFunction object or a function, got 5"),
        (lambda s: s.key_by(None), "key_by: expected a KeySelector object or a function, got None"),
        (lambda s: s.key_by([0, None]), "key_by: expected the position or name of a field, got None"),
        (lambda s: s.key_by(0).sum(1.5), "sum: expected the position or name of a field, got 1.5"),
        (lambda s: s.partition_custom(5, 0), "partition_custom: expected a Partitioner object or a function, got 5"),
        (lambda s: s.sink_to("file"), "sink_to: expected a Sink object, got 'file'"),
        (lambda s: s.union([1]), r"union: expected a DataStream, got \[1\]"),
        (lambda s: s.connect(5), "connect: expected a DataStream, got 5"),
        (lambda s: s.join(5), "join: expected a DataStream, got 5"),
        (lambda s: s.co_group(5), "co_group: expected a DataStream, got 5"),
        (lambda s: s.get_side_output("late"), "get_side_output: expected an OutputTag, got 'late'"),
        (lambda s: s.broadcast("rules"), "broadcast: expected a MapStateDescriptor, got 'rules'"),
        (lambda s: s.connect(s).map(5), "connect.map: expected a CoMapFunction object, got 5"),
        (lambda s: s.connect(s).flat_map(5), "connect.flat_map: expected a CoFlatMapFunction object, got 5"),
        (lambda s: s.connect(s).process(5), "connect.process: expected a CoProcessFunction object, got 5"),
        (lambda s: s.key_by(0).interval_join(s), "interval_join: call key_by on the other stream too, got"),
        (lambda s: AsyncDataStream.ordered_wait(NOTHING, s, ms(1)), "AsyncDataStream: expected a DataStream, got None"),
        (lambda s: AsyncDataStream.unordered_wait(s, 5, ms(1)), r"AsyncDataStream: expected an? AsyncFunction object"),
        (
            lambda s: s.assign_timestamps_and_watermarks(5),
            "assign_timestamps_and_watermarks: expected a WatermarkStrategy",
        ),
        (lambda s: s.map(str, output_type=5), "map"),
    ],
)
def test_what_does_not_fit_a_stream_is_refused(plain: DataStream, build: Callable[[Any], Any], message: str) -> None:
    refused(lambda: build(plain), InvalidTypeError, message)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(str, on_error="ignore"), "on_error must be 'fail' or 'side_output', got 'ignore'"),
        (lambda s: s.key_by(0, on_error=True), "on_error must be 'fail' or 'side_output', got True"),
        (lambda s: s.project(), "project needs at least one field index"),
        (lambda s: s.name(""), r"name\(...\) takes a text that is not empty"),
        (lambda s: s.set_parallelism(0), "set_parallelism takes an integer of 1 or more, got 0"),
        (lambda s: s.union(s).uid("x"), "uid: a union is not an operator; call it on one of the united streams"),
        (
            lambda s: s.connect(s.key_by(0)).map(Both()),
            "connect: call key_by on both streams or on none, or equal keys",
        ),
        (lambda s: s.join(s).window(TUMBLING), r"join: say where\(...\) and equal_to\(...\) before window\(...\)"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(plain: DataStream, build: Callable[[Any], Any], message: str) -> None:
    refused(lambda: build(plain), InvalidValueError, message)


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def test_a_map_function_of_two_inputs_is_no_process_function(plain: DataStream) -> None:
    connected: Any = plain.connect(plain)
    refused(lambda: connected.process(Both()), InvalidTypeError, "connect.process: expected a KeyedCoProcess")


def test_an_interval_that_no_pair_can_meet_is_refused(keyed: KeyedStream) -> None:
    joined = keyed.interval_join(keyed).between(ms(0), ms(1)).lower_bound_exclusive().upper_bound_exclusive()
    refused(
        lambda: joined.process(lambda left, right: 0),
        InvalidValueError,
        "the lower bound 1 ms is above the upper",
    )
    refused(
        lambda: keyed.interval_join(keyed).between(ms(0), ms(1)).side_output_left_late_data("late"),  # type: ignore[arg-type]
        InvalidTypeError,
        "expected an OutputTag, got 'late'",
    )


def test_a_function_that_cannot_be_pickled_is_refused_before_anything_runs(plain: DataStream) -> None:
    lock = threading.Lock()
    plain.map(lambda value: lock).name("enrich").print()
    refused(
        plain.get_execution_environment().execute,
        InvalidTypeError,
        r"enrich: its function cannot be sent to a worker .*do not hold connections, locks or open files",
    )


def test_a_duplicate_uid_is_refused(plain: DataStream) -> None:
    plain.map(str).uid("twice")
    refused(lambda: plain.map(str).uid("twice"), InvalidValueError, "the uid 'twice' is used twice; give each")


def test_a_program_without_a_sink_is_refused(plain: DataStream) -> None:
    plain.map(str)
    env = plain.get_execution_environment()
    for run in (env.execute, env.execute_async):
        refused(run, InvalidValueError, "the program has no sink, so nothing would run")


# What there is not


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda s: s.iterate(),
            "iterate: loops in a stream carry no watermarks, and Spark has none; write the loop inside",
        ),
        (lambda s: s.cache(), "cache: streams are not cached; write the stream to a FileSink and read it again"),
        (lambda s: s.key_by(0).rebalance(), "rebalance: a keyed stream has its partitioning; call it before key_by"),
        (lambda s: s.key_by(0).shuffle(), "a keyed stream has its partitioning; call it before key_by"),
        (
            lambda s: s.key_by(0).broadcast(),
            "broadcast: a keyed stream has its partitioning; broadcast the stream before",
        ),
        (lambda s: s.key_by(0).partition_custom(max, 0), "partition_custom: a keyed stream has its partitioning"),
        (
            lambda s: s.key_by(0).name("x"),
            "name: a keyed stream is not an operator; name the stream before or after it",
        ),
        (lambda s: s.key_by(0).uid("x"), "uid: a keyed stream is not an operator; set it on the operator behind it"),
        (lambda s: s.key_by(0).set_parallelism(2), "set_parallelism: a keyed stream is not an operator; set it on the"),
    ],
)
def test_what_there_is_not_is_refused_by_name(plain: DataStream, build: Callable[[Any], Any], message: str) -> None:
    refused(lambda: build(plain), UnsupportedError, message)


# Environment and sources


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (
            lambda: StreamExecutionEnvironment(runtime=NOT_A_RUNTIME),
            InvalidValueError,
            "runtime must be 'spark' or 'local', got",
        ),
        (lambda: local(0), InvalidValueError, "parallelism must be an integer of 1 or more, got 0"),
        (
            lambda: local().set_parallelism(True),
            InvalidValueError,
            "parallelism must be an integer of 1 or more, got True",
        ),
        (
            lambda: local().set_stream_time_characteristic(NOTHING),
            InvalidTypeError,
            "set_stream_time_characteristic: expected a TimeCharacteristic, got None",
        ),
        (
            lambda: local().from_collection("abc"),
            InvalidTypeError,
            "from_collection: expected a list of elements, got 'abc'",
        ),
        (
            lambda: local().from_collection(NOTHING),
            InvalidTypeError,
            "from_collection: expected a list of elements, got None",
        ),
        (lambda: local().from_range(5, 4), InvalidValueError, "from_range: the end 4 is before the start 5"),
        (lambda: local().from_range(1, 4, 0), InvalidValueError, "from_range: channels must be 1 or more, got 0"),
        (lambda: local().add_source(5), InvalidTypeError, "add_source: expected a SourceFunction object, got 5"),
        (
            lambda: local().from_source([1], BY_SECOND_FIELD, "x"),
            InvalidTypeError,
            r"from_source: expected a Source such as NumberSequenceSource\(1, 10\), got \[1\]",
        ),
        (
            lambda: local().from_source(NumberSequenceSource(1, 2), 5, "x"),
            InvalidTypeError,
            "expected a WatermarkStrategy",
        ),
        (
            lambda: local().socket_text_stream("", 1),
            InvalidValueError,
            "socket_text_stream: expected the name of a host",
        ),
        (lambda: local().socket_text_stream("h", 0), InvalidValueError, "a port is a number from 1 to 65535, got 0"),
        (lambda: local().socket_text_stream("h", 1, ""), InvalidValueError, "the delimiter must not be empty"),
    ],
)
def test_environments_and_sources_that_cannot_be_are_refused(
    build: Callable[[], Any], kind: type[TidegateError], message: str
) -> None:
    refused(build, kind, message)


def test_sources_name_their_channels() -> None:
    assert CollectionSource([1]).channels() == ("0",)
    assert NumberSequenceSource(1, 9, 3).channels() == ("0", "1", "2")
    assert SocketTextSource("host", 99).channels() == ("host:99",)


def test_output_types_are_checked_when_the_program_is_built(plain: DataStream) -> None:
    refused(lambda: plain.map(str, output_type=Types.STRING), InvalidTypeError, "STRING")


def test_a_side_output_of_a_union_is_refused(plain: DataStream) -> None:
    refused(lambda: plain.union(plain).get_side_output(OutputTag("x")), InvalidValueError, "a union is not an operator")
