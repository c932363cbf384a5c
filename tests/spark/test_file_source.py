"""Files read by the workers, on Spark."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from tidegate.errors import UnsupportedError

pytestmark = pytest.mark.spark

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
FILES = 6


def write_files(folder: Path, first: int, count: int) -> None:
    """Two channels, a minute in each file; in the fourth file one record is nearly three minutes old."""
    for number in range(first, first + count):
        for channel in ("eu", "us"):
            times = [number * 60_000 + second * 1_000 for second in range(0, 60, 10)]
            times[-1] -= 170_000 if number == 3 and channel == "eu" else 0
            table = pa.table(
                {
                    "user": pa.array([f"u{i % 2}" for i in range(6)]),
                    "ts": pa.array([time * 1_000 for time in times], pa.timestamp("us", "UTC")),
                    "amount": pa.array(range(6), pa.int64()),
                }
            )
            (folder / channel).mkdir(parents=True, exist_ok=True)
            pa.parquet.write_table(table, folder / channel / f"{number:03d}.parquet", row_group_size=4)


def run(env: StreamExecutionEnvironment, source: Any) -> tuple[list[Any], list[Any]]:
    late = OutputTag("late")
    results, lates = CollectSink(), CollectSink()
    windows = (
        env.from_source(source, STRATEGY, "files")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("1 minute"))
        .side_output_late_data(late)
        .agg(orders=agg.count(), total=agg.sum("amount"))
    )
    windows.sink_to(results)
    windows.get_side_output(late).sink_to(lates)
    env.execute("files")
    return sorted(tuple(row) for row in results.results), [(row["user"], row["amount"]) for row in lates.results]


def test_files_read_by_workers_give_what_the_local_runtime_gives(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "in", 0, FILES)
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    results, lates = run(env, FileSource.parquet(str(tmp_path / "in"), max_files_per_batch=2))
    assert lates == [("u1", 5)]
    assert sum(row[3] for row in results) == FILES * 12 - 1
    assert len(results) == 2 * FILES
    local = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    assert [row[:3] for row in run(local, FileSource.parquet(str(tmp_path / "in")))[0]] == [row[:3] for row in results]


def test_sessions_and_slices_that_span_batches_are_those_of_the_local_runtime(spark: Any, tmp_path: Path) -> None:
    chance = random.Random(5)
    for number in range(FILES):
        for channel in ("eu", "us"):
            times = [number * 60_000 + second * 1_000 + chance.randrange(9_000) for second in range(0, 60, 3)]
            columns = {
                "user": [f"u{chance.randrange(12)}" for _ in times],
                "ts": pa.array([time * 1_000 for time in times], pa.timestamp("us", "UTC")),
                "amount": [chance.randrange(100) for _ in times],
            }
            (tmp_path / "in" / channel).mkdir(parents=True, exist_ok=True)
            pa.parquet.write_table(pa.table(columns), tmp_path / "in" / channel / f"{number}.parquet")

    def results_of(env: StreamExecutionEnvironment) -> list[list[Any]]:
        keyed = env.from_source(
            FileSource.parquet(str(tmp_path / "in"), max_files_per_batch=2), STRATEGY, "files"
        ).key_by("user")
        sinks = []
        for assigner in (EventTimeSessionWindows.with_gap("40 seconds"), SlidingEventTimeWindows.of("90 s", "30 s")):
            windows = keyed.window(assigner).allowed_lateness("20 seconds")
            sinks.append(CollectSink())
            windows.agg(orders=agg.count(), total=agg.sum("amount"), biggest=agg.max("amount")).sink_to(sinks[-1])
        env.execute("windows")
        return [sorted(tuple(row) for row in sink.results) for sink in sinks]

    sessions, slices = results_of(StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2))
    assert sum(row[3] for row in sessions) == sum(row[3] for row in slices) / 3 == FILES * 40
    assert max(row[2] - row[1] for row in sessions) > 180_000
    assert [sessions, slices] == results_of(StreamExecutionEnvironment.get_execution_environment(runtime="local"))


def test_a_restart_reads_only_what_is_new(spark: Any, tmp_path: Path) -> None:
    """A folder that is watched, in runs that end when they have read what is there."""
    found: list[Any] = []
    for first in (0, 3):
        write_files(tmp_path / "in", first, 3)
        env = StreamExecutionEnvironment.get_execution_environment(
            spark, parallelism=2, checkpoint=str(tmp_path / "checkpoint"), trigger="availableNow"
        )
        source = FileSource.parquet(str(tmp_path / "in"), watch=True, max_files_per_batch=4)
        results = CollectSink()
        (
            env.from_source(source, STRATEGY, "files")
            .key_by("user")
            .window(TumblingEventTimeWindows.of("1 minute"))
            .agg(orders=agg.count())
            .sink_to(results)
        )
        env.execute("files")
        found.append(sorted((row["window_start"] // 60_000, row["user"], row["orders"]) for row in results.results))
    assert found[0] == [(minute, user, 6) for minute in (0, 1) for user in ("u0", "u1")]
    assert found[1] == [
        (minute, user, 6 - (minute == 3 and user == "u1")) for minute in (2, 3, 4) for user in ("u0", "u1")
    ]


def test_a_channel_of_csv_files_that_is_too_far_ahead_is_not_read(spark: Any, tmp_path: Path) -> None:
    """The files of eu hold a minute each, those of us ten; us may be ten minutes ahead."""
    for channel, minutes, count in (("eu", 1, 30), ("us", 10, 3)):
        (tmp_path / "in" / channel).mkdir(parents=True)
        for number in range(count):
            times = range(number * minutes * 60_000, (number + 1) * minutes * 60_000, 10_000)
            text = "".join(f"{channel},{time},1\n" for time in times)
            (tmp_path / "in" / channel / f"{number:02d}.csv").write_text(f"user,ts,amount\n{text}")
    env = StreamExecutionEnvironment.get_execution_environment(
        spark, parallelism=2, checkpoint=str(tmp_path / "checkpoint")
    )
    source = FileSource.csv(str(tmp_path / "in"), "user string, ts long, amount long", max_rows_per_batch=120)
    sink = CollectSink()
    (
        env.from_source(source, STRATEGY.with_watermark_alignment("files", "10 minutes"), "files")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("30 minutes"))
        .agg(orders=agg.count())
        .sink_to(sink)
    )
    env.execute("aligned")
    assert sorted((row["user"], row["orders"]) for row in sink.results) == [("eu", 180), ("us", 180)]
    logs = sorted((tmp_path / "checkpoint" / "query" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    ends = [json.loads(line)["files"] for log in logs for line in log.read_text().splitlines() if '"files"' in line]
    assert [end["us"] for end in ends] == sorted(end["us"] for end in ends)
    for start, end in pairwise([{"eu": 0, "us": 0}, *ends]):
        # 120 rows are 20 files of eu, or one of us and the rest of eu.
        assert 6 * (end["eu"] - start["eu"]) + 60 * (end["us"] - start["us"]) <= 120
        if end["us"] > start["us"]:
            assert 10 * start["us"] - end["eu"] <= 10
    assert ends[-1] == {"eu": 30, "us": 3}


@pytest.mark.parametrize(
    ("options", "strategy", "message"),
    [
        ({}, STRATEGY, "use max_files_per_batch, max_rows_per_batch or max_bytes_per_batch"),
        ({"max_rows_per_batch": 9, "channel": "user"}, STRATEGY, "the files of each channel into a sub-folder"),
        ({"max_rows_per_batch": 9}, STRATEGY.with_timestamp_assigner(lambda row, _: 0), "use with_timestamp_column"),
        ({"max_rows_per_batch": 9}, STRATEGY.with_idleness("1 minute"), "leave out with_idleness, or the alignment"),
    ],
)
def test_alignment_that_could_not_work_is_refused(
    spark: Any, tmp_path: Path, options: dict[str, Any], strategy: WatermarkStrategy, message: str
) -> None:
    write_files(tmp_path / "in", 0, 1)
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    source = FileSource.parquet(str(tmp_path / "in"), **options)
    env.from_source(source, strategy.with_watermark_alignment("files", "1 minute"), "files").print()
    with pytest.raises(UnsupportedError, match=f"with_watermark_alignment: .*{message}"):
        env.execute("refused")


def test_a_python_function_gets_rows(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "in", 0, 1)
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    sink = CollectSink()
    source = FileSource.parquet(str(tmp_path / "in"))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    stream.map(lambda row: (row["user"], row.amount)).sink_to(sink)
    env.execute("rows")
    assert sorted(sink.results) == sorted(2 * [(f"u{i % 2}", i) for i in range(6)])
