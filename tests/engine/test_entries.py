"""Entries: reading straight into windows on columns gives what a stage keyed by channel gives; no JVM."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engine.in_process import Frame, InProcessJob, records

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.functions import ProcessWindowFunction
from tidegate.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tidegate.engine.describe import as_text
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.plan import PhysicalPlan, PlannedTask, Reading
from tidegate.engine.record_columns import SEQUENCE
from tidegate.errors import InvalidValueError

SCHEMA = pa.schema(
    [
        ("part", pa.string()),
        ("number", pa.int64()),
        ("user", pa.string()),
        ("shop", pa.int32()),
        ("ts", pa.int64()),
        ("amount", pa.int64()),
    ]
)
LATE = OutputTag("late")
PARALLELISM = 2


class Program:
    """Windows over a DataFrame of three channels, one of them expected but maybe silent."""

    def __init__(
        self,
        assigner: Any,
        lateness: int,
        *,
        has_late_output: bool,
        idle: bool,
        common: bool,
        has_order: bool = False,
        function: Any = None,
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
        self.results, self.late = CollectSink(), CollectSink()
        self._is_common_order = common
        strategy = WatermarkStrategy.for_bounded_out_of_orderness("3 ms").with_timestamp_column("ts")
        windowed = (
            env.from_dataframe(
                Frame(SCHEMA), channel="part", sequence="number", channels=["x"], ordered_across_channels=common
            )
            .assign_timestamps_and_watermarks(strategy.with_idleness("5 ms") if idle else strategy)
            .key_by(["user", "shop"])
            .window(assigner)
            .allowed_lateness(lateness)
        )
        if has_late_output:
            windowed = windowed.side_output_late_data(LATE)
        ordered = {"first": agg.first("amount"), "amounts": agg.collect_list("amount")} if has_order else {}
        out = (
            windowed.process(function)
            if function
            else windowed.agg(orders=agg.count(), total=agg.sum("amount"), mean=agg.mean("amount"), **ordered)
        )
        out.sink_to(self.results)
        if has_late_output:
            out.get_side_output(LATE).sink_to(self.late)
        self._graph = env._graph()
        self.plan = lower(self._graph)

    def run(self, batches: list[Any], *, as_columns: bool) -> Any:
        plan = self.plan
        if not as_columns:
            plan = lower(self._graph, PlanOptions(reads_columns=False))
            # Rows of a DataFrame are read by workers, whether there are columns to be had or not.
            sources = [replace(node, reading=Reading.AS_ROWS) for node in plan.sources]
            by_number = {node.number: node for node in sources}
            plan = replace(plan, nodes=tuple(by_number.get(node.number, node) for node in plan.nodes))
        job = InProcessJob(plan)
        self.results.results.clear()
        self.late.results.clear()
        seen = []
        numbers: Counter[str] = Counter()
        for index, (pause, parts) in enumerate(batches):
            made = []
            for part in parts:
                rows = []
                for channel, row in part:
                    numbers[channel] += 1
                    number = sum(numbers.values()) if self._is_common_order else numbers[channel]
                    rows.append({**row, "part": channel, "number": number, CHANNEL: channel, SEQUENCE: number})
                made.append(records(rows, SCHEMA))
            job.batch(10 * index + pause, made)
            seen.append(self._taken())
        job.batch(10_000, is_end=True)
        metrics = {
            name: job.metric(name)
            for name in ("num_late_records_dropped", "num_late_records_to_side_output", "num_records_in_no_window")
        }
        return seen, self._taken(), metrics

    def _taken(self) -> Any:
        found = Counter(map(str, self.results.results)), [tuple(row) for row in self.late.results]
        self.results.results.clear()
        self.late.results.clear()
        return found[0], sorted(found[1])


def source_of(plan: PhysicalPlan) -> Any:
    return next(iter(plan.sources))


rows = st.tuples(
    st.sampled_from("xyz"),
    st.fixed_dictionaries(
        {
            "user": st.none() | st.sampled_from("abcd"),
            "shop": st.integers(0, 2),
            "ts": st.integers(-20, 60),
            "amount": st.none() | st.integers(-9, 9),
        }
    ),
)
batches = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.lists(rows, min_size=1, max_size=8), max_size=3)), max_size=6
)
assigners = st.one_of(
    st.builds(TumblingEventTimeWindows, st.integers(1, 20), st.just(0)),
    st.builds(lambda size, slide: SlidingEventTimeWindows(size, slide), st.integers(2, 20), st.integers(1, 15)),
    st.builds(lambda gap: EventTimeSessionWindows(gap), st.integers(1, 12)),
)


def part(*records: tuple[str, int]) -> Any:
    """Records by their channel and time."""
    return [(channel, {"user": None, "shop": 0, "ts": at, "amount": None}) for channel, at in records]


# Channels wake up in one batch: which of them speaks first decides what fires, and must not depend on the way.
AWAKE_TOGETHER = [
    (0, [part(*[("x", 0)] * 5, ("z", 0), ("y", 1))]),
    (0, []),
    (0, []),
    (0, [part(*[("x", 0)] * 6, ("y", 4), ("z", 1))]),
]


@pytest.mark.filterwarnings("ignore:windows of .* leave gaps")
@settings(max_examples=150, deadline=None)
@given(batches, assigners, st.sampled_from([0, 4]), st.booleans(), st.booleans(), st.booleans(), st.booleans())
@example(AWAKE_TOGETHER, TumblingEventTimeWindows(1, 0), 0, False, True, False, False)
def test_an_entry_gives_what_a_stage_by_channel_gives(
    batches: Any, assigner: Any, lateness: int, has_late_output: bool, idle: bool, common: bool, has_order: bool
) -> None:
    # Sessions with aggregates that depend on the order of arrival run row by row.
    has_order = has_order and not isinstance(assigner, EventTimeSessionWindows)
    program = Program(
        assigner, lateness, has_late_output=has_late_output, idle=idle, common=common, has_order=has_order
    )
    assert source_of(program.plan).reading is Reading.AS_COLUMNS
    expected = program.run(batches, as_columns=False)
    assert program.run(batches, as_columns=True) == expected


class Listing(ProcessWindowFunction):  # type: ignore[misc, unused-ignore]
    """The elements of a window as they arrived."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield (key, context.window().start, [tuple(element) for element in elements])


@pytest.mark.filterwarnings("ignore:windows of .* leave gaps")
@settings(max_examples=100, deadline=None)
@given(batches, assigners, st.sampled_from([0, 4]), st.booleans(), st.booleans(), st.booleans())
def test_functions_get_the_elements_in_the_order_of_a_stage_by_channel(
    batches: Any, assigner: Any, lateness: int, has_late_output: bool, idle: bool, common: bool
) -> None:
    program = Program(assigner, lateness, has_late_output=has_late_output, idle=idle, common=common, function=Listing())
    assert source_of(program.plan).reading is Reading.AS_COLUMNS
    expected = program.run(batches, as_columns=False)
    assert program.run(batches, as_columns=True) == expected


def test_a_plan_says_what_is_read_straight_into_windows() -> None:
    program = Program(TumblingEventTimeWindows(10), 0, has_late_output=False, idle=False, common=False)
    described = as_text(program.plan)
    assert "read as columns" in described
    assert "in every subtask, for each channel" in described
    assert "by key user, shop, as partial aggregates" in described


def stream_of(env: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    return env.from_dataframe(Frame(SCHEMA), channel="part").assign_timestamps_and_watermarks(strategy)


def windows_of(stream: Any, key: Any = "user") -> Any:
    return stream.key_by(key).window(TumblingEventTimeWindows(10))


@pytest.mark.parametrize(
    "build",
    [
        lambda env: windows_of(stream_of(env).filter(bool)).agg(n=agg.count()),
        lambda env: (
            stream_of(env).key_by(lambda row: row["user"]).window(TumblingEventTimeWindows(10)).agg(n=agg.count())
        ),
        lambda env: windows_of(stream_of(env).union(stream_of(env))).agg(n=agg.count()),
    ],
)
def test_what_must_see_every_record_keeps_its_stage(build: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
    build(env).sink_to(CollectSink())
    assert source_of(lower(env._graph())).reading is Reading.AS_ROWS


@pytest.mark.parametrize(
    "build",
    [
        lambda env: stream_of(env).key_by("user").window(EventTimeSessionWindows(5)).agg(n=agg.collect_list("amount")),
        lambda env: windows_of(stream_of(env)).trigger(CountTrigger.of(3)).agg(n=agg.count()),
        lambda env: windows_of(stream_of(env)).reduce(lambda a, b: a),
    ],
)
def test_what_has_no_form_on_columns_gets_its_elements_from_columns(build: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
    build(env).sink_to(CollectSink())
    plan = lower(env._graph())
    assert source_of(plan).reading is Reading.AS_COLUMNS
    assert [node.is_on_columns for node in plan.nodes if isinstance(node, PlannedTask)] == [False]


def test_records_of_the_same_place_in_their_channels_are_ordered_by_channel_over_all_parts() -> None:
    """The session of z would take the late record of y, which comes before it although another task has read it."""

    def row(user: str, ts: int) -> dict[str, Any]:
        return {"user": user, "shop": 0, "ts": ts, "amount": 1}

    program = Program(EventTimeSessionWindows(12), 4, has_late_output=True, idle=False, common=False)
    batches = [
        (0, [[("x", row("a", 60)), ("y", row("a", 40)), ("z", row("a", 40))]]),
        (0, [[("z", row("b", 28))], [("y", row("b", 21))]]),
    ]
    for is_entry in (False, True):
        seen, _, metrics = program.run(batches, as_columns=is_entry)
        assert [late[2] for late in seen[1][1]] == ["b"]
        assert metrics["num_late_records_to_side_output"] == 1


def test_the_end_of_input_reaches_an_entry_beside_a_source_with_a_stage() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
    sink = CollectSink()
    windows_of(stream_of(env)).agg(n=agg.count()).sink_to(sink)
    env.from_collection([1]).key_by(lambda value: value).reduce(max).sink_to(CollectSink())
    job = InProcessJob(lower(env._graph()))
    row = {"part": "x", "number": 1, "user": "a", "shop": 1, "ts": 5, "amount": 1, CHANNEL: "x", SEQUENCE: 1}
    job.batch(0, [records([row], SCHEMA)])
    assert sink.results == []
    job.batch(1, is_end=True)
    assert [tuple(row) for row in sink.results] == [("a", 0, 10, 1)]


def test_a_time_column_that_does_not_exist_is_refused_when_the_program_is_built() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
    stream = env.from_dataframe(Frame(SCHEMA), channel="part")
    with pytest.raises(InvalidValueError, match="there is no column 'time'; there are part, number, user"):
        stream.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks().with_timestamp_column("time"))
