"""From the graph to the plan: stages, subtasks, how sources are read, and how elements travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.in_process import Frame

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.functions import KeyedProcessFunction, ParallelSourceFunction, ProcessFunction, SourceFunction
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.lowering import TICK_MILLIS, PlanOptions, lower
from tidegate.engine.plan import (
    SINKS,
    Carried,
    Chained,
    Exchanged,
    PhysicalPlan,
    PlannedLane,
    PlannedTask,
    Reading,
    SentAsColumns,
)
from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import Broadcast, ByPartitioner, Forward, KeyBy, Rebalance
from tidegate.testing import ManualSource

PARALLELISM = 3
SCHEMA = pa.schema([("part", pa.string()), ("user", pa.string()), ("ts", pa.int64()), ("amount", pa.int64())])


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)


def plan_of(build: Callable[[StreamExecutionEnvironment], Any], **options: Any) -> PhysicalPlan:
    """The plan of a program; what is built ends in a sink."""
    env = environment()
    build(env).sink_to(CollectSink()).uid("out")
    return lower(env._graph(), PlanOptions(**options))


def numbers(env: StreamExecutionEnvironment, channels: int = PARALLELISM) -> Any:
    return env.add_source(ManualSource(channels), "numbers").uid("in")


def itself(value: Any) -> Any:
    return value


def node(plan: PhysicalPlan, uid: str) -> Any:
    return plan.by_uid[uid]


def travels(plan: PhysicalPlan, uid: str) -> list[Any]:
    """How elements come to an operator, in the order of its streams."""
    return [edge.travel for edges in node(plan, uid).inputs for edge in edges]


# Operators and their subtasks


@pytest.mark.parametrize("given", [None, PARALLELISM])
def test_an_operator_without_a_key_runs_where_its_input_does(given: int | None) -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = numbers(env).map(str).uid("texts")
        return stream if given is None else stream.set_parallelism(given)

    plan = plan_of(build)
    texts = node(plan, "texts")
    assert isinstance(texts, PlannedLane)
    assert (texts.stage, texts.parallelism) == (0, PARALLELISM)
    assert travels(plan, "texts") == [Chained()]


def test_an_operator_without_a_key_that_was_given_another_parallelism_has_subtasks_of_its_own() -> None:
    plan = plan_of(lambda env: numbers(env).map(str).uid("texts").set_parallelism(2).filter(bool).uid("filter"))
    texts, behind = node(plan, "texts"), node(plan, "filter")
    assert isinstance(texts, PlannedTask)
    assert (texts.stage, texts.parallelism) == (1, 2)
    assert travels(plan, "texts") == [Exchanged(Rebalance())]
    assert isinstance(behind, PlannedLane)
    assert (behind.stage, behind.parallelism) == (1, 2)


def test_an_operator_may_have_more_subtasks_than_all_others() -> None:
    plan = plan_of(lambda env: numbers(env).map(str).uid("texts").set_parallelism(7))
    assert plan.parallelism == 7
    assert node(plan, "texts").parallelism == 7


def test_the_plan_has_as_many_subtasks_as_the_environment_says_also_where_nothing_needs_them() -> None:
    assert plan_of(lambda env: numbers(env, 1).map(str)).parallelism == PARALLELISM


def test_there_are_key_groups_for_every_subtask_or_the_plan_is_refused() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return numbers(env).map(str).set_parallelism(7)

    assert plan_of(build).max_parallelism == 128
    assert plan_of(build, max_parallelism=7).max_parallelism == 7
    with pytest.raises(InvalidValueError, match="set_max_parallelism: 6 is less than the parallelism 7; give at least"):
        plan_of(build, max_parallelism=6)


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (lambda stream: stream.rebalance(), Rebalance),
        (lambda stream: stream.broadcast(), Broadcast),
        (lambda stream: stream.partition_custom(lambda key, count: 0, itself), ByPartitioner),
    ],
)
def test_what_was_asked_to_move_moves_even_between_as_many_subtasks(move: Any, expected: type) -> None:
    plan = plan_of(lambda env: move(numbers(env)).map(str).uid("texts"))
    assert isinstance(node(plan, "texts"), PlannedTask)
    (travel,) = travels(plan, "texts")
    assert isinstance(travel.partitioning, expected)


def test_a_keyed_operator_is_one_stage_behind_its_input_and_gets_its_elements_by_key() -> None:
    plan = plan_of(lambda env: numbers(env).map(str).key_by(itself).reduce(max).uid("sums"))
    sums = node(plan, "sums")
    assert isinstance(sums, PlannedTask)
    assert (sums.stage, sums.parallelism, plan.num_stages) == (1, PARALLELISM, 2)
    (travel,) = travels(plan, "sums")
    assert isinstance(travel.partitioning, KeyBy)


def test_a_lane_over_streams_of_different_stages_is_in_the_later_and_the_earlier_is_carried_there() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        early = numbers(env)
        late = early.key_by(itself).reduce(max)
        return early.union(late).map(str).uid("texts")

    plan = plan_of(build)
    assert isinstance(node(plan, "texts"), PlannedLane)
    assert node(plan, "texts").stage == 1
    assert travels(plan, "texts") == [Carried(), Chained()]


def test_a_task_over_a_union_of_streams_of_different_parallelism_decides_for_each_of_them() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        wide = numbers(env)
        narrow = env.add_source(ManualSource(1), "one")
        return wide.union(narrow).map(str).uid("texts").set_parallelism(PARALLELISM)

    plan = plan_of(build)
    assert isinstance(node(plan, "texts"), PlannedTask)
    assert travels(plan, "texts") == [Exchanged(Forward()), Exchanged(Rebalance())]


def test_forward_between_as_many_subtasks_stays_and_else_is_refused_by_name() -> None:
    stays = plan_of(lambda env: numbers(env).forward().map(str).uid("texts").set_parallelism(PARALLELISM))
    assert travels(stays, "texts") == [Chained()]
    with pytest.raises(
        InvalidValueError, match=r"forward: numbers has parallelism 3 and texts has 2; forward\(\) keeps"
    ):
        plan_of(lambda env: numbers(env).forward().map(str).name("texts").set_parallelism(2))


def test_forward_into_a_sink_of_another_parallelism_is_refused_by_name() -> None:
    env = environment()
    numbers(env).forward().sink_to(CollectSink()).name("out").set_parallelism(2)
    with pytest.raises(InvalidValueError, match="forward: numbers has parallelism 3 and out has 2"):
        lower(env._graph())


# Sinks


def sink_of(build: Any) -> tuple[int, list[Any]]:
    """How many subtasks a sink has, and how elements come there."""
    env = environment()
    build(env).uid("out")
    plan = lower(env._graph())
    assert node(plan, "out").stage == SINKS
    return node(plan, "out").parallelism, travels(plan, "out")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda env: numbers(env).sink_to(CollectSink()), (3, [Carried()])),
        (lambda env: numbers(env, 1).sink_to(CollectSink()), (1, [Carried()])),
        (lambda env: numbers(env, 2).union(numbers_too(env)).sink_to(CollectSink()), (2, [Carried(), Carried()])),
        (lambda env: numbers(env).sink_to(CollectSink()).set_parallelism(3), (3, [Carried()])),
        (lambda env: numbers(env).sink_to(CollectSink()).set_parallelism(2), (2, [Exchanged(Rebalance())])),
        (lambda env: numbers(env, 1).rebalance().sink_to(CollectSink()), (3, [Exchanged(Rebalance())])),
        (lambda env: numbers(env, 1).broadcast().sink_to(CollectSink()), (3, [Exchanged(Broadcast())])),
        (
            lambda env: (
                numbers(env).broadcast().union(numbers_too(env).map(str).set_parallelism(5)).sink_to(CollectSink())
            ),
            (3, [Exchanged(Broadcast()), Exchanged(Rebalance())]),
        ),
    ],
)
def test_a_sink_takes_elements_where_they_are_unless_something_else_was_said(
    build: Any, expected: tuple[int, list[Any]]
) -> None:
    assert sink_of(build) == expected


def numbers_too(env: StreamExecutionEnvironment) -> Any:
    return env.add_source(ManualSource(1), "one")


# Sources


class Push(SourceFunction):
    def run(self, ctx: Any) -> None:
        pass

    def cancel(self) -> None:
        pass


class ParallelPush(Push, ParallelSourceFunction):
    pass


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda env: numbers(env, 1), (1, 1)),
        (lambda env: numbers(env, 2), (2, 2)),
        (lambda env: numbers(env, 9), (3, 9)),
        (lambda env: numbers(env, 0), (1, 0)),
        (lambda env: numbers(env, 1).set_parallelism(2), (2, 1)),
        (lambda env: env.add_source(Push()), (1, 1)),
        (lambda env: env.add_source(ParallelPush()), (3, 3)),
        (lambda env: env.add_source(ParallelPush()).set_parallelism(2), (2, 2)),
    ],
)
def test_a_source_of_the_driver_has_no_more_subtasks_than_channels_unless_they_were_given(
    build: Any, expected: tuple[int, int]
) -> None:
    (source,) = plan_of(build).sources
    assert source.reading is Reading.BY_DRIVER
    assert (source.parallelism, len(source.source.channels())) == expected


def rows(env: StreamExecutionEnvironment) -> Any:
    return env.from_dataframe(Frame(SCHEMA), channel="part").uid("rows")


def stamped(env: StreamExecutionEnvironment, before: Callable[[Any], Any] = itself) -> Any:
    """Rows with their time, taken from the column; `before` is done to them first."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    return before(rows(env)).assign_timestamps_and_watermarks(strategy).uid("stamp")


def windows(stream: Any, uid: str = "window") -> Any:
    return stream.key_by("user").window(TumblingEventTimeWindows(10)).agg(n=agg.count()).uid(uid)


def reading(plan: PhysicalPlan) -> Reading:
    (source,) = plan.sources
    return source.reading


def test_a_window_on_columns_is_in_the_stage_of_its_source_and_has_its_subtasks() -> None:
    plan = plan_of(lambda env: windows(stamped(env)).set_parallelism(2))
    assert reading(plan) is Reading.AS_COLUMNS
    assert [node(plan, uid).stage for uid in ("rows", "stamp", "window")] == [0, 0, 0]
    assert [node(plan, uid).parallelism for uid in ("rows", "stamp", "window")] == [2, 2, 2]
    assert node(plan, "window").is_on_columns
    assert node(plan, "stamp").is_in_every_subtask
    assert travels(plan, "window") == [SentAsColumns(("user",), are_partials=True)]


class Each(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_a_function_behind_columns_gets_records_and_runs_as_the_program_has_it() -> None:
    plan = plan_of(lambda env: stamped(env).key_by("user").process(Each()).uid("each"))
    assert reading(plan) is Reading.AS_COLUMNS
    assert not node(plan, "each").is_on_columns
    assert travels(plan, "each") == [SentAsColumns(("user",), are_partials=False)]


@pytest.mark.parametrize(
    "build",
    [
        lambda env: windows(stamped(env).set_parallelism(2)),
        lambda env: windows(stamped(env, lambda stream: stream.rebalance())),
        lambda env: windows(two_windows(env)).set_parallelism(2),
        lambda env: stamped(env).map(str),
    ],
)
def test_where_records_must_go_another_way_they_are_read_as_rows(build: Any) -> None:
    assert reading(plan_of(build)) is Reading.AS_ROWS


def two_windows(env: StreamExecutionEnvironment) -> Any:
    """A stream with one window already; the second has another number of subtasks."""
    stream = stamped(env)
    windows(stream, "first").sink_to(CollectSink())
    return stream


def test_two_windows_of_as_many_subtasks_share_the_columns() -> None:
    plan = plan_of(lambda env: windows(two_windows(env)))
    assert reading(plan) is Reading.AS_COLUMNS
    assert [node(plan, uid).is_on_columns for uid in ("first", "window")] == [True, True]


def test_a_source_that_was_given_a_parallelism_is_read_as_rows_with_it() -> None:
    plan = plan_of(lambda env: windows(stamped(env, lambda stream: stream.set_parallelism(2))))
    assert reading(plan) is Reading.AS_ROWS
    assert node(plan, "rows").parallelism == 2
    assert node(plan, "window").stage == 1


def test_a_runtime_without_workers_reads_nothing_as_columns() -> None:
    plan = plan_of(lambda env: windows(stamped(env)), reads_columns=False)
    assert reading(plan) is Reading.BY_DRIVER
    assert not node(plan, "window").is_on_columns


# The clock


class Waits(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()


def marked(env: StreamExecutionEnvironment) -> Any:
    return numbers(env).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())


@pytest.mark.parametrize(
    ("build", "interval", "expected"),
    [
        (lambda env: numbers(env).process(Plain()), 200, False),
        (lambda env: numbers(env).key_by(itself).process(Waits()), 200, True),
        (marked, TICK_MILLIS, False),
        (marked, TICK_MILLIS + 1, True),
        (lambda env: numbers(env).process(Plain()), TICK_MILLIS + 1, False),
    ],
)
def test_batches_without_data_are_there_where_something_waits_for_the_clock(
    build: Any, interval: int, expected: bool
) -> None:
    assert plan_of(build, auto_watermark_interval=interval).needs_clock is expected


@pytest.mark.parametrize(
    ("has_micro_batches", "interval", "expected"),
    [(True, TICK_MILLIS, True), (True, TICK_MILLIS + 1, False), (False, TICK_MILLIS, False)],
)
def test_every_batch_is_probed_where_batches_are_no_more_frequent_than_the_interval(
    has_micro_batches: bool, interval: int, expected: bool
) -> None:
    plan = plan_of(numbers, has_micro_batches=has_micro_batches, auto_watermark_interval=interval)
    assert plan.probes_every_batch is expected
    assert plan.auto_watermark_interval == interval


# Laws of every plan

STEPS: dict[str, Callable[[Any], Any]] = {
    "map": lambda stream: stream.map(str),
    "two": lambda stream: stream.map(str).set_parallelism(2),
    "five": lambda stream: stream.map(str).set_parallelism(5),
    "rebalance": lambda stream: stream.rebalance().map(str),
    "broadcast": lambda stream: stream.broadcast().filter(bool),
    "reduce": lambda stream: stream.key_by(itself).reduce(max),
    "one": lambda stream: stream.key_by(itself).process(Waits()).set_parallelism(1),
}


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), max_size=6))
def test_every_plan_leads_forward_and_leaves_no_element_without_a_subtask(
    channels: int, steps: list[tuple[str, bool]]
) -> None:
    env = environment()
    start = stream = numbers(env, channels)
    for step, unites in steps:
        stream = STEPS[step](start.union(stream) if unites else stream)
    stream.sink_to(CollectSink())
    plan = lower(env._graph())
    assert [edge.number for edge in plan.edges] == list(range(len(plan.edges)))
    assert plan.num_stages == max(node.stage for node in plan.nodes) + 1
    assert plan.parallelism == max(PARALLELISM, *(node.parallelism for node in plan.nodes))
    for edge in plan.edges:
        producer, reader = plan.by_number[edge.source], plan.target(edge)
        if isinstance(edge.travel, Chained):
            assert producer.stage == reader.stage
        else:
            assert reader.stage == SINKS or producer.stage < reader.stage
        if not isinstance(edge.travel, Exchanged):
            assert producer.parallelism <= reader.parallelism
            assert not isinstance(reader, PlannedTask)
        elif isinstance(edge.travel.partitioning, Forward):
            assert producer.parallelism == reader.parallelism
