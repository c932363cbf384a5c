"""Whole programs on Spark."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from tidegate import agg
from tidegate.common import Time, WatermarkStrategy
from tidegate.datastream import CollectSink, ForeachBatchSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidValueError, SnapshotError, UserCodeError

pytestmark = pytest.mark.spark

BASE = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SCHEMA = "partition int, offset long, user string, ts timestamp, amount long"
MINUTES = 10


def lagging_partitions(spark: Any, folder: Path) -> Any:
    """Partition 0 is on time, partition 1 ten minutes behind, partition 2 silent; one file for each batch."""
    for batch in range(MINUTES):
        rows = [
            (partition, batch * 6 + i, f"u{i % 2}", BASE + datetime.timedelta(minutes=batch + lag, seconds=10 * i), 1)
            for partition, lag in ((0, 0), (1, -10))
            for i in range(6)
        ]
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(folder))
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def test_a_lagging_and_a_silent_partition_lose_nothing_where_sparks_own_watermark_does(
    spark: Any, tmp_path: Path
) -> None:
    stream = lagging_partitions(spark, tmp_path / "in")
    counts: list[int] = []

    def remember(frame: Any, batch_id: int) -> None:
        counts.extend(row["count"] for row in frame.collect())

    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    own = stream.withWatermark("ts", "20 seconds").groupBy("user", F.window("ts", "1 minute")).count()
    query = (
        own.writeStream.outputMode("append")
        .foreachBatch(remember)
        .option("checkpointLocation", str(tmp_path / "own"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    dropped = sum(
        operator["numRowsDroppedByWatermark"] for p in query.recentProgress for operator in p["stateOperators"]
    )
    # Of 120 records Spark counted 66 and holds the last minute's 6; of the lagging partition's 60 it kept the 12 of the
    # first two batches. It reports fewer than it lost, for it counts partial aggregates.
    assert 2 * 6 * MINUTES - sum(counts) - 6 == 48
    assert dropped == 16

    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, trigger="availableNow")
    events = env.from_dataframe(stream, channel="partition", sequence="offset", channels=[0, 1, 2], bounded=True)
    late = OutputTag("late")
    results, lates = CollectSink(), CollectSink()
    fired: dict[int, set[int]] = {}

    def remember_batch(rows: list[Any], batch_id: int) -> None:
        for row in rows:
            minute = int((row["window_start"] - BASE.timestamp() * 1_000) // 60_000)
            fired.setdefault(minute, set()).add(batch_id)

    windows = (
        events.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness("20 seconds")
            .with_timestamp_column("ts")
            .with_idleness("1 millisecond")
        )
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .side_output_late_data(late)
        .agg(orders=agg.count(), total=agg.sum("amount"))
    )
    windows.sink_to(results)
    windows.sink_to(ForeachBatchSink(remember_batch))
    windows.get_side_output(late).sink_to(lates)
    env.execute("lagging")
    assert sum(row["orders"] for row in results.results) == 2 * 6 * MINUTES
    assert lates.results == []
    # The lagging partition is at minute `batch - 10`. The silent one is idle from the second batch on, so each of its
    # minutes leaves in the batch that brings the next one; what the other partition is ahead waits for the end.
    on_time = {minute: {minute + 11} for minute in range(-10, -1)}
    at_the_end = {minute: {MINUTES} for minute in range(-1, MINUTES)}
    assert fired == on_time | at_the_end


def stamped(env: StreamExecutionEnvironment, pairs: list[tuple[str, int]]) -> Any:
    return env.from_collection(pairs).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    )


def test_a_failing_function_surfaces_as_our_error_with_the_operator_and_the_record(spark: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    stamped(env, [("a", 1), ("b", 2)]).map(lambda pair: 1 // (pair[1] - 2)).name("divide").print()
    with pytest.raises(UserCodeError, match=r"divide: ZeroDivisionError: .* for the record \('b', 2\)") as raised:
        env.execute()
    (note,) = raised.value.__notes__
    assert "test_programs.py" in note
    assert "tidegate/core" not in note


def test_a_checkpoint_of_another_program_is_refused(spark: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "checkpoint")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=folder)
    stamped(env, [("a", 1)]).key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(1))).sum(1).print()
    env.execute()
    other = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=folder)
    stamped(other, [("a", 1)]).print()
    with pytest.raises(SnapshotError, match=r"holds state of the operator .*, which the program no longer has"):
        other.execute()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("spark.sql.streaming.unsupportedOperationCheck", "false", "cannot be trusted; unset it"),
        ("spark.sql.streaming.stateStore.providerClass", "com.example.Store", "in RocksDB; unset it"),
    ],
)
def test_a_setting_that_the_runtime_cannot_work_with_is_refused(spark: Any, name: str, value: str, reason: str) -> None:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    stamped(env, [("a", 1)]).print()
    try:
        with pytest.raises(InvalidValueError, match=f"{name}={value} is not supported: .*{reason}"):
            env.execute()
    finally:
        spark.conf.set(name, before)


def test_the_session_keeps_the_settings_of_its_user(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    stamped(env, [("a", 1)]).print()
    try:
        env.execute()
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_a_column_that_does_not_exist_is_refused_before_the_job_starts(spark: Any) -> None:
    frame = spark.readStream.format("rate").load()
    env = StreamExecutionEnvironment.get_execution_environment(spark)
    with pytest.raises(InvalidValueError, match="there is no column 'shard'; the DataFrame has timestamp, value"):
        env.from_dataframe(frame, channel="shard")
