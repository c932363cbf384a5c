"""Files that change under a job: an error with their name, or a count."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import ON_LOCAL, Runtime, on, run_until

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.errors import InvalidValueError, SnapshotError


def write(file: Path, *users: str) -> None:
    hidden = file.with_name(f".{file.name}")
    hidden.write_text("user\n" + "".join(f"{user}\n" for user in users))
    os.replace(hidden, file)


def build(runtime: Runtime, tmp_path: Path, on_changed_file: str) -> tuple[StreamExecutionEnvironment, CollectSink]:
    env = runtime.environment(tmp_path / "checkpoint")
    results = CollectSink()
    source = FileSource.csv(str(tmp_path / "in"), "user string", watch=True, on_changed_file=on_changed_file)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "users").uid("users").map(lambda row: row.user).sink_to(
        results
    )
    return env, results


def read(runtime: Runtime, tmp_path: Path, count: int, on_changed_file: str = "fail") -> list[Any]:
    """What a run gives until it has so many elements."""
    env, results = build(runtime, tmp_path, on_changed_file)
    run_until(env, lambda: len(results.results) >= count)
    return results.results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_a_file_that_changes_is_an_error_or_counted(runtime: Runtime, tmp_path: Path, folder: Path) -> None:
    write(folder / "1.csv", "ann")
    assert read(runtime, tmp_path, 1) == ["ann"]
    write(folder / "1.csv", "ann", "ben")
    with pytest.raises(InvalidValueError, match=r"1\.csv has 13 bytes and had 9 since it was found"):
        read(runtime, tmp_path, 1)
    env, results = build(runtime, tmp_path, "read")
    job = env.execute_async("again")
    try:
        # On Spark the driver hears of it with the offsets of a batch.
        while (len(results.results) < 2 or "users" not in job.metrics()) and not job.status().is_terminal_state():
            time.sleep(0.1)
        assert job.metrics()["users"] == [{"num_changed_files": 1}]
    finally:
        job.stop()
    assert results.results == ["ann", "ben"]


@ON_LOCAL
def test_a_change_may_be_left_out(runtime: Runtime, tmp_path: Path, folder: Path) -> None:
    write(folder / "1.csv", "ann")
    assert read(runtime, tmp_path, 1) == ["ann"]
    write(folder / "1.csv", "ann", "ben")
    write(folder / "0.csv", "cid")
    assert read(runtime, tmp_path, 1, "skip") == ["cid"]


@ON_LOCAL
def test_a_file_that_comes_before_others_is_read_behind_what_was_read(
    runtime: Runtime, tmp_path: Path, folder: Path
) -> None:
    write(folder / "5.csv", "ann", "ben")
    assert read(runtime, tmp_path, 2) == ["ann", "ben"]
    write(folder / "1.csv", "cid")
    assert read(runtime, tmp_path, 1) == ["cid"]
    # What was read is not needed any more.
    (folder / "5.csv").unlink()
    write(folder / "0.csv", "dan")
    assert read(runtime, tmp_path, 1) == ["dan"]


@ON_LOCAL
def test_a_renamed_file_is_not_read_twice(runtime: Runtime, tmp_path: Path, folder: Path) -> None:
    write(folder / "1.csv", "ann")
    assert read(runtime, tmp_path, 1) == ["ann"]
    (folder / "1.csv").rename(folder / "2.csv")
    with pytest.raises(InvalidValueError, match=r"1\.csv was renamed to .*2\.csv and would be read twice"):
        read(runtime, tmp_path, 1)


@ON_LOCAL
def test_a_file_that_changes_while_the_job_runs_is_an_error(runtime: Runtime, tmp_path: Path, folder: Path) -> None:
    write(folder / "1.csv", "ann")
    env, results = build(runtime, tmp_path, "fail")

    def change() -> bool:
        if results.results == ["ann"]:
            write(folder / "1.csv", "ann", "ben")
        return False

    with pytest.raises(InvalidValueError, match=r"1\.csv has 13 bytes and had 9 since it was found"):
        run_until(env, change)


@pytest.mark.parametrize("runtime", [on("spark")], indirect=True)
def test_a_file_log_that_is_gone_is_an_error(runtime: Runtime, tmp_path: Path, folder: Path) -> None:
    write(folder / "2.csv", "ann")
    assert read(runtime, tmp_path, 1) == ["ann"]
    for log in (tmp_path / "checkpoint" / "files").iterdir():
        log.unlink()
    write(folder / "1.csv", "ben")
    with pytest.raises(SnapshotError, match="knows fewer files of the folder than the checkpoint has read"):
        read(runtime, tmp_path, 1)
