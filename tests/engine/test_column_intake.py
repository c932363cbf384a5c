"""What reads a source as columns: summaries for all subtasks, records or partial aggregates for those of their keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.in_process import Frame, records

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.core.columnar.columnar_operator import CHANNEL, TIMESTAMP
from tidegate.core.key.key_groups import KeyGroups
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.functions import KeyedProcessFunction
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine import column_intake
from tidegate.engine.column_intake import ColumnIntake
from tidegate.engine.lowering import lower
from tidegate.engine.messages import Message, Partials, Records, Summary, Target, Tick
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.record_columns import SEQUENCE
from tidegate.errors import InvalidValueError

SCHEMA = pa.schema([("user", pa.string()), ("shop", pa.int32()), ("ts", pa.int64()), ("amount", pa.int64())])
PARALLELISM = 3


class Each(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def plan_of(*tasks: str) -> PhysicalPlan:
    """A DataFrame with some tasks behind it: sums of windows, or a function that sees every record."""
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=PARALLELISM)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    stream = env.from_dataframe(Frame(SCHEMA), channel="user").uid("in").assign_timestamps_and_watermarks(strategy)
    for task in tasks:
        keyed = stream.key_by(["user", "shop"] if task == "by both" else "user")
        if task == "each":
            keyed.process(Each()).sink_to(CollectSink())
        else:
            keyed.window(TumblingEventTimeWindows(10)).agg(total=agg.sum("amount")).sink_to(CollectSink())
    return lower(env._graph())


def reader_of(*tasks: str, **options: Any) -> ColumnIntake:
    plan = plan_of(*tasks)
    return ColumnIntake(plan, next(iter(plan.sources)), **options)


def row(user: str | None, ts: int | None = 5, amount: int = 1, *, channel: Any = "x", sequence: Any = 0) -> Any:
    return {"user": user, "shop": 1, "ts": ts, "amount": amount, CHANNEL: channel, SEQUENCE: sequence}


def batch(*rows: Any) -> pa.RecordBatch:
    return records(rows, SCHEMA)


def read(reader: ColumnIntake, *batches: pa.RecordBatch) -> list[dict[Target, list[Message]]]:
    return [dict(sent) for sent in reader(iter(batches))]


def tables(sent: list[dict[Target, list[Message]]], kind: type) -> list[tuple[int, pa.Table]]:
    """The columns that went to each subtask."""
    return [
        (target.subtask, message.table)  # type: ignore[union-attr]
        for given in sent
        for target, messages in given.items()
        for message in messages
        if isinstance(message, kind)
    ]


rows = st.lists(
    st.builds(row, st.none() | st.sampled_from("abcdefg"), st.integers(0, 40), st.integers(-5, 5)), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_every_record_goes_to_the_subtask_of_its_key_and_to_no_other(given: list[Any]) -> None:
    reader = reader_of("each", has_sequence=True)
    found = [
        (subtask, record["user"], record["amount"])
        for subtask, table in tables(read(reader, batch(*given)), Records)
        for record in table.to_pylist()
    ]
    groups = KeyGroups(plan_of("each").max_parallelism, PARALLELISM)
    expected = [(groups.subtask_of(record["user"]), record["user"], record["amount"]) for record in given]
    assert sorted(found, key=str) == sorted(expected, key=str)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_partial_aggregates_go_to_the_subtask_of_their_key_one_for_each_key_and_slice(given: list[Any]) -> None:
    expected: dict[tuple[Any, int], int] = {}
    for record in given:
        place = record["user"], record["ts"] // 10
        expected[place] = expected.get(place, 0) + 1
    parts = tables(read(reader_of("sum"), batch(*given)), Partials)
    groups = KeyGroups(plan_of("sum").max_parallelism, PARALLELISM)
    assert all(subtask == groups.subtask_of(user) for subtask, table in parts for user in table["user"].to_pylist())
    assert sum(len(table) for _, table in parts) == len(expected)


def test_a_key_of_several_columns_goes_where_the_tuple_goes() -> None:
    parts = tables(read(reader_of("by both"), batch(*(row(user) for user in "abcdefg"))), Partials)
    groups = KeyGroups(plan_of("by both").max_parallelism, PARALLELISM)
    for subtask, table in parts:
        assert {groups.subtask_of((user, 1)) for user in table["user"].to_pylist()} == {subtask}


def test_every_subtask_gets_a_summary_of_each_channel_before_anything_else() -> None:
    given = [
        row("a", 5, channel="x", sequence=8),
        row("b", 9, channel="y", sequence=4),
        row("c", 2, channel="x", sequence=7),
    ]
    *_, sent = read(reader_of("each", has_sequence=True), batch(*given))
    assert set(sent) == {Target(0, subtask) for subtask in range(PARALLELISM)}
    for messages in sent.values():
        assert messages[:2] == [Summary("in", "x", 5, 7), Summary("in", "y", 9, 4)]
        assert all(isinstance(message, Records) for message in messages[2:])


def test_records_without_a_sequence_are_numbered_over_the_batches_of_a_partition_and_anew_in_the_next() -> None:
    reader = reader_of("each", has_sequence=False)
    one = batch(row("a"), row("a")).drop_columns([SEQUENCE])
    other = batch(row("a")).drop_columns([SEQUENCE])
    for _ in range(2):
        found = [table[SEQUENCE].to_pylist() for _, table in tables(read(reader, one, other), Records)]
        assert found == [[0, 1], [2]]


def test_partial_aggregates_alone_need_no_place() -> None:
    reader = reader_of("sum")
    assert not reader.needs_records
    (sent,) = read(reader, batch(row("a", 5)).drop_columns([SEQUENCE]))
    assert sent[Target(0, 0)][0] == Summary("in", "x", 5, None)


def test_records_have_their_time_in_a_column() -> None:
    ((_, table),) = tables(read(reader_of("each", has_sequence=True), batch(row("a", 7))), Records)
    assert table[TIMESTAMP].to_pylist() == [7]


def test_each_task_behind_a_source_gets_what_it_needs_on_an_edge_of_its_own() -> None:
    *_, sent = read(reader_of("sum", "each", has_sequence=True), batch(row("a")))
    columns = [message for messages in sent.values() for message in messages if not isinstance(message, Summary)]
    assert [type(message) for message in columns] == [Partials, Records]
    assert len({message.port for message in columns}) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        (["sum"], ["user", "ts", "amount"]),
        (["sum", "by both"], ["user", "shop", "ts", "amount"]),
        (["each"], ["user", "shop", "ts", "amount", "more"]),
        (["sum", "each"], ["user", "shop", "ts", "amount", "more"]),
    ],
)
def test_only_columns_that_some_task_looks_at_are_needed(tasks: list[str], expected: list[str]) -> None:
    assert reader_of(*tasks).needed(["user", "shop", "ts", "amount", "more"]) == expected


def test_the_text_columns_of_keys_are_known_each_once() -> None:
    assert reader_of("sum", "by both").text_keys(SCHEMA) == ("user",)


def test_small_batches_are_read_together_and_those_of_another_schema_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of("sum")
    plain = [batch(row("a")), batch(row("b"))]
    # Two rows have their channels as a dictionary.
    coded = batch(row("a"), row("b"))
    assert len(read(reader, *plain)) == 1
    assert len(read(reader, *plain, coded, coded, *plain)) == 3
    monkeypatch.setattr(column_intake, "_ROWS_AT_ONCE", 2)
    assert len(read(reader, *plain, *plain, *plain)) == 3


def test_nothing_is_sent_where_nothing_was_read() -> None:
    assert read(reader_of("sum")) == []
    assert read(reader_of("sum"), batch(row("a")).slice(0, 0)) == []


def test_every_subtask_gets_a_tick_where_something_waits_for_the_clock_also_without_records() -> None:
    plan = plan_of("each")
    assert plan.needs_clock
    (ticks,) = read(ColumnIntake(plan, next(iter(plan.sources))))
    assert ticks == {Target(0, subtask): [Tick()] for subtask in range(PARALLELISM)}


@pytest.mark.parametrize(("place", "name"), [({"channel": None}, "channel"), ({"sequence": None}, "sequence")])
def test_a_record_without_a_place_is_refused(place: dict[str, Any], name: str) -> None:
    message = f"the {name} is null in some rows; .* say where a record belongs, so fill them"
    with pytest.raises(InvalidValueError, match=message):
        read(reader_of("each", has_sequence=True), batch(row("a"), row("b", **place)))


def test_a_record_without_a_time_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="the column 'ts' is null in 1 of 2 records"):
        read(reader_of("sum"), batch(row("a"), row("b", None)))
