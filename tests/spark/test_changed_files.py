"""Files that change under a job on Spark: an error with their name, or a count."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime, run_until

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.errors import InvalidValueError, SnapshotError


def write(file: Path, *users: str) -> None:
    hidden = file.with_name(f".{file.name}")
    hidden.write_text("user\n" + "".join(f"{user}\n" for user in users))
    os.replace(hidden, file)


def build(spark: Any, tmp_path: Path, on_changed_file: str) -> tuple[StreamExecutionEnvironment, CollectSink]:
    env = Runtime("spark", spark).environment(tmp_path / "checkpoint")
    results = CollectSink()
    source = FileSource.csv(str(tmp_path / "in"), "user string", watch=True, on_changed_file=on_changed_file)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "users").uid("users").map(lambda row: row.user).sink_to(
        results
    )
    return env, results


def test_a_file_that_changes_is_an_error_or_counted(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "1.csv", "ann")
    env, results = build(spark, tmp_path, "fail")
    run_until(env, lambda: results.results == ["ann"])
    write(tmp_path / "in" / "1.csv", "ann", "ben")
    env, _ = build(spark, tmp_path, "fail")
    with pytest.raises(InvalidValueError, match=r"1\.csv has 13 bytes and had 9 since it was found"):
        run_until(env, lambda: False)
    env, results = build(spark, tmp_path, "read")
    job = env.execute_async("again")
    try:
        # The driver hears of it with the offsets of a batch.
        while (len(results.results) < 2 or "users" not in job.metrics()) and not job.status().is_terminal_state():
            time.sleep(0.1)
        assert job.metrics()["users"] == [{"num_changed_files": 1}]
    finally:
        job.stop()
    assert results.results == ["ann", "ben"]


def test_a_file_log_that_is_gone_is_an_error(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "2.csv", "ann")
    env, results = build(spark, tmp_path, "fail")
    run_until(env, lambda: results.results == ["ann"])
    for log in (tmp_path / "checkpoint" / "files").iterdir():
        log.unlink()
    write(tmp_path / "in" / "1.csv", "ben")
    env, _ = build(spark, tmp_path, "fail")
    with pytest.raises(SnapshotError, match="knows fewer files of the folder than the checkpoint has read"):
        run_until(env, lambda: False)
