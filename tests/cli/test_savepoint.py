"""`tidegate savepoint`: a copy of a job that runs, and jobs that are started from it."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import PATIENCE

from tidegate import agg
from tidegate.cli.app import call
from tidegate.common import WatermarkStrategy
from tidegate.datastream import FileSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import InvalidValueError, SnapshotError
from tidegate.spark.query.program_file import ProgramFile
from tidegate.spark.query.rescale import Rescale
from tidegate.spark.query.savepoint import restore_savepoint, take_savepoint
from tidegate.storage.kept_file import KeptFile
from tidegate.storage.pause import paused, rest_if_asked

MINUTE = 60_000


class Case:
    """Files with a minute of records each, and sums of every two minutes."""

    def __init__(self, folder: Path, spark: Any) -> None:
        self.folder = folder
        self._spark = spark
        self._dice = random.Random(5)
        self._rows: list[tuple[str, int, int]] = []
        (folder / "in").mkdir()

    def add(self, minutes: int) -> None:
        for _ in range(minutes):
            number = len(self._rows) // 50
            rows = [
                (f"u{self._dice.randrange(9)}", number * MINUTE + self._dice.randrange(MINUTE), at) for at in range(50)
            ]
            lines = [json.dumps({"user": user, "ts": ts, "amount": amount}) + "\n" for user, ts, amount in rows]
            hidden = self.folder / "in" / f".{number:03d}.json"
            hidden.write_text("".join(lines))
            hidden.rename(self.folder / "in" / f"{number:03d}.json")
            self._rows += rows

    def build(self, checkpoint: str, *, is_last: bool, parallelism: int = 2) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment(
            self._spark, parallelism=parallelism, checkpoint=str(self.folder / checkpoint)
        )
        source = FileSource.json_lines(
            str(self.folder / "in"), "user string, ts long, amount long", max_files_per_batch=1, watch=not is_last
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
        windows = env.from_source(source, strategy, "files").key_by("user").window(TumblingEventTimeWindows.of("2 min"))
        windows.agg(total=agg.sum("amount")).map(lambda row: [row["user"], row["window_start"], row["total"]]).sink_to(
            FileSink(self.folder / "out", "json")
        )
        return env

    def found(self) -> Counter[Any]:
        paths = (self.folder / "out").rglob("part-*")
        return Counter(tuple(json.loads(line)) for path in paths for line in path.read_text().splitlines())

    def answer(self) -> Counter[Any]:
        sums: Counter[Any] = Counter()
        for user, ts, amount in self._rows:
            sums[(user, ts - ts % (2 * MINUTE))] += amount
        return Counter((*window, total) for window, total in sums.items())

    def commits(self, checkpoint: str) -> int:
        return len(list((self.folder / checkpoint / "query" / "commits").glob("[0-9]*")))


@pytest.mark.spark
def test_a_savepoint_of_a_running_job_is_a_start_for_another(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case(tmp_path, spark)
    case.add(12)
    job = case.build("first", is_last=False).execute_async("first")
    deadline = time.monotonic() + PATIENCE
    while case.commits("first") < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert call(["savepoint", str(tmp_path / "first"), str(tmp_path / "kept")]) == 0
    while len(list((tmp_path / "out").rglob("part-*"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    stopped = job.stop_with_savepoint(False, str(tmp_path / "kept")).result()
    capsys.readouterr()
    assert call(["savepoint", "list", str(tmp_path / "kept")]) == 0
    line, last = capsys.readouterr().out.splitlines()
    savepoint = line.split()[0]
    assert "running" in line
    assert last.startswith(stopped)
    assert "stopped" in last
    assert call(["savepoint", "restore", savepoint, str(tmp_path / "second")]) == 0
    with pytest.raises(SnapshotError, match=r"files of batches \d+ to \d+, which came behind the savepoint.* --undo"):
        case.build("second", is_last=True).execute("second")
    assert call(["savepoint", "restore", savepoint, str(tmp_path / "second")]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert call(["savepoint", "restore", "--undo", savepoint, str(tmp_path / "third")]) == 0
    case.add(2)
    # The batch that Spark makes for a rescale has a number that the sink knows of the first job.
    env = case.build("third", is_last=True)
    options = env._job_options().plan_options(has_workers=True)
    Rescale(tmp_path / "third", env._graph(), options, 3).run(spark)
    case.build("third", is_last=True, parallelism=3).execute("third")
    assert case.found() == case.answer()


def test_what_is_no_checkpoint_or_savepoint_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["savepoint", str(tmp_path), str(tmp_path / "kept")]) == 1
    assert "is no checkpoint of a job on Spark" in capsys.readouterr().err
    assert call(["savepoint", "restore", str(tmp_path), str(tmp_path / "new")]) == 1
    assert "is no savepoint" in capsys.readouterr().err
    assert call(["savepoint", "restore", str(tmp_path)]) == 2
    assert call(["savepoint", "list", str(tmp_path), str(tmp_path)]) == 2
    assert call(["savepoint", "list", str(tmp_path / "nowhere")]) == 1
    assert call(["savepoint", "list", str(tmp_path)]) == 0
    assert "there are no savepoints" in capsys.readouterr().err


def test_a_savepoint_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    env = StreamExecutionEnvironment.get_execution_environment(runtime="spark", parallelism=2)
    env.from_collection([1]).print()
    ProgramFile(checkpoint).take(env.get_plan())
    (checkpoint / "query" / "commits").mkdir(parents=True)
    (checkpoint / "query" / "commits" / "0").touch()
    with pytest.raises(InvalidValueError, match="is inside of the checkpoint"):
        take_savepoint(checkpoint, checkpoint / "kept")
    kept = Path(take_savepoint(checkpoint, tmp_path / "kept").path)
    restore_savepoint(kept, tmp_path / "whole", undoes=False)
    (kept / "checkpoint" / "program.json").write_text("cut")
    with pytest.raises(SnapshotError, match="is not whole"):
        restore_savepoint(kept, tmp_path / "new", undoes=False)
    assert not (tmp_path / "new").exists()


def test_a_pause_of_somebody_who_was_killed_is_over_soon(tmp_path: Path) -> None:
    request = tmp_path / "pause"
    KeptFile(request, "pause").write(b'{"name": "x"}')
    os.utime(request, (1, 1))
    rest_if_asked(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_pause_is_kept_and_ends(tmp_path: Path) -> None:
    resting = threading.Event()
    seen: list[str] = []

    def plan() -> None:
        while not resting.is_set():
            rest_if_asked(tmp_path)
            seen.append("planned")
            time.sleep(0.001)

    planner = threading.Thread(target=plan)
    planner.start()
    with paused(tmp_path, 10.0):
        count = len(seen)
        time.sleep(0.1)
        assert len(seen) == count
    while len(seen) <= count:
        time.sleep(0.01)
    resting.set()
    planner.join()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SnapshotError, match="did not come to the end of a batch"), paused(tmp_path, 0.1):
        pass
