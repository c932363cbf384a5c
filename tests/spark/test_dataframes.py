"""DataFrames in and out: columns, types, several streams."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import DEAD_LETTERS, CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidTypeError, InvalidValueError

pytestmark = pytest.mark.spark

BASE = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def at(seconds: int) -> datetime.datetime:
    return BASE + datetime.timedelta(seconds=seconds)


def collect(frame: Any, folder: Path) -> list[Any]:
    """Run a streaming DataFrame to the end of what is there."""
    rows: list[Any] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return rows


def stream(spark: Any, folder: Path, rows: list[Any], schema: str) -> Any:
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(folder))
    return spark.readStream.schema(schema).parquet(str(folder))


def test_windows_leave_as_columns_and_late_records_beside_them(spark: Any, tmp_path: Path) -> None:
    rows = [("ann", at(0), 3, 0), ("bob", at(10), 4, 1), ("ann", at(100), 5, 2), ("ann", at(300), 7, 3)]
    frame = stream(spark, tmp_path / "in", rows, "user string, ts timestamp, amount int, seq long")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    late = OutputTag("late")
    windows = (
        env.from_dataframe(frame, sequence="seq")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness("20 seconds").with_timestamp_column("ts")
        )
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .allowed_lateness("10 seconds")
        .side_output_late_data(late)
        .agg(orders=agg.count(), total=agg.sum("amount"), biggest=agg.max("amount"), mean=agg.mean("amount"))
    )
    out = windows.to_dataframe()
    assert out.isStreaming
    assert out.dtypes == [
        ("user", "string"),
        ("window_start", "timestamp"),
        ("window_end", "timestamp"),
        ("orders", "bigint"),
        ("total", "bigint"),
        ("biggest", "int"),
        ("mean", "double"),
    ]
    found = sorted(collect(out, tmp_path / "checkpoint"))
    naive = BASE.replace(tzinfo=None)
    minute = datetime.timedelta(minutes=1)
    assert [tuple(row) for row in found] == [
        ("ann", naive, naive + minute, 1, 3, 3, 3.0),
        ("ann", naive + minute, naive + 2 * minute, 1, 5, 5, 5.0),
        ("bob", naive, naive + minute, 1, 4, 4, 4.0),
    ]


def test_several_streams_leave_as_tagged_rows_of_one_frame(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", [(1,), (2,), (3,)], "number int")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    numbers = env.from_dataframe(frame)
    even = numbers.filter(lambda row: row.number % 2 == 0)
    squares = numbers.map(lambda row: (row.number, row.number**2), output_type="number int, square long")
    found = collect(env.to_dataframe(even=even, squares=squares), tmp_path / "checkpoint")
    assert sorted((row.stream, row[row.stream][0]) for row in found) == [
        ("even", 2),
        ("squares", 1),
        ("squares", 2),
        ("squares", 3),
    ]
    assert {row.squares.square for row in found if row.stream == "squares"} == {1, 4, 9}


PLAIN = "i int, y byte, h short, l long, f float, d double, s string, b boolean, x binary, n decimal(10,2), t timestamp"
MICROS = at(1) + datetime.timedelta(microseconds=7)


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        (PLAIN, (1, 2, 3, 2**40, 0.5, 1.5, "text", True, b"\x00\x01", Decimal("12.34"), MICROS)),
        (
            "z timestamp_ntz, day date, a array<int>, m map<string,int>, r struct<p:int,q:string>",
            (datetime.datetime(2026, 5, 6, 7), datetime.date(2026, 2, 3), [1, 2], {"a": 1}, {"p": 5, "q": "x"}),
        ),
    ],
    ids=["plain, straight from the last stage", "others"],
)
def test_every_kind_of_column_arrives_and_leaves_as_it_was(
    spark: Any, tmp_path: Path, schema: str, row: tuple[Any, ...]
) -> None:
    frame = stream(spark, tmp_path / "in", [row, (None,) * len(row)], schema)
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    passed = env.from_dataframe(frame).filter(lambda element: True)
    found = collect(passed.to_dataframe(), tmp_path / "checkpoint")
    assert sorted(found, key=str) == sorted(spark.read.parquet(str(tmp_path / "in")).collect(), key=str)


def test_a_sink_beside_the_frame_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", [(1,)], "number int")
    env = StreamExecutionEnvironment.get_execution_environment(spark)
    numbers = env.from_dataframe(frame)
    numbers.print()
    with pytest.raises(InvalidValueError, match=r"the sink 'print' would get nothing; .*use foreachBatch"):
        numbers.to_dataframe()


def test_a_stream_without_declared_columns_says_what_to_declare(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", [(1,)], "number int")
    env = StreamExecutionEnvironment.get_execution_environment(spark)
    with pytest.raises(InvalidTypeError, match=r"have no declared type; give the last operation output_type="):
        env.from_dataframe(frame).map(lambda row: row.number).to_dataframe()


def test_a_frame_that_does_not_stream_is_refused(spark: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark)
    with pytest.raises(InvalidValueError, match=r"the DataFrame is not streaming; make it with spark\.readStream"):
        env.from_dataframe(spark.range(3))


def test_null_timestamps_and_null_keys_are_caught(spark: Any, tmp_path: Path) -> None:
    rows = [("ann", at(0)), (None, at(1)), ("bob", None)]
    frame = stream(spark, tmp_path / "in", rows, "user string, ts timestamp")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, trigger="availableNow")
    stamped = env.from_dataframe(frame, bounded=True).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts"), on_error="side_output"
    )
    windows = stamped.key_by("user").window(TumblingEventTimeWindows.of("1 minute")).agg(orders=agg.count())
    results, dead = CollectSink(), CollectSink()
    windows.sink_to(results)
    stamped.get_side_output(DEAD_LETTERS).sink_to(dead)
    env.execute()
    assert {(row["user"], row["orders"]) for row in results.results} == {("ann", 1), (None, 1)}
    assert [letter.value.user for letter in dead.results] == ["bob"]
