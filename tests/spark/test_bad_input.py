"""Bad input on Spark: rows without a place, columns that cannot be used."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.spark.test_dataframes import BASE, at, stream

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidValueError

pytestmark = pytest.mark.spark

BY_TIME = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_column("ts")
SCHEMA = "shard string, number int, ts timestamp"


def by_function(row: Any) -> Any:
    return row.ts.year


def environment(spark: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, trigger="availableNow")


def count(spark: Any, frame: Any, key: Any = by_function, **options: Any) -> tuple[int, list[Any]]:
    """How many rows were counted in windows of a minute, and those that came too late."""
    env = environment(spark)
    results, dropped, late = CollectSink(), CollectSink(), OutputTag("late")
    windows = (
        env.from_dataframe(frame, bounded=True, **options)
        .assign_timestamps_and_watermarks(BY_TIME)
        .key_by(key)
        .window(TumblingEventTimeWindows.of("1 minute"))
        .side_output_late_data(late)
        .agg(rows=agg.count())
    )
    windows.sink_to(results)
    windows.get_side_output(late).sink_to(dropped)
    env.execute()
    return sum(row["rows"] for row in results.results), [row.number for row in dropped.results]


def test_without_a_channel_all_rows_are_one_with_one_watermark(spark: Any, tmp_path: Path) -> None:
    """Which is why a partition that lags behind needs a channel of its own."""
    rows = [("a", 1, at(0)), ("a", 2, at(300)), ("b", 3, at(10)), ("b", 4, at(400))]
    frame = stream(spark, tmp_path / "in", rows, SCHEMA)
    assert count(spark, frame, sequence="number") == (3, [3])
    assert count(spark, frame, channel="shard", sequence="number", channels=["a", "b"]) == (4, [])


@pytest.mark.parametrize("key", [by_function, "ts"])
@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ((None, 2, at(1)), {"channel": "shard"}, r"column 'shard' is null in Row\(shard=None, number=2"),
        (
            ("a", None, at(1)),
            {"channel": "shard", "sequence": "number"},
            r"column 'number' is null in Row\(shard='a', number=None",
        ),
        (
            (None, None, at(1)),
            {"channel": ["shard", "number"]},
            r"column .shard., .number. is null in .*filter",
        ),
    ],
)
def test_a_row_without_a_place_fails_the_job_with_its_column(
    spark: Any, tmp_path: Path, key: Any, row: Any, options: dict[str, Any], message: str
) -> None:
    frame = stream(spark, tmp_path / "in", [("a", 1, at(0)), row], SCHEMA)
    with pytest.raises(InvalidValueError, match=message):
        count(spark, frame, key, **options)


def test_a_row_without_a_place_fails_windows_on_columns_too(spark: Any, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "in", [("a", 1, at(0)), (None, 2, at(1))], SCHEMA)
    env = environment(spark)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    stamped = env.from_dataframe(frame, channel="shard", bounded=True).assign_timestamps_and_watermarks(strategy)
    windows = stamped.key_by("number").window(TumblingEventTimeWindows.of("1 minute")).agg(rows=agg.count())
    windows.sink_to(CollectSink())
    with pytest.raises(InvalidValueError, match=r"dataframe: .* is null in .*filter such rows out"):
        env.execute()


def test_rows_of_the_same_second_keep_the_order_of_a_timestamp(spark: Any, tmp_path: Path) -> None:
    moments = [BASE + datetime.timedelta(milliseconds=m) for m in (300, 100, 500, 200, 400)]
    frame = stream(spark, tmp_path / "in", [("a", i, moment) for i, moment in enumerate(moments)], SCHEMA)
    env = environment(spark)
    results = CollectSink()
    env.from_dataframe(frame, sequence="ts", bounded=True).sink_to(results)
    env.execute()
    assert [row.number for row in results.results] == [1, 3, 0, 4, 2]


def test_columns_that_cannot_be_used_are_refused_before_the_job_starts(spark: Any) -> None:
    env = environment(spark)
    frame = spark.readStream.format("rate").load()
    with pytest.raises(InvalidValueError, match=r"there is no column 'x'; the DataFrame has timestamp, value"):
        env.from_dataframe(frame, channel="x")
    with pytest.raises(InvalidValueError, match=r"the column 'name' is of type string, which gives no order; sequence"):
        env.from_dataframe(frame.selectExpr("'a' AS name"), sequence="name")
    with pytest.raises(InvalidValueError, match=r"has several columns 'value'; give each a name of its own"):
        env.from_dataframe(frame.select("value", "value"))
    with pytest.raises(InvalidValueError, match=r"say with channel=\.\.\. which column holds their names"):
        env.from_dataframe(frame, channels=["a", "b"])
