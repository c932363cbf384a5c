"""Checkpoints at the edges: of another runtime, of another folder of files, of a job that was stopped at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runtimes.conftest import Runtime, run_until

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.errors import SnapshotError


def read(runtime: Runtime, folder: Path, checkpoint: Path) -> None:
    env = runtime.environment(checkpoint)
    results = CollectSink()
    source = FileSource.csv(str(folder), "user string", watch=True)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").map(str).sink_to(results)
    run_until(env, lambda: bool(results.results))


def test_a_checkpoint_is_of_one_runtime_and_of_one_place(runtime: Runtime, tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("user\nann\n")
    read(runtime, tmp_path / "here", tmp_path / "checkpoint")
    with pytest.raises(SnapshotError, match=r"its location was .*here and is .*there now"):
        read(runtime, tmp_path / "there", tmp_path / "checkpoint")
    if runtime.is_spark:
        with pytest.raises(SnapshotError, match="is of a job on Spark, which the local runtime cannot go on from"):
            read(Runtime("local"), tmp_path / "here", tmp_path / "checkpoint")


def test_a_stop_returns_when_the_checkpoint_is_complete(tmp_path: Path) -> None:
    env = Runtime("local").environment(tmp_path / "checkpoint")
    env.from_range(0, 10**9).sink_to(CollectSink())
    job = env.execute_async("stopped")
    job.stop()
    assert job.status().is_terminal_state()
    assert (tmp_path / "checkpoint" / "local.snapshot").exists()
