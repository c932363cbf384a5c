"""What can be done with a stream, through the public API on the local runtime."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from tests.datastream.running import BY_SECOND_FIELD, collect, local, stamped

from tidegate.common import Row, Types
from tidegate.datastream import (
    CollectSink,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.errors import InvalidValueError

SIDE = OutputTag("side")


class Order(NamedTuple):
    user: str
    amount: int


ORDERS = [Order("ann", 5), Order("bob", 7), Order("ann", 3), Order("ann", 9), Order("bob", 2)]


@pytest.fixture
def orders() -> DataStream:
    return local().from_collection(ORDERS)


# One element at a time


class Double(MapFunction):
    def map(self, value: Any) -> Any:
        return value * 2


class Letters(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        yield from str(value)


class Even(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2 == 0)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.map(Double()), [24, 66]),
        (lambda s: s.map(lambda value: value + 1), [13, 34]),
        (lambda s: s.flat_map(Letters()), ["1", "2", "3", "3"]),
        (lambda s: s.flat_map(lambda value: [value] if value > 20 else None), [33]),
        (lambda s: s.filter(Even()), [12]),
        (lambda s: s.filter(lambda value: value > 20), [33]),
        (lambda s: s.map(lambda value: (value, "x", value + 1)).project(2, 0), [(13, 12), (34, 33)]),
    ],
)
def test_each_element_is_mapped_filtered_or_projected(build: Any, expected: list[Any]) -> None:
    assert collect(build(local().from_elements(12, 33))) == expected


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value % 2:
            ctx.output(SIDE, value)
        else:
            yield value


def test_a_side_output_is_a_stream_of_its_own() -> None:
    env = local()
    even, odd = CollectSink(), CollectSink()
    split = env.from_range(1, 6).process(Split())
    split.sink_to(even)
    split.get_side_output(SIDE).map(lambda value: -value).sink_to(odd)
    env.execute()
    assert (even.results, odd.results) == ([2, 4, 6], [-1, -3, -5])


def test_several_streams_may_read_one() -> None:
    env = local()
    sinks = [CollectSink(), CollectSink()]
    numbers = env.from_elements(1, 2)
    for factor, sink in enumerate(sinks, 1):
        numbers.map(lambda value, factor=factor: value * factor).add_sink(sink)
    env.execute()
    assert [sink.results for sink in sinks] == [[1, 2], [2, 4]]


def test_functions_are_opened_and_closed_where_they_run() -> None:
    calls: list[str] = []

    class Told(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            calls.append(f"open {runtime_context.get_task_name_with_subtasks()}")

        def map(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            calls.append("close")

    env = local()
    stream = env.from_elements(1).map(Told()).name("told")
    stream.sink_to(CollectSink())
    env.execute()
    assert calls == ["open told (1/1)", "close"]


def test_parameters_of_the_job_reach_functions() -> None:
    class Region(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.region = runtime_context.get_job_parameter("region", "nowhere")

        def map(self, value: Any) -> Any:
            return self.region

    env = local()
    env.get_config().set_global_job_parameters({"region": "north"})
    assert collect(env.from_elements(1).map(Region())) == ["north"]


# Keyed streams


class ByUser(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value.user


@pytest.mark.parametrize("key", [0, "user", lambda order: order.user, ByUser(), ["user"], (0,)])
def test_a_key_is_a_field_or_a_function(orders: DataStream, key: Any) -> None:
    assert collect(orders.key_by(key).sum("amount"))[-1] == ("bob", 9)


def test_several_fields_may_be_the_key() -> None:
    stream = local().from_collection([("a", 1, 10), ("a", 2, 20), ("a", 1, 30)])
    assert collect(stream.key_by([0, 1]).sum(2)) == [("a", 1, 10), ("a", 2, 20), ("a", 1, 40)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("sum", [("ann", 5), ("bob", 7), ("ann", 8), ("ann", 17), ("bob", 9)]),
        ("min", [("ann", 5), ("bob", 7), ("ann", 3), ("ann", 3), ("bob", 2)]),
        ("max", [("ann", 5), ("bob", 7), ("ann", 5), ("ann", 9), ("bob", 7)]),
        ("min_by", [("ann", 5), ("bob", 7), ("ann", 3), ("ann", 3), ("bob", 2)]),
        ("max_by", [("ann", 5), ("bob", 7), ("ann", 5), ("ann", 9), ("bob", 7)]),
    ],
)
@pytest.mark.parametrize("field", [1, "amount"])
def test_rolling_aggregates_give_a_result_for_each_element(
    orders: DataStream, how: str, expected: list[Any], field: Any
) -> None:
    assert collect(getattr(orders.key_by("user"), how)(field)) == expected


def test_min_and_max_keep_the_other_fields_of_the_first_element_and_min_by_the_whole_one() -> None:
    stream = local().from_collection([("k", 5, "first"), ("k", 3, "second")]).key_by(0)
    assert collect(stream.min(1)) == [("k", 5, "first"), ("k", 3, "first")]
    assert collect(stream.min_by(1)) == [("k", 5, "first"), ("k", 3, "second")]


def test_rolling_aggregates_of_plain_numbers_need_no_field() -> None:
    stream = local().from_collection([1, 2, 3]).key_by(lambda value: "all")
    assert [collect(getattr(stream, how)()) for how in ("sum", "max")] == [[1, 3, 6], [1, 2, 3]]


def test_rolling_aggregates_of_dicts_and_rows_go_by_name() -> None:
    dicts = local().from_collection([{"k": "a", "n": 1}, {"k": "a", "n": 2}])
    assert collect(dicts.key_by("k").sum("n")) == [{"k": "a", "n": 1}, {"k": "a", "n": 3}]
    rows = local().from_collection(
        [Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    )
    assert [row[1] for row in collect(rows.key_by("k").sum("n"))] == [1, 3]


class Longest(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2, key=len)


@pytest.mark.parametrize("function", [Longest(), lambda left, right: max(left, right, key=len)])
def test_a_keyed_stream_can_be_reduced(function: Any) -> None:
    stream = local().from_collection(["a1", "b", "a", "a123"]).key_by(lambda word: word[0])
    assert collect(stream.reduce(function)) == ["a1", "b", "a1", "a123"]


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value.user, self.count.value()


class First(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def filter(self, value: Any) -> bool:
        if self.seen.value():
            return False
        self.seen.update(True)
        return True


class WithBefore(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.before = runtime_context.get_state(ValueStateDescriptor("before"))

    def flat_map(self, value: Any) -> Iterable[Any]:
        if self.before.value() is not None:
            yield self.before.value(), value.amount
        self.before.update(value.amount)


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda keyed: keyed.map(Numbered()), [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 1), ("bob", 2)]),
        (lambda keyed: keyed.filter(First()), [("ann", 5), ("bob", 7)]),
        (lambda keyed: keyed.flat_map(WithBefore()), [(3, 9), (5, 3), (7, 2)]),
        (lambda keyed: keyed.map(lambda order: order.amount), [2, 3, 5, 7, 9]),
        (lambda keyed: keyed.filter(lambda order: order.amount > 6), [("ann", 9), ("bob", 7)]),
        (lambda keyed: keyed.flat_map(lambda order: [order.amount] * 2), [2, 2, 3, 3, 5, 5, 7, 7, 9, 9]),
    ],
)
def test_a_function_on_a_keyed_stream_has_the_state_of_the_key(
    build: Any, expected: list[Any], parallelism: int
) -> None:
    keyed = local(parallelism).from_collection(ORDERS).key_by("user")
    assert sorted(collect(build(keyed))) == expected


class Waits(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp


def test_timers_fire_also_at_the_end_of_input() -> None:
    stream = stamped([("a", 1), ("b", 5), ("a", 100)]).key_by(0).process(Waits())
    assert collect(stream) == [("a", 11), ("b", 15), ("a", 110)]


# Several streams


def test_a_union_has_all_elements_and_the_lowest_watermark() -> None:
    env = local()
    slow = env.from_collection([("a", 1), ("a", 2)]).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    fast = env.from_collection([("a", 1000), ("a", 2000)]).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    sums = slow.union(fast).key_by(0).time_window("1 second").sum(1)
    assert collect(sums) == [("a", 3), ("a", 1000), ("a", 2000)]


def test_a_stream_united_with_itself_has_every_element_twice() -> None:
    stream = local().from_elements(1, 2)
    assert sorted(collect(stream.union(stream))) == [1, 1, 2, 2]
    assert sorted(collect(stream.union(stream).key_by(lambda value: 0).sum())) == [1, 2, 4, 6]


def test_more_than_two_streams_can_be_united_and_chained() -> None:
    env = local()
    streams = [env.from_elements(n) for n in range(4)]
    assert sorted(collect(streams[0].union(*streams[1:]).map(lambda value: value * 10))) == [0, 10, 20, 30]


# Where elements go


class Where(ProcessFunction):
    """Which subtask an element reached."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield self.index, value


class KeyedWhere(KeyedProcessFunction):
    """The same on a keyed stream."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield self.index, value


def places(build: Any) -> list[tuple[int, Any]]:
    """Where elements are once they went the way that is built: the subtask behind it, and the element."""
    return sorted(collect(build(local(3).from_range(0, 5)).process(Where())))


@pytest.mark.parametrize("how", ["rebalance", "rescale", "shuffle"])
def test_elements_go_to_all_subtasks_in_turn(how: str) -> None:
    found = places(lambda stream: getattr(stream, how)())
    assert sorted(value for _, value in found) == list(range(6))
    assert sorted(index for index, _ in found) == [0, 0, 1, 1, 2, 2]


def test_broadcast_sends_every_element_to_every_subtask() -> None:
    assert places(lambda stream: stream.broadcast()) == [(index, value) for index in range(3) for value in range(6)]


def test_forward_keeps_elements_in_their_subtask() -> None:
    found = places(lambda stream: stream.key_by(lambda value: value).process(KeyedWhere()).forward())
    assert sorted(value for _, (_, value) in found) == list(range(6))
    assert all(after == before for after, (before, _) in found)


def test_forward_does_not_change_the_parallelism() -> None:
    env = local(2)
    stream = env.from_range(0, 5).key_by(lambda value: value).process(KeyedWhere()).name("keyed")
    stream.forward().map(str).name("texts").set_parallelism(5).sink_to(CollectSink())
    message = "forward: keyed has parallelism 2 and texts has 5; forward() keeps elements where they are, so give both"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        env.execute()


class Backwards(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int(num_partitions - 1 - key % num_partitions)


@pytest.mark.parametrize("partitioner", [Backwards(), lambda key, count: count - 1 - key % count])
def test_a_user_may_say_where_elements_go(partitioner: Any) -> None:
    found = places(lambda stream: stream.partition_custom(partitioner, lambda value: value))
    assert found == sorted((2 - value % 3, value) for value in range(6))


@pytest.mark.parametrize("target", [3, -1, "x"])
def test_a_place_that_is_not_there_is_an_error(target: Any) -> None:
    with pytest.raises(ValueError, match=r"the partitioner gave .* it must give an index from 0 to 2"):
        places(lambda stream: stream.partition_custom(lambda key, count: target, lambda value: value))


def test_an_error_of_a_partitioner_names_the_operator_and_the_record() -> None:
    with pytest.raises(RuntimeError, match=r"process Where: the partitioner raised ZeroDivisionError: .* record 0"):
        places(lambda stream: stream.partition_custom(lambda key, count: 1 // key, lambda value: value))


def test_keys_of_all_kinds_find_their_subtask() -> None:
    keys = ["a", 1, None, (1, "x"), 2.5, frozenset({1})]
    stream = local(4).from_collection([(key, 1) for key in keys] * 2).key_by(0).sum(1)
    assert sorted(collect(stream), key=repr) == sorted([(key, n) for key in keys for n in (1, 2)], key=repr)


# Settings


def test_settings_that_change_nothing_here_are_accepted(orders: DataStream) -> None:
    stream = orders.map(lambda value: value)
    same = (
        stream.set_max_parallelism(5)
        .set_buffer_timeout(5)
        .start_new_chain()
        .disable_chaining()
        .slot_sharing_group("x")
        .force_non_parallel()
        .set_description("a map")
    )
    assert same is stream
    sink = stream.sink_to(CollectSink()).set_parallelism(1).disable_chaining().slot_sharing_group("x")
    assert sink.name("out").uid("out").set_uid_hash("out").set_description("the end") is sink
    assert stream.set_uid_hash("m").get_name() == "map"
    assert stream.name("mine").get_name() == "mine"
    assert stream.get_execution_config() is orders.get_execution_environment().get_config()


def test_a_stream_knows_its_type() -> None:
    stream = local().from_collection([1], type_info=Types.INT())
    assert stream.get_type() == Types.INT()
    assert stream.filter(bool).get_type() == Types.INT()
    assert stream.map(str).get_type() is None
    assert stream.map(str, output_type=Types.STRING()).get_type() == Types.STRING()


def test_elements_are_printed_with_a_name_and_the_subtask(capsys: pytest.CaptureFixture[str]) -> None:
    env = local()
    env.from_elements("x").print()
    env.from_elements("y").print("out")
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["out> y", "x"]
    parallel = local(2)
    parallel.from_range(0, 1).rebalance().print()
    parallel.from_range(2, 3).rebalance().print("out")
    parallel.execute()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.partition(" ")[0] for line in lines) == ["1>", "2>", "out:1>", "out:2>"]
    assert sorted(line.partition(" ")[2] for line in lines) == ["0", "1", "2", "3"]
