"""Joins, connected streams, broadcast and asynchronous requests through the public API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from tests.datastream.running import BY_SECOND_FIELD, collect, local

from tidegate.common import Time
from tidegate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CollectSink,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from tidegate.datastream.async_retry_predicates import empty_result_predicate
from tidegate.datastream.functions import (
    AsyncRetryStrategy,
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from tidegate.datastream.state import MapStateDescriptor, ReducingStateDescriptor
from tidegate.datastream.window import CountEvictor, CountTrigger, GlobalWindows, TumblingEventTimeWindows

ms = Time.milliseconds
TEN = TumblingEventTimeWindows.of(ms(10))


def two(left: list[Any], right: list[Any], parallelism: int = 2) -> tuple[DataStream, DataStream]:
    env = local(parallelism)
    first, second = (env.from_collection(elements) for elements in (left, right))
    return (
        first.assign_timestamps_and_watermarks(BY_SECOND_FIELD),
        second.assign_timestamps_and_watermarks(BY_SECOND_FIELD),
    )


# Interval join


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left[1], right[1], ctx.get_timestamp()


def test_an_interval_join_pairs_elements_that_are_close() -> None:
    left, right = two([("a", 10), ("b", 20)], [("a", 5), ("a", 12), ("a", 16), ("b", 20)])
    joined = left.key_by(0).interval_join(right.key_by(0)).between(ms(-5), ms(5))
    assert sorted(collect(joined.process(Pair()))) == [(10, 5, 10), (10, 12, 12), (20, 20, 20)]


def test_the_bounds_of_an_interval_may_be_left_out() -> None:
    def pairs(open_lower: bool, open_upper: bool) -> list[Any]:
        left, right = two([("a", 10)], [("a", 5), ("a", 10), ("a", 15)])
        joined = left.key_by(0).interval_join(right.key_by(0)).between(ms(-5), ms(5))
        joined = joined.lower_bound_exclusive() if open_lower else joined
        joined = joined.upper_bound_exclusive() if open_upper else joined
        return sorted(collect(joined.process(lambda first, second: second[1])))

    assert pairs(False, False) == [5, 10, 15]
    assert pairs(True, False) == [10, 15]
    assert pairs(False, True) == [5, 10]
    assert pairs(True, True) == [10]


def test_late_elements_of_each_side_have_an_output() -> None:
    strategy = BY_SECOND_FIELD.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    env = local()
    left, right = (
        env.from_collection(elements).assign_timestamps_and_watermarks(strategy)
        for elements in ([("l", 50), ("l", 1)], [("r", 50), ("r", 2)])
    )
    tags = OutputTag("left"), OutputTag("right")
    joined = left.key_by(0).interval_join(right.key_by(0)).between(ms(0), ms(1))
    results = joined.side_output_left_late_data(tags[0]).side_output_right_late_data(tags[1]).process(Pair())
    sinks = [CollectSink(), CollectSink()]
    for tag, sink in zip(tags, sinks, strict=True):
        results.get_side_output(tag).sink_to(sink)
    env.execute()
    assert [sink.results for sink in sinks] == [[("l", 1)], [("r", 2)]]


# Window join and co-group


class Join(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[1], second[1]


class FlatJoin(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterable[Any]:
        yield first[1], second[1]


class CoGroup(CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        yield sorted(value[1] for value in first), sorted(value[1] for value in second)


LEFT, RIGHT = [("a", 1), ("a", 3), ("b", 5), ("a", 11)], [("a", 2), ("c", 4), ("a", 12), ("a", 13)]


@pytest.mark.parametrize("function", [Join(), FlatJoin(), lambda first, second: (first[1], second[1])])
def test_a_window_join_pairs_elements_of_the_same_key_and_window(function: Any) -> None:
    left, right = two(LEFT, RIGHT)
    joined = left.join(right).where(0).equal_to(lambda value: value[0]).window(TEN).apply(function)
    assert sorted(collect(joined)) == [(1, 2), (3, 2), (11, 12), (11, 13)]


@pytest.mark.parametrize("function", [CoGroup(), lambda first, second: CoGroup().co_group(first, second)])
def test_a_co_group_has_both_groups_also_where_one_is_empty(function: Any) -> None:
    left, right = two(LEFT, RIGHT)
    grouped = left.co_group(right).where(0).equal_to(0).window(TEN).apply(function)
    assert sorted(collect(grouped)) == [([], [4]), ([1, 3], [2]), ([5], []), ([11], [12, 13])]


def test_a_window_join_takes_a_trigger_an_evictor_and_lateness() -> None:
    left, right = two([("a", 1), ("a", 2)], [("a", 3)])
    windows = left.join(right).where(0).equal_to(0).window(GlobalWindows.create())
    joined = windows.trigger(CountTrigger.of(3)).evictor(CountEvictor.of(3)).allowed_lateness(5).apply(Join())
    assert sorted(collect(joined)) == [(1, 3), (2, 3)]


def test_streams_of_a_join_may_be_unions() -> None:
    left, right = two([("a", 1)], [("a", 2)])
    joined = left.union(right).join(right.union(left)).where(0).equal_to(0).window(TEN).apply(Join())
    assert sorted(collect(joined)) == [(1, 1), (1, 2), (2, 1), (2, 2)]


# Connected


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda left, right: left + right))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.sum.add(value[1])
        ctx.timer_service().register_event_time_timer(100)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.sum.add(-value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), self.sum.get()


@pytest.mark.parametrize("late_key", [True, False])
def test_two_keyed_streams_share_state_and_timers(late_key: bool) -> None:
    left, right = two([("a", 5), ("b", 7)], [("a", 2), ("b", 3)])
    connected: Any = left.connect(right) if late_key else left.key_by(0).connect(right.key_by(0))
    if late_key:
        connected = connected.key_by(0, 0)
    assert sorted(collect(connected.process(Both()))) == [("a", 3), ("b", 4)]


class Maps(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "left", value[1]

    def map2(self, value: Any) -> Any:
        return "right", value[1]


class FlatMaps(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield value[1]
        yield value[1]

    def flat_map2(self, value: Any) -> None:
        return None


class Tells(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 1, ctx.timestamp()

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 2, ctx.timestamp()


@pytest.mark.parametrize("is_keyed", [True, False])
def test_two_streams_are_mapped_by_one_function(is_keyed: bool) -> None:
    def connected() -> Any:
        left, right = two([("a", 5)], [("a", 2)])
        return left.key_by(0).connect(right.key_by(0)) if is_keyed else left.connect(right)

    assert sorted(collect(connected().map(Maps()))) == [("left", 5), ("right", 2)]
    assert collect(connected().flat_map(FlatMaps())) == [5, 5]


def test_two_streams_without_keys_are_processed_by_one_function() -> None:
    left, right = two([("a", 5)], [("a", 2)])
    connected: Any = left.connect(right)
    assert sorted(collect(connected.process(Tells()))) == [(1, 5), (2, 2)]


# Broadcast

RULES = MapStateDescriptor("rules")


class Known(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(1000)
        return []

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), dict(ctx.get_broadcast_state(RULES).items())


def test_broadcast_state_is_in_every_subtask() -> None:
    elements, rules = two([(key, 1) for key in "abcdef"], [("x", 1), ("y", 2)], parallelism=3)
    connected: Any = elements.key_by(0).connect(rules.broadcast(RULES))
    assert sorted(collect(connected.process(Known()))) == [(key, {"x": 1, "y": 2}) for key in "abcdef"]


class Count(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "element"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "rule"


def test_a_stream_without_keys_may_be_connected_to_a_broadcast_one() -> None:
    elements, rules = two([("a", 1)], [("x", 1)], parallelism=2)
    connected: Any = elements.connect(rules.broadcast(RULES, MapStateDescriptor("more")))
    assert sorted(collect(connected.process(Count()))) == ["element", "rule", "rule"]


# Asynchronous requests


class Ask(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(value / 1000)
        return [value]


class SecondTime(AsyncFunction):
    """Knows nothing when it is asked for the first time."""

    def __init__(self) -> None:
        self.asked = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.asked += 1
        return [value] if self.asked > 1 else []


@pytest.mark.parametrize(
    ("wait", "expected"), [(AsyncDataStream.ordered_wait, [20, 2, 5]), (AsyncDataStream.unordered_wait, [2, 5, 20])]
)
def test_requests_are_on_their_way_at_once(wait: Any, expected: list[int]) -> None:
    asked = wait(local().from_elements(20, 2, 5), Ask(), Time.seconds(10), capacity=5)
    assert collect(asked) == expected


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait_with_retry, AsyncDataStream.unordered_wait_with_retry])
def test_requests_are_asked_again(wait: Any) -> None:
    retry = AsyncRetryStrategy.fixed_delay(5, 1, empty_result_predicate)
    assert collect(wait(local().from_elements(1), SecondTime(), Time.seconds(10), retry)) == [1]


def test_windows_behind_requests_see_watermarks_after_the_answers() -> None:
    env: StreamExecutionEnvironment = local(2)
    events = env.from_collection([(5, 1), (1, 12), (3, 25)]).assign_timestamps_and_watermarks(BY_SECOND_FIELD)

    class Delay(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            await asyncio.sleep(value[0] / 1000)
            return [value]

    asked = AsyncDataStream.unordered_wait(events, Delay(), Time.seconds(10))
    assert collect(asked.window_all(TEN).sum(1)) == [(5, 1), (1, 12), (3, 25)]
