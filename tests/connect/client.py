"""A client of Spark Connect: `client.py URL FOLDER RUN`. Runs one program and prints what it gave, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidegate import agg
from tidegate.common import Encoder, Time, WatermarkStrategy
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSink, FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import TidegateError

LATE = OutputTag("late")


def windows(env: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    return (
        env.from_collection([("a", 1_000), ("b", 61_000), ("b", 2_000), ("a", 62_000)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .side_output_late_data(LATE)
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def two_sinks(env: StreamExecutionEnvironment, folder: Path) -> Any:
    """One sink in this process, one of files: both get everything, once."""
    results, lates = CollectSink(), CollectSink()
    counted = windows(env)
    counted.sink_to(results)
    counted.map(str).sink_to(FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder()).build())
    counted.get_side_output(LATE).sink_to(lates)
    env.execute("two sinks")
    lines = [line for file in (folder / "files").rglob("part-*") for line in file.read_text().splitlines()]
    return {"results": sorted(results.results), "late": lates.results, "files": sorted(lines)}


def frames(env: StreamExecutionEnvironment, spark: SparkSession, folder: Path) -> Any:
    """A DataFrame in, a DataFrame out, into Spark's own sink; `folder` holds what a run before this one left."""
    rows = [(0, 0, "a", 5), (1, 0, "b", 6), (0, 1, "a", 65), (1, 1, "b", 70), (0, 2, "a", 130), (1, 2, "b", 131)]
    schema = "partition int, offset long, user string, second long"
    frame = spark.createDataFrame(rows, schema).selectExpr("*", "timestamp_seconds(second) as ts")
    frame.coalesce(1).write.mode("overwrite").parquet(str(folder / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(folder / "in"))
    out = (
        env.from_dataframe(stream, channel="partition", sequence="offset")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts"),
        )
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .agg(orders=agg.count())
    )
    query = (
        out.to_dataframe()
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "query"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = spark.read.parquet(str(folder / "out")).selectExpr("user", "unix_seconds(window_start)", "orders")
    return sorted(list(row) for row in found.collect())


def files(env: StreamExecutionEnvironment, folder: Path) -> Any:
    """The files that `frames` has written, read by the server's workers."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    source = FileSource.parquet(str(folder / "in"), channel="partition")
    results = CollectSink()
    (
        env.from_source(source, strategy, "files")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .agg(orders=agg.count())
        .sink_to(results)
    )
    env.execute("files")
    return sorted((row["user"], row["window_start"] // 1_000, row["orders"]) for row in results.results)


def failure(env: StreamExecutionEnvironment) -> Any:
    env.from_collection([1, 0]).map(lambda value: 1 // value).name("divide").print()
    try:
        env.execute("failure")
    except TidegateError as error:
        return str(error)
    return "no error"


def main(url: str, folder: Path) -> None:
    spark = SparkSession.builder.remote(url).getOrCreate()

    def environment() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)

    found = {
        "two_sinks": two_sinks(environment(), folder / "two_sinks"),
        "frames": frames(environment(), spark, folder / "frames"),
        "files": files(environment(), folder / "frames"),
        "failure": failure(environment()),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
