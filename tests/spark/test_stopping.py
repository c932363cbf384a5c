"""A job that is stopped in the middle of a batch: Spark takes it for a stop, and a restart does the batch again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import CollectSink, StreamExecutionEnvironment

pytestmark = pytest.mark.spark

PATIENCE = 120.0


def slowly(path: Path, seconds: float) -> Callable[[int], int]:
    def note(number: int) -> int:
        path.touch()
        time.sleep(seconds)
        return number

    return note


def numbers(spark: Any, folder: Path, seconds: float) -> tuple[StreamExecutionEnvironment, CollectSink]:
    checkpoint = str(folder / "checkpoint")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=checkpoint)
    sink = CollectSink()
    env.from_collection([1, 2, 3]).map(slowly(folder / "begun", seconds)).sink_to(sink)
    return env, sink


def test_stop_in_the_middle_of_a_batch(spark: Any, tmp_path: Path) -> None:
    env, sink = numbers(spark, tmp_path, seconds=PATIENCE)
    job = env.execute_async("stopping")
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    [query] = [query for query in spark.streams.active if query.name == "stopping"]
    job.stop()
    job.wait(PATIENCE)
    assert query.exception() is None
    assert sink.results == []

    env, sink = numbers(spark, tmp_path, seconds=0.0)
    env.execute("stopping")
    assert sorted(sink.results) == [1, 2, 3]
