"""What a query leaves that was killed before its first batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.spark.query.unstarted import forget_unstarted


def leave(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("v1\n")


def test_a_start_that_never_was_is_forgotten(tmp_path: Path) -> None:
    leave(tmp_path / "query", "metadata", "offsets/.0.a-b.tmp", "sources/0/0")
    forget_unstarted(tmp_path / "query")
    assert not (tmp_path / "query").exists()


@pytest.mark.parametrize("name", ["offsets/0", "commits/0", "state/0/0/1.changelog"])
def test_anything_that_counts_is_kept(tmp_path: Path, name: str) -> None:
    leave(tmp_path / "query", "metadata", name)
    forget_unstarted(tmp_path / "query")
    assert (tmp_path / "query" / name).exists()


@pytest.mark.spark
def test_a_job_starts_on_what_a_killed_one_left(spark: Any, tmp_path: Path) -> None:
    leave(tmp_path / "query", "offsets/.0.a-b.tmp")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=str(tmp_path))
    sink = CollectSink()
    env.from_collection([1, 2]).sink_to(sink)
    env.execute()
    assert sink.results == [1, 2]
