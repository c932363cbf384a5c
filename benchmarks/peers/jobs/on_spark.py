"""The job on Spark's own windows: one watermark for all partitions, results when it has passed the window's end."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.peers.jobs.session import SETTINGS, create_session, read_orders, report, run_query
from pyspark.sql import functions as F  # noqa: N812


def main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    window = job["window"]
    spark = create_session()
    if window["gap"]:
        span = F.session_window("ts", f"{window['gap']} milliseconds")
    else:
        span = F.window("ts", f"{window['size']} milliseconds", f"{window['slide']} milliseconds")
    # Spark has no allowed lateness; results wait for it instead, and what is later is dropped.
    delay = job["out_of_orderness"] + job.get("allowed_lateness", 0)
    results = (
        read_orders(spark, job)
        .withWatermark("ts", f"{delay} milliseconds")
        .groupBy("user", span.alias("span"))
        .agg(F.count("*").alias("orders"), F.sum("amount").alias("total"), F.max("amount").alias("biggest"))
        .selectExpr("user", "span.start AS window_start", "span.end AS window_end", "orders", "total", "biggest")
    )
    told = run_query(results, job)
    report(**told, version=spark.version, settings=SETTINGS)


if __name__ == "__main__":
    main()
