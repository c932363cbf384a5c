"""The job on Tidegate: from a DataFrame, from files that it reads itself, or with a user's Python aggregate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from benchmarks.peers.jobs.session import (
    CSV_SCHEMA,
    FILES_PER_BATCH,
    PARALLELISM,
    create_session,
    new_folder,
    read_orders,
    report,
    run_query,
)

import tidegate
from tidegate import agg
from tidegate.common import Time, Types, WatermarkStrategy
from tidegate.datastream import OutputTag, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import AggregateFunction, ProcessWindowFunction
from tidegate.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

Totals = tuple[int, int, int]


class UserAggregate(AggregateFunction):  # type: ignore[misc, unused-ignore]
    """Count, sum and maximum as a user writes them."""

    def create_accumulator(self) -> Totals:
        return 0, 0, 0

    def add(self, value: Any, accumulator: Totals) -> Totals:
        count, total, biggest = accumulator
        amount = value["amount"]
        return count + 1, total + amount, max(biggest, amount)

    def get_result(self, accumulator: Totals) -> Totals:
        return accumulator

    def merge(self, a: Totals, b: Totals) -> Totals:
        return a[0] + b[0], a[1] + b[1], max(a[2], b[2])


class WithWindow(ProcessWindowFunction):  # type: ignore[misc, unused-ignore]
    def process(self, key: Any, context: Any, elements: Iterable[Totals]) -> Iterable[Any]:
        window = context.window()
        for totals in elements:
            yield (key, window.start, window.end, *totals)


def assigner(window: dict[str, Any]) -> Any:
    if window["gap"]:
        return EventTimeSessionWindows.with_gap(Time.milliseconds(window["gap"]))
    size, slide = Time.milliseconds(window["size"]), Time.milliseconds(window["slide"])
    if window["size"] == window["slide"]:
        return TumblingEventTimeWindows.of(size)
    return SlidingEventTimeWindows.of(size, slide)


def source(env: Any, spark: Any, job: dict[str, Any]) -> Any:
    bound = f"{job['out_of_orderness']} milliseconds"
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_column("ts")
    if job["mode"] != "fused":
        stream = env.from_dataframe(read_orders(spark, job), channel="partition", sequence="offset")
        return stream.assign_timestamps_and_watermarks(strategy)
    limits: dict[str, Any] = {"channel": "partition", "max_files_per_batch": FILES_PER_BATCH}
    if job["format"] == "parquet":
        files = FileSource.parquet(job["input"], **limits)
    else:
        files = FileSource.csv(job["input"], CSV_SCHEMA, header=False, **limits)
    return env.from_source(files, strategy, "orders")


def main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    spark = create_session()
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=PARALLELISM)
    orders = source(env, spark, job)
    windows = orders.key_by("user").window(assigner(job["window"]))
    late = OutputTag("late", orders.get_type())
    lateness = job.get("allowed_lateness", 0)
    if lateness:
        windows = windows.allowed_lateness(lateness).side_output_late_data(late)
    if job["mode"] == "python":
        names = ["user", "window_start", "window_end", "orders", "total", "biggest"]
        kinds = [Types.STRING(), *[Types.LONG()] * 5]
        results = windows.aggregate(UserAggregate(), WithWindow(), output_type=Types.ROW_NAMED(names, kinds))
    else:
        results = windows.agg(orders=agg.count(), total=agg.sum("amount"), biggest=agg.max("amount"))
    folder = new_folder(job) if job["mode"] == "fused" else None
    if lateness:
        # A late order becomes a row without a user, which is how the check counts them.
        streams = {"main": results, "late": results.get_side_output(late)}
        frame = env.to_dataframe(checkpoint=folder, **streams).selectExpr("main.*")
    else:
        frame = results.to_dataframe(checkpoint=folder)
    told = run_query(frame, job, keeps_itself=folder is not None)
    report(**told, version=tidegate.__version__, settings={})


if __name__ == "__main__":
    main()
