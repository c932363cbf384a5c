"""A process that runs the job of the campaign again and again, as it is told on standard input, until it is killed.

A command is a line of JSON: `{"run": {...}}` starts a run, `{"stop": true}` stops it, `{"master": URL}` comes first.
What became of a run is a line of JSON on standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.core.operator.sink import BatchId
from tidegate.datastream import (
    DEAD_LETTERS,
    FileSink,
    ForeachBatchSink,
    OutputTag,
    Sink,
    Source,
    StreamExecutionEnvironment,
)
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import TidegateError
from tidegate.spark.sources.spool import read_note
from tidegate.storage.kept_file import write_whole

SCHEMA = "user string, ts long, amount long"
FUTURE = OutputTag("future")
POISON = 97
YEAR_AHEAD = 1_000
BASE = 1_767_225_600_000
LONGEST_RUN = 30.0
"""Seconds after which a run that waits for batches is stopped in any case."""
YEAR = 366 * 86_400_000


class Numbers(Source):
    """What the driver feeds: `(n, time)`, slowly behind what is `known`. Some are poison, some say it is next year."""

    def __init__(self, count: int, known: int) -> None:
        self._count = count
        self._known = known

    def channels(self) -> Sequence[str]:
        return ("numbers",)

    def read(self, channel: str) -> Iterator[tuple[int, int]]:
        for number in range(self._count):
            if number > self._known and number % 100 == 0:
                time.sleep(0.5)
            yield number, BASE + number * 10 + (2 * YEAR if number % YEAR_AHEAD == YEAR_AHEAD - 1 else 0)


def checked(element: tuple[int, int]) -> tuple[int, int, int]:
    number, at = element
    if number % POISON == POISON - 1:
        raise ValueError(f"{number} is poison")
    return number % 7, at, 1


def store(folder: Path, values: list[Any], batch_id: BatchId) -> None:
    """What a user writes who wants each batch once: stored under its number, replaced where the number comes again.

    If it comes again as another batch, all from there on is void: the job goes on from an older copy.
    """
    own = folder / f"{batch_id:08d}-{batch_id.token}.json"
    if not own.exists():
        for path in folder.glob("*.json"):
            if int(path.name[:8]) >= batch_id:
                path.unlink()
    write_whole(own, json.dumps([list(value.values()) for value in values]).encode())


class AppendingSink(Sink):
    """What a user writes who does not think of batches: all arrives, and after a crash some of it twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[str] = []

    def write(self, value: Any, context: Any) -> None:
        self._lines.append(json.dumps(list(value.values())))

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            write_whole(self._folder / uuid.uuid4().hex, "\n".join(lines).encode())


def fed_so_far(folder: Path) -> int:
    """How many numbers the runs before have fed, as far as it can be told."""
    for path in sorted((folder / "checkpoint" / "spool").glob("*-noted.spool"))[-1:]:
        with contextlib.suppress(Exception):
            found = re.search(r'"numbers": \{[^{}]*"position": (\d+)', json.dumps(read_note(path)))
            return 0 if found is None else int(found[1])
    return 0


def build(env: StreamExecutionEnvironment, folder: Path, files_at_once: int, numbers: int, *, is_last: bool) -> None:
    """Windows on columns over files that workers read; windows by rows over what the driver feeds; four file sinks."""
    out = folder / "out"
    by_column = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
    source = FileSource.json_lines(str(folder / "in"), SCHEMA, max_files_per_batch=files_at_once, watch=not is_last)
    (
        env.from_source(source, by_column, "files")
        .key_by("user")
        .window(TumblingEventTimeWindows.of("2 minutes"))
        .agg(records=agg.count(), total=agg.sum("amount"))
        .map(lambda row: [row["user"], row["window_start"], row["records"], row["total"]])
        .sink_to(FileSink(out / "windows", "json"))
        .uid("windows")
    )
    by_row = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(lambda element, _: element[1])
        .with_max_future_skew("60 days", side_output=FUTURE)
    )
    known = numbers if is_last else fed_so_far(folder)
    fed = env.from_source(Numbers(numbers, known), WatermarkStrategy.no_watermarks(), "numbers")
    stamped = fed.assign_timestamps_and_watermarks(by_row)
    stamped.get_side_output(FUTURE).map(list).sink_to(FileSink(out / "future", "json")).uid("future")
    good = stamped.map(checked, on_error="side_output")
    good.get_side_output(DEAD_LETTERS).map(lambda letter: letter.value[0]).sink_to(FileSink(out / "dead")).uid("dead")
    sums = (
        good.key_by(lambda element: element[0])
        .window(TumblingEventTimeWindows.of("500 ms"))
        .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
        .map(lambda found: {"key": found[0], "last": found[1], "count": found[2]})
    )
    sums.sink_to(FileSink(out / "sums", "csv", bucket=lambda found: f"key={found['key']}")).uid("sums")
    sums.sink_to(ForeachBatchSink(partial(store, out / "stored"))).uid("stored")
    sums.sink_to(AppendingSink(out / "appended")).uid("appended")


class Victim:
    def __init__(self, master: str | None) -> None:
        self._session = None if master is None else _on_cluster(master)
        self._job: Any = None

    def run(
        self, folder: str, stop_after: int | None, files_at_once: int, numbers: int, is_last: bool
    ) -> dict[str, Any]:
        """One run, until so many batches more are committed; the last one to its end."""
        stopped: list[bool] = []
        try:
            env = StreamExecutionEnvironment.get_execution_environment(
                self._session, runtime="spark", parallelism=2, checkpoint=f"{folder}/checkpoint"
            )
            build(env, Path(folder), files_at_once, numbers, is_last=is_last)
            self._job = env.execute_async("victim")
            if stop_after is not None:
                threading.Thread(target=self._stop_after, args=(folder, stop_after, stopped), daemon=True).start()
            self._job.wait()
        except TidegateError as error:
            return {"status": "failed", "kind": type(error).__name__, "error": str(error)}
        except BaseException as error:
            return {"status": "crashed", "kind": type(error).__name__, "error": str(error)[:2_000]}
        finally:
            job, self._job = self._job, None
        return {"status": "stopped" if stopped or job.status().name == "CANCELED" else "done"}

    def stop(self) -> None:
        job = self._job
        if job is not None:
            with contextlib.suppress(Exception):
                job.stop()

    def _stop_after(self, folder: str, batches: int, stopped: list[bool]) -> None:
        commits = Path(folder) / "checkpoint" / "query" / "commits"
        known = {path.name for path in commits.glob("[0-9]*")}
        deadline = time.monotonic() + LONGEST_RUN
        while self._job is not None:
            is_late = time.monotonic() > deadline
            if is_late or len({path.name for path in commits.glob("[0-9]*")} - known) >= batches:
                stopped.append(True)
                self.stop()
                return
            time.sleep(0.02)


def _on_cluster(master: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.cores.max", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.task.maxFailures", "8")
        .getOrCreate()
    )


def answer(answers: IO[str], victim: Victim, arguments: dict[str, Any]) -> None:
    answers.write(json.dumps(victim.run(**arguments)) + "\n")


def main() -> None:
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    victim: Victim | None = None
    for line in sys.stdin:
        command = json.loads(line)
        if victim is None:
            victim = Victim(command.get("master"))
        if "run" in command:
            threading.Thread(target=answer, args=(answers, victim, command["run"]), daemon=True).start()
        elif "stop" in command:
            victim.stop()


if __name__ == "__main__":
    main()
