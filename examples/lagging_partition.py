"""Three partitions, one ten minutes behind and one silent, in the DataFrame way: nothing is lost.

    tidegate run examples/lagging_partition.py

Spark's own watermark follows the newest event time of all partitions, so it drops what the lagging one brings.
"""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows

START = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
SCHEMA = "partition int, offset long, user string, ts timestamp, amount long"
MINUTES = 3
PARTITIONS = (0, 1, 2)
LAG_MINUTES = {0: 0, 1: 10}


def orders(spark: SparkSession, folder: Path) -> DataFrame:
    """A file for each minute, read one in each micro-batch; partition 2 never says anything."""
    for minute in range(MINUTES):
        rows = [
            (partition, minute * 6 + number, f"user {number % 2}", START + datetime.timedelta(minutes=minute - lag), 1)
            for partition, lag in LAG_MINUTES.items()
            for number in range(6)
        ]
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(folder))
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def main() -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, trigger="availableNow")
        events = env.from_dataframe(
            orders(spark, Path(folder)), channel="partition", sequence="offset", channels=PARTITIONS, bounded=True
        )
        late = OutputTag("late")
        per_minute = (
            events.assign_timestamps_and_watermarks(
                WatermarkStrategy.for_bounded_out_of_orderness("20 seconds").with_timestamp_column("ts")
            )
            .key_by("user")
            .window(TumblingEventTimeWindows.of("1 minute"))
            .side_output_late_data(late)
            .agg(orders=agg.count(), total=agg.sum("amount"))
        )
        results, lost = CollectSink(), CollectSink()
        per_minute.sink_to(results)
        per_minute.get_side_output(late).sink_to(lost)
        env.execute("orders per minute")
    for row in results.results:
        print(row)
    counted = sum(row["orders"] for row in results.results)
    print(f"{counted} of {MINUTES * 6 * len(LAG_MINUTES)} orders counted, {len(lost.results)} late")


if __name__ == "__main__":
    main()
