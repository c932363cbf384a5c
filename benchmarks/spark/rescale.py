"""How long it takes to give the checkpoint of a job with a million keys another parallelism.

A window on columns and a rolling reduce by rows, each with an entry for every key, go from 2 subtasks to 4, to 1, to 3.
Behind each rescale one more file is read, and the sums of all keys are checked.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import ForeachBatchSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.spark.query.rescale import Rescale
from tidegate.spark.query.session import get_session
from tidegate.storage.ownership import Ownership

HOUR = 3_600_000


def write_file(folder: Path, number: int, keys: int, at: int) -> None:
    """One record of every key."""
    users = pa.array([f"user {key}" for key in range(keys)])
    table = pa.table({"user": users, "ts": np.full(keys, at), "amount": np.arange(keys)})
    pq.write_table(table, folder / f".{number}.parquet")
    (folder / f".{number}.parquet").rename(folder / f"{number}.parquet")


class Totals:
    """What has come out: how many sums of each stream, and their total."""

    def __init__(self) -> None:
        self.found: dict[str, list[int]] = {"windows": [0, 0], "rolling": [0, 0]}

    def of(self, name: str) -> Callable[[list[Any], Any], None]:
        def take(values: list[Any], _: Any) -> None:
            self.found[name][0] += len(values)
            self.found[name][1] += sum(values)

        return take


def add(left: Any, right: Any) -> Any:
    return type(left)(user=left.user, ts=left.ts, amount=left.amount + right.amount)


def build(env: StreamExecutionEnvironment, folder: Path, totals: Totals) -> None:
    source = FileSource.parquet(str(folder / "in"), max_files_per_batch=1, watch=True)
    by_column = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    windows = env.from_source(source, by_column, "columns").key_by("user").window(TumblingEventTimeWindows.of("1 hour"))
    windows.agg(total=agg.sum("amount")).map(lambda row: row["total"]).sink_to(ForeachBatchSink(totals.of("windows")))
    rows = env.from_source(source, by_column, "rows").key_by(lambda row: row.user).reduce(add)
    rows.map(lambda row: row.amount).sink_to(ForeachBatchSink(totals.of("rolling")))


def run(session: Any, folder: Path, parallelism: int, *, rolled: int, fired: int) -> Totals:
    """Run until so many sums of each stream have come."""
    totals = Totals()
    env = StreamExecutionEnvironment.get_execution_environment(
        session, parallelism=parallelism, checkpoint=str(folder / "checkpoint")
    )
    build(env, folder, totals)
    job = env.execute_async("rescale")
    while totals.found["rolling"][0] < rolled or totals.found["windows"][0] < fired:
        if job.status().is_terminal_state():
            break
        time.sleep(0.1)
    job.stop()
    job.wait()
    return totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    keys = parser.parse_args().keys
    folder = Path(tempfile.mkdtemp(prefix="tidegate-rescale-"))
    (folder / "in").mkdir()
    session = get_session(None, 4)
    write_file(folder / "in", 0, keys, HOUR)
    run(session, folder, 2, rolled=keys, fired=0)
    whole = sum(range(keys))
    for number, parallelism in enumerate((4, 1, 3), 1):
        env = StreamExecutionEnvironment.get_execution_environment(session, parallelism=parallelism)
        build(env, folder, Totals())
        ownership = Ownership(folder / "checkpoint")
        ownership.take()
        began = time.monotonic()
        options = env._job_options().plan_options(has_workers=True)
        done = Rescale(folder / "checkpoint", env._graph(), options, parallelism).run(session)
        seconds = time.monotonic() - began
        ownership.release()
        write_file(folder / "in", number, keys, (number + 1) * HOUR)
        totals = run(session, folder, parallelism, rolled=keys, fired=keys).found
        is_right = totals == {"windows": [keys, whole], "rolling": [keys, whole * (number + 1)]}
        sys.stdout.write(
            f"{keys} keys, {done.before} -> {done.after} subtasks: {seconds:.1f} s, {done.num_bytes / 1e6:.1f} MB; "
            f"{'right' if is_right else f'WRONG: {totals}'} behind it\n"
        )
        sys.stdout.flush()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
