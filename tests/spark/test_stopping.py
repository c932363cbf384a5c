"""A job that is stopped in the middle of a batch: Spark takes it for a stop, and a restart goes on there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows

pytestmark = pytest.mark.spark

PATIENCE = 120.0
MINUTE = 60_000
MINUTES = 5


def slowly(path: Path, seconds: float) -> Callable[[Any], Any]:
    def note(element: Any) -> Any:
        path.touch()
        time.sleep(seconds)
        return element

    return note


def stop_in_a_batch(spark: Any, env: StreamExecutionEnvironment, folder: Path) -> None:
    """Run until a batch has begun, and stop there: for Spark that is no failure."""
    job = env.execute_async("stopping")
    deadline = time.monotonic() + PATIENCE
    while not (folder / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    [query] = [query for query in spark.streams.active if query.name == "stopping"]
    job.stop()
    job.wait(PATIENCE)
    assert query.exception() is None


def numbers(spark: Any, folder: Path, seconds: float) -> tuple[StreamExecutionEnvironment, CollectSink]:
    checkpoint = str(folder / "checkpoint")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=checkpoint)
    sink = CollectSink()
    env.from_collection([1, 2, 3]).map(slowly(folder / "begun", seconds)).sink_to(sink)
    return env, sink


def test_stop_in_the_middle_of_a_batch(spark: Any, tmp_path: Path) -> None:
    env, sink = numbers(spark, tmp_path, seconds=PATIENCE)
    stop_in_a_batch(spark, env, tmp_path)
    assert sink.results == []

    env, sink = numbers(spark, tmp_path, seconds=0.0)
    env.execute("stopping")
    assert sorted(sink.results) == [1, 2, 3]


def windows(spark: Any, folder: Path, seconds: float) -> tuple[StreamExecutionEnvironment, CollectSink]:
    """How many orders there are in each minute; a file is a batch."""
    checkpoint = str(folder / "checkpoint")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=checkpoint)
    source = FileSource.csv(str(folder / "in"), "ts long", max_files_per_batch=1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
    sink = CollectSink()
    (
        env.from_source(source, strategy, "orders")
        .map(lambda row: (row["ts"] // MINUTE, 1))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of("1 minute"))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(slowly(folder / "begun", seconds))
        .sink_to(sink)
    )
    return env, sink


def test_time_does_not_end_where_a_bounded_source_is_stopped(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(MINUTES):
        times = range(number * MINUTE, (number + 1) * MINUTE, 10_000)
        (tmp_path / "in" / f"{number}.csv").write_text("ts\n" + "".join(f"{time}\n" for time in times))
    env, before = windows(spark, tmp_path, seconds=PATIENCE)
    stop_in_a_batch(spark, env, tmp_path)
    assert before.results == []

    env, after = windows(spark, tmp_path, seconds=0.0)
    env.execute("stopping")
    assert sorted(after.results) == [(minute, 6) for minute in range(MINUTES)]
