"""Windows through the public API: what functions can be chosen, and the built-in aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.datastream.running import BY_SECOND_FIELD, collect, local, stamped

from tidegate import agg
from tidegate.common import Duration, Time
from tidegate.datastream import (
    AggregateFunction,
    AllWindowFunction,
    CollectSink,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    TimeCharacteristic,
    WindowFunction,
)
from tidegate.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tidegate.testing import ManualClock

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
ELEMENTS = [("a", 1, 5), ("a", 4, 2), ("b", 6, 3), ("a", 12, 7)]
"""Key, timestamp, number."""
LATE = OutputTag("late")


@pytest.fixture(params=[1, 3])
def events(request: pytest.FixtureRequest) -> DataStream:
    return stamped(ELEMENTS, request.param)


def windows_of(stream: DataStream) -> Any:
    return stream.key_by(0).window(TEN)


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1], value1[2] + value2[2]


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Spanned(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, context.window().start, list(elements)


class Applied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, window.end, len(list(inputs))


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda w: w.reduce(Sum()), [("a", 1, 7), ("a", 12, 7), ("b", 6, 3)]),
        (lambda w: w.reduce(lambda left, right: max(left, right)), [("a", 4, 2), ("a", 12, 7), ("b", 6, 3)]),
        (
            lambda w: w.reduce(Sum(), Spanned()),
            [("a", 0, [("a", 1, 7)]), ("a", 10, [("a", 12, 7)]), ("b", 0, [("b", 6, 3)])],
        ),
        (lambda w: w.reduce(Sum(), Applied()), [("a", 10, 1), ("a", 20, 1), ("b", 10, 1)]),
        (lambda w: w.aggregate(Mean()), [3, 3.5, 7]),
        (lambda w: w.aggregate(Mean(), Spanned()), [("a", 0, [3.5]), ("a", 10, [7]), ("b", 0, [3])]),
        (lambda w: w.apply(Applied()), [("a", 10, 2), ("a", 20, 1), ("b", 10, 1)]),
        (lambda w: w.apply(lambda key, window, elements: [(key, window.start)]), [("a", 0), ("a", 10), ("b", 0)]),
        (lambda w: w.process(Spanned()).map(lambda row: len(row[2])), [1, 1, 2]),
        (lambda w: w.sum(2), [("a", 1, 7), ("a", 12, 7), ("b", 6, 3)]),
        (lambda w: w.min(2), [("a", 1, 2), ("a", 12, 7), ("b", 6, 3)]),
        (lambda w: w.max(1), [("a", 4, 5), ("a", 12, 7), ("b", 6, 3)]),
        (lambda w: w.min_by(2), [("a", 4, 2), ("a", 12, 7), ("b", 6, 3)]),
        (lambda w: w.max_by(2), [("a", 1, 5), ("a", 12, 7), ("b", 6, 3)]),
    ],
)
def test_a_window_is_reduced_aggregated_applied_or_processed(
    events: DataStream, choose: Any, expected: list[Any]
) -> None:
    assert sorted(collect(choose(windows_of(events)))) == sorted(expected)


# Built-in aggregates

ROWS = [
    {"user": "ann", "ts": 1, "amount": 5, "what": "tea"},
    {"user": "ann", "ts": 4, "amount": 2, "what": "milk"},
    {"user": "ann", "ts": 5, "amount": 2, "what": None},
    {"user": "bob", "ts": 6, "amount": 3, "what": "tea"},
]


def rows() -> DataStream:
    strategy = BY_SECOND_FIELD.with_timestamp_column("ts")
    return local().from_collection(ROWS).assign_timestamps_and_watermarks(strategy)


ALL_AGGREGATES = {
    "orders": agg.count(),
    "named": agg.count("what"),
    "total": agg.sum("amount"),
    "smallest": agg.min("amount"),
    "biggest": agg.max("amount"),
    "average": agg.mean("amount"),
    "first": agg.first("what"),
    "last": agg.last("what"),
    "cheapest": agg.min_by("what", "amount"),
    "dearest": agg.max_by("what", "amount"),
    "kinds": agg.count_distinct("what"),
    "amounts": agg.collect_list("amount"),
    "spread": agg.stddev("amount"),
}


@pytest.mark.parametrize("key", ["user", lambda row: row["user"]])
def test_all_built_in_aggregates_at_once(key: Any) -> None:
    ann, bob = collect(rows().key_by(key).window(TEN).agg(**ALL_AGGREGATES))
    assert ann.as_dict() == {
        ("user" if key == "user" else "key"): "ann",
        "window_start": 0,
        "window_end": 10,
        "orders": 3,
        "named": 2,
        "total": 9,
        "smallest": 2,
        "biggest": 5,
        "average": 3,
        "first": "tea",
        "last": "milk",
        "cheapest": "milk",
        "dearest": "tea",
        "kinds": 2,
        "amounts": [5, 2, 2],
        "spread": pytest.approx(3**0.5),
    }
    assert (bob["orders"], bob["total"], bob["spread"]) == (1, 3, None)


def test_aggregates_of_several_keys_have_a_column_for_each() -> None:
    found = collect(rows().key_by(["user", "what"]).window(TEN).agg(n=agg.count()))
    assert sorted((row["user"], str(row["what"]), row["n"]) for row in found) == [
        ("ann", "None", 1),
        ("ann", "milk", 1),
        ("ann", "tea", 1),
        ("bob", "tea", 1),
    ]
    by_position = collect(stamped(ELEMENTS).key_by(0).window(TEN).agg(n=agg.count()))
    assert [row["f0"] for row in by_position] == ["a", "b", "a"]


def test_aggregates_of_windows_without_an_end_have_no_span() -> None:
    (row,) = collect(rows().key_by("user").count_window(3).agg(total=agg.sum("amount")))
    assert row.as_dict() == {"user": "ann", "window_start": None, "window_end": None, "total": 9}


def test_aggregates_of_sessions_merge() -> None:
    gap = EventTimeSessionWindows.with_gap(Time.milliseconds(4))
    (ann,) = collect(rows().filter(lambda row: row["user"] == "ann").key_by("user").window(gap).agg(n=agg.count()))
    assert (ann["window_start"], ann["window_end"], ann["n"]) == (1, 9, 3)


def test_aggregates_over_the_whole_stream_have_no_key() -> None:
    (row,) = collect(rows().window_all(TEN).agg(total=agg.sum("amount"), n=agg.count()))
    assert row.as_dict() == {"window_start": 0, "window_end": 10, "total": 12, "n": 4}


# Over the whole stream


class AllApplied(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield window.start, len(list(inputs))


class AllProcessed(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().end, context.current_watermark() >= 9, len(list(elements))


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda w: w.sum(2), [("a", 1, 10), ("a", 12, 7)]),
        (lambda w: w.reduce(Sum()), [("a", 1, 10), ("a", 12, 7)]),
        (lambda w: w.aggregate(Mean(), AllApplied()), [(0, 1), (10, 1)]),
        (lambda w: w.apply(AllApplied()), [(0, 3), (10, 1)]),
        (lambda w: w.apply(lambda window, elements: [len(elements)]), [3, 1]),
        (lambda w: w.process(AllProcessed()), [(10, True, 3), (20, True, 1)]),
    ],
)
def test_windows_over_the_whole_stream_run_in_one_subtask(events: DataStream, choose: Any, expected: list[Any]) -> None:
    assert collect(choose(events.window_all(TEN))) == expected


def test_count_windows_of_a_key_and_of_the_whole_stream() -> None:
    def stream() -> DataStream:
        return local(2).from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 5), ("b", 7)])

    assert sorted(collect(stream().key_by(0).count_window(2).sum(1))) == [("a", 4), ("b", 9)]
    assert sorted(collect(stream().key_by(0).count_window(2, 1).sum(1))) == [
        ("a", 1),
        ("a", 4),
        ("a", 8),
        ("b", 2),
        ("b", 9),
    ]
    assert collect(stream().count_window_all(2).sum(1)) == [("a", 3), ("a", 8)]
    assert collect(stream().count_window_all(3, 2).sum(1)) == [("a", 3), ("b", 10)]


# Options


def test_late_records_have_an_output_of_their_own() -> None:
    env = local()
    strategy = BY_SECOND_FIELD.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    events = env.from_collection([("a", 30), ("a", 5), ("a", 25), ("a", 31)]).assign_timestamps_and_watermarks(strategy)
    results, late = CollectSink(), CollectSink()
    sums = events.key_by(0).window(TEN).allowed_lateness(5).side_output_late_data(LATE).sum(1).uid("sums")
    sums.sink_to(results)
    sums.get_side_output(LATE).sink_to(late)
    job = env.execute_async()
    job.wait(10)
    assert results.results == [("a", 25), ("a", 61)]
    assert late.results == [("a", 5)]
    (metrics,) = job.metrics()["sums"]
    assert metrics["num_late_records_to_side_output"] == 1


@pytest.mark.parametrize("lateness", [7, Time.milliseconds(7), Duration.of_millis(7), "7 ms"])
def test_lateness_is_a_span_in_any_form(lateness: Any) -> None:
    strategy = BY_SECOND_FIELD.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    events = local().from_collection([("a", 5), ("a", 15), ("a", 6), ("a", 16), ("a", 7)])
    windows = events.assign_timestamps_and_watermarks(strategy).key_by(0).window(TEN).allowed_lateness(lateness)
    assert collect(windows.sum(1)) == [("a", 5), ("a", 11), ("a", 31)]


def test_triggers_and_evictors_are_options_of_a_window() -> None:
    def sums(set_options: Any) -> list[Any]:
        windows = stamped([("a", 1), ("a", 2)]).key_by(0).window(GlobalWindows.create())
        return collect(set_options(windows).sum(1))

    assert sums(lambda w: w) == []
    assert sums(lambda w: w.trigger(CountTrigger.of(1))) == [("a", 1), ("a", 3)]
    assert sums(lambda w: w.trigger(PurgingTrigger.of(CountTrigger.of(1)))) == [("a", 1), ("a", 2)]
    assert sums(lambda w: w.trigger(CountTrigger.of(1)).evictor(CountEvictor.of(1))) == [("a", 1), ("a", 2)]


def test_an_option_counts_also_where_its_result_is_not_used() -> None:
    # As in Flink, where the calls change the windows.
    windows = stamped([("a", 1), ("a", 2)]).key_by(0).window(GlobalWindows.create())
    windows.trigger(CountTrigger.of(1))
    assert collect(windows.sum(1)) == [("a", 1), ("a", 3)]


def test_a_continuous_trigger_on_the_global_window_ends_with_the_input() -> None:
    stream = stamped([("a", 1), ("a", 4)]).key_by(0).window(GlobalWindows.create())
    assert collect(stream.trigger(ContinuousEventTimeTrigger.of("1 hour")).sum(1)) == [("a", 5)]


def test_windows_may_follow_windows() -> None:
    events = stamped([("a", 1), ("b", 4), ("a", 12), ("a", 25)])
    per_key = events.key_by(0).window(TEN).sum(1)
    assert collect(per_key.window_all(TumblingEventTimeWindows.of(Time.milliseconds(20))).sum(1)) == [
        ("a", 17),
        ("a", 25),
    ]


def test_sliding_windows_through_the_api() -> None:
    windows = (
        stamped([("a", 7)]).key_by(0).window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
    )
    assert collect(windows.apply(lambda key, window, elements: [tuple(window)])) == [(0, 10), (5, 15)]


def test_time_windows_go_by_event_time_or_by_the_clock() -> None:
    assert collect(stamped([("a", 1), ("a", 12)]).key_by(0).time_window(Time.milliseconds(10)).sum(1)) == [
        ("a", 1),
        ("a", 12),
    ]
    sliding = stamped([("a", 7)]).key_by(0).time_window(Time.milliseconds(10), Time.milliseconds(5))
    assert collect(sliding.sum(1)) == [("a", 7), ("a", 7)]
    env = local(clock=ManualClock(5))
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    by_clock = env.from_collection([("a", 1)]).key_by(0).time_window(Time.milliseconds(10)).sum(1)
    assert collect(by_clock) == []


def test_windows_know_their_environment_and_type(events: DataStream) -> None:
    windows = windows_of(events)
    assert windows.get_execution_environment() is events.get_execution_environment()
    assert windows.get_input_type() is None
