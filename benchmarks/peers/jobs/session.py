"""What Spark's and Tidegate's jobs share: the session, how a query is run to its end, and what is reported."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.windows import FACTORS
from pyspark.sql import DataFrame, SparkSession

PARALLELISM = 2
FILES_PER_BATCH = 2
SCHEMA = "partition int, offset long, user string, ts timestamp, amount long"
CSV_SCHEMA = "partition int, offset long, user string, ts long, amount long"
STATE = "spark.sql.streaming.stateStore"
SETTINGS = {
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.shuffle.partitions": str(PARALLELISM),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.driver.memory": "6g",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


def create_session() -> SparkSession:
    """The same for every job that runs on Spark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("benchmark").master(f"local[{PARALLELISM}]")
    fixed = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
    }
    for name, value in (fixed | SETTINGS).items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def read_orders(spark: SparkSession, job: dict[str, Any]) -> DataFrame:
    """The input as a streaming DataFrame: a file of each partition for each batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", FILES_PER_BATCH)
    if job["format"] == "parquet":
        return reader.schema(SCHEMA).parquet(job["input"])
    rows = reader.schema(CSV_SCHEMA).csv(job["input"])
    return rows.selectExpr("partition", "offset", "user", "timestamp_millis(ts) AS ts", "amount")


def new_folder(job: dict[str, Any]) -> str:
    """A folder for the checkpoint of a run."""
    return tempfile.mkdtemp(prefix="bench-", dir=Path(job["output"]).parent)


def run_query(frame: DataFrame, job: dict[str, Any], *, keeps_itself: bool = False) -> dict[str, Any]:
    """Run a query over all batches. Returns what Spark says of each batch, and of what `check.checksum` is made.

    Results are not written where their checksum can be computed as they come: writing files takes a good part of a fast
    batch, and is not what is compared. Windows that fire again are written, as plainly as possible, for only the last
    result of each counts. `keeps_itself` is whether the frame knows where its query is kept.
    """
    output = job["output"]
    found = {"windows": 0, "orders": 0, "hash": 0}

    def write(rows: DataFrame, _: int) -> None:
        plain = rows.write.mode("append").option("compression", "none").option("parquet.enable.dictionary", "false")
        plain.parquet(output)

    def add_up(rows: DataFrame, _: int) -> None:
        for name, value in rows.transform(_checksum).collect()[0].asDict().items():
            found[name] += value or 0

    writer = frame.writeStream.outputMode("append").foreachBatch(write if job["allowed_lateness"] else add_up)
    query = (writer if keeps_itself else writer.option("checkpointLocation", new_folder(job))).start()
    # Sources that are fed from beside the query may have more when everything that was there has been processed.
    batches = -1
    while batches != (batches := len(query.recentProgress)):
        query.processAllAvailable()
        time.sleep(1.0)
    progress = [
        {"batch": p["batchId"], "rows": p["numInputRows"], "ms": p["durationMs"]["triggerExecution"]}
        for p in query.recentProgress
        if "addBatch" in p["durationMs"]
    ]
    query.stop()
    if job["allowed_lateness"]:
        return {"batches": progress}
    return {"batches": progress, "checksum": found | {"hash": f"{found['hash'] % 2**64:016x}"}}


def _checksum(rows: DataFrame) -> DataFrame:
    """What `check.checksum` computes, without the closing orders; numbers of 64 bits wrap around."""
    numbers = rows.selectExpr(
        "CAST(substring(user, 2) AS BIGINT) AS user",
        f"{_millis(rows, 'window_start')} AS window_start",
        f"{_millis(rows, 'window_end')} AS window_end",
        "orders",
        "total",
        "biggest",
    ).where("user >= 0")
    left, right = (" + ".join(f"{name} * {factor}L" for name, factor in factors.items()) for factors in FACTORS)
    return numbers.selectExpr("count(*) AS windows", "sum(orders) AS orders", f"sum(({left}) * ({right})) AS hash")


def _millis(rows: DataFrame, name: str) -> str:
    return f"unix_millis({name})" if dict(rows.dtypes)[name] == "timestamp" else name


def report(**what: Any) -> None:
    """The line that the harness reads."""
    print(json.dumps(what), flush=True)
    # Threads that feed a query are no reason to stay.
    sys.stdout.flush()
    os._exit(0)
