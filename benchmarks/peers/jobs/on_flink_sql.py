"""The job as Flink SQL: window table functions, everything in the JVM."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import flink_tables
from pyflink.version import __version__

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "5 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}


def windows(window: dict[str, Any]) -> str:
    """The window function over the table of orders."""

    def seconds(millis: int) -> str:
        return f"INTERVAL '{millis // 1000}' SECOND"

    if window["gap"]:
        return f"SESSION(TABLE orders PARTITION BY `user`, DESCRIPTOR(ts), {seconds(window['gap'])})"
    if window["size"] == window["slide"]:
        return f"TUMBLE(TABLE orders, DESCRIPTOR(ts), {seconds(window['size'])})"
    return f"HOP(TABLE orders, DESCRIPTOR(ts), {seconds(window['slide'])}, {seconds(window['size'])})"


def millis(name: str) -> str:
    return f"UNIX_TIMESTAMP(CAST({name} AS STRING)) * 1000 + EXTRACT(MILLISECOND FROM {name})"


def main() -> None:
    job = json.loads(sys.argv[1])
    output = Path(job["output"])
    # Sessions have no local phase: the planner refuses to be told to use one.
    settings = {k: v for k, v in MINI_BATCH.items() if not job["window"]["gap"] or "phase" not in k}
    _, tables = flink_tables.create_environments(output.parent / "checkpoints", **settings)
    flink_tables.create_input(tables, job["input"], job["out_of_orderness"])
    tables.execute_sql(
        f"""
        CREATE TABLE results (
            `user` STRING, window_start BIGINT, window_end BIGINT, orders BIGINT, total BIGINT, biggest BIGINT
        ) WITH ('connector' = 'filesystem', 'path' = '{output.absolute().as_uri()}', 'format' = 'csv')
        """
    )
    started = time.monotonic()
    tables.execute_sql(
        f"""
        INSERT INTO results
        SELECT `user`, {millis("window_start")}, {millis("window_end")}, COUNT(*), SUM(amount), MAX(amount)
        FROM TABLE({windows(job["window"])})
        GROUP BY `user`, window_start, window_end
        """
    ).wait()
    print(json.dumps({"seconds": time.monotonic() - started, "version": __version__, "settings": settings}))


if __name__ == "__main__":
    main()
