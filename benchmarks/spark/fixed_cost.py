"""What a micro-batch costs when there is hardly any data: Spark's own windowed aggregation beside Tidegate's.

Run `python benchmarks/spark/fixed_cost.py`. Both queries read the same small files, one for each batch, in turn; the
figure is the median of Spark's own `triggerExecution` after warm-up, and the ratio between the two.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.job_options import SparkOptions
from tidegate.spark.query.job import SparkJob
from tidegate.spark.query.session import OWN_SETTINGS, get_session, query_settings

SCHEMA = "partition int, offset long, user string, ts timestamp, amount long"
BASE = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
PARALLELISM = 2


def write_batch(spark: Any, folder: Path, number: int) -> None:
    rows = [
        (i % 2, number * 50 + i, f"u{i % 10}", BASE + datetime.timedelta(seconds=10 * number + i % 10), i)
        for i in range(100)
    ]
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(folder))


def native(spark: Any, folder: Path, checkpoint: Path) -> Any:
    stream = spark.readStream.schema(SCHEMA).parquet(str(folder))
    counts = (
        stream.withWatermark("ts", "20 seconds")
        .groupBy("user", F.window("ts", "1 minute"))
        .agg(F.count("*"), F.sum("amount"))
    )
    return (
        counts.writeStream.outputMode("append")
        .foreachBatch(lambda frame, _: frame.collect())
        .option("checkpointLocation", str(checkpoint))
        .start()
    )


def tidegate(spark: Any, folder: Path, checkpoint: Path) -> SparkJob:
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=PARALLELISM)
    stream = spark.readStream.schema(SCHEMA).parquet(str(folder))
    (
        env.from_dataframe(stream, channel="partition", sequence="offset")
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness("20 seconds").with_timestamp_column("ts")
        )
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .agg(orders=agg.count(), total=agg.sum("amount"))
        .sink_to(CollectSink())
    )
    job = SparkJob(env._graph(), SparkOptions(spark, str(checkpoint)), "fixed cost")
    job.start()
    return job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    options = parser.parse_args()
    spark = get_session(None, PARALLELISM)
    for name, value in (query_settings(spark, PARALLELISM, has_frames=True) | OWN_SETTINGS).items():
        spark.conf.set(name, value)
    folder = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    write_batch(spark, folder / "in", 0)
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    own = native(spark, folder / "in", folder / "native")
    job = tidegate(spark, folder / "in", folder / "tidegate")
    took: dict[str, list[dict[str, int]]] = defaultdict(list)
    for number in range(1, options.batches):
        write_batch(spark, folder / "in", number)
        own.processAllAvailable()
        job.process_all()
        if number > 3:
            took["Spark native"].append(own.lastProgress["durationMs"])
            took["Tidegate"].append(job.last_progress["durationMs"])
    table = Table("ms per batch", *took["Tidegate"][0])
    medians = {}
    for name, durations in took.items():
        columns = {part: statistics.median(d.get(part, 0) for d in durations) for part in took["Tidegate"][0]}
        medians[name] = columns["triggerExecution"]
        table.add_row(name, *(f"{value:.0f}" for value in columns.values()))
    Console().print(table)
    Console().print(f"ratio {medians['Tidegate'] / medians['Spark native']:.2f}")
    own.stop()
    job.finish()


if __name__ == "__main__":
    main()
