"""A program that comes back changed: it goes on, is migrated, or is refused with the operator and the difference."""

from __future__ import annotations

import csv
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import ON_LOCAL, Runtime, on, run_until

from tidegate import agg
from tidegate.common import Types, WatermarkStrategy
from tidegate.datastream import CollectSink, DataStream, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import KeyedProcessFunction, RuntimeContext
from tidegate.datastream.state import ListStateDescriptor, StateDescriptor, ValueStateDescriptor
from tidegate.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tidegate.errors import SnapshotError

LATE = OutputTag("late")
COLUMNS = ("user", "ts", "x", "y")
BEFORE = [("a", 1_000, 1, 10), ("b", 2_000, 2, 20), ("a", 61_000, 3, 30), ("a", 62_000, 4, 40), ("a", 95_000, 9, 90)]
AFTER = [("a", 63_000, 5, 50), ("a", 200_000, 0, 0)]


class Numbered(KeyedProcessFunction):
    """Counts the elements of a key."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self._descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._descriptor, ListStateDescriptor):
            self._seen: Any = runtime_context.get_list_state(self._descriptor)
        else:
            assert isinstance(self._descriptor, ValueStateDescriptor)
            self._seen = runtime_context.get_state(self._descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        number = (self._seen.value() or 0) + 1
        self._seen.update(number)
        yield (value["user"], number)


@dataclass(frozen=True)
class Job:
    """Where a job reads, and where its checkpoint is."""

    folder: Path
    checkpoint: Path

    def write(self, name: str, rows: list[tuple[str, int, int, int]]) -> None:
        """Write a file once: it must not change."""
        if (self.folder / f"{name}.csv").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f".{name}").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        (self.folder / f".{name}").rename(self.folder / f"{name}.csv")


@dataclass
class Program:
    """Windows and a function over the rows of a folder; what each change is about is an attribute."""

    assigner: WindowAssigner = field(default_factory=lambda: TumblingEventTimeWindows.of("1 minute"))
    aggregates: dict[str, Any] = field(default_factory=lambda: {"total": agg.sum("x")})
    key: Any = "user"
    lateness: int = 0
    state: StateDescriptor = field(default_factory=lambda: ValueStateDescriptor("seen", Types.INT()))
    build_window: Callable[[Any], DataStream] | None = None
    schema: str = "user string, ts long, x long, y long"
    has_extra: bool = False

    def build(self, env: StreamExecutionEnvironment, job: Job) -> tuple[CollectSink, CollectSink]:
        source = FileSource.csv(str(job.folder), self.schema, watch=True)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
        keyed = env.from_source(source, strategy, "orders").key_by(self.key)
        windowed = keyed.window(self.assigner).allowed_lateness(self.lateness)
        build = self.build_window or (lambda windows: windows.agg(**self.aggregates))
        windows, numbers = CollectSink(), CollectSink()
        build(windowed).uid("windows").name("sums").sink_to(windows)
        keyed.process(Numbered(self.state)).uid("numbers").name("numbers").sink_to(numbers)
        if self.has_extra:
            keyed.process(Numbered(ValueStateDescriptor("seen"))).uid("extra").sink_to(CollectSink())
        return windows, numbers


def by_fields(sink: CollectSink, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in sink.results)


@pytest.fixture(scope="module")
def first_run(runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job that was stopped: the windows of the first minute have fired, that of a's second is open."""
    folder = tmp_path_factory.mktemp(f"changed-{runtime.name}")
    job = Job(folder / "in", folder / "checkpoint")
    job.write("1", BEFORE)
    env = runtime.environment(job.checkpoint)
    windows, numbers = Program().build(env, job)
    run_until(env, lambda: len(windows.results) >= 2 and len(numbers.results) >= 5)
    assert by_fields(windows, "user", "window_start", "total") == [("a", 0, 1), ("b", 0, 2)]
    return job


@pytest.fixture
def job(first_run: Job, tmp_path: Path) -> Iterator[Job]:
    """The first job with a copy of its checkpoint, which a test may go on with; it reads the same folder."""
    yield Job(first_run.folder, shutil.copytree(first_run.checkpoint, tmp_path / "checkpoint"))
    for name in ("2", "3"):
        (first_run.folder / f"{name}.csv").unlink(missing_ok=True)


def go_on(runtime: Runtime, job: Job, program: Program, windows: int) -> tuple[CollectSink, CollectSink]:
    job.write("2", AFTER)
    env = runtime.environment(job.checkpoint)
    results, numbers = program.build(env, job)
    run_until(env, lambda: len(results.results) >= windows and len(numbers.results) >= 2)
    return results, numbers


REFUSED: dict[str, tuple[Program, str]] = {
    "window size": (
        Program(TumblingEventTimeWindows.of("30 seconds")),
        r"operator 'sums' \(uid 'windows'\) cannot go on with its state in checkpoint .*: its window was "
        r"TumblingEventTimeWindows\(.*size=60000.*\) and is .*size=30000.*; run it as it was, or start from a new",
    ),
    "window offset": (Program(TumblingEventTimeWindows.of("1 minute", "5 seconds")), "its window was .*offset=5000"),
    "sliding window": (Program(SlidingEventTimeWindows.of("1 minute", "30 seconds")), r"'sums'.* its window was"),
    "sessions": (Program(EventTimeSessionWindows.with_gap("1 minute")), r"operator 'sums' \(uid 'windows'\)"),
    "aggregate over another field under the same name": (
        Program(aggregates={"total": agg.sum("y")}),
        r"'sums' .* its aggregate total was sum\(x\) and is sum\(y\) now",
    ),
    "other aggregate under the same name": (
        Program(aggregates={"total": agg.max("x")}),
        r"'sums' .* its aggregate total was sum\(x\) and is max\(x\) now",
    ),
    "key": (Program(key=["user", "x"]), r"operator '(sums|numbers)' .* cannot go on"),
    "key type": (Program(schema="user int, ts long, x long, y long"), r"its key( type)? was .*string and is .*int"),
    "function instead of aggregate": (
        Program(build_window=lambda windows: windows.reduce(lambda a, b: a)),
        r"operator 'sums' \(uid 'windows'\) cannot go on with its state",
    ),
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_change_of_meaning_is_refused_before_the_job_starts(runtime: Runtime, first_run: Job, change: str) -> None:
    program, message = REFUSED[change]
    env = runtime.environment(first_run.checkpoint)
    program.build(env, first_run)
    with pytest.raises(SnapshotError, match=message):
        env.execute_async().wait(1.0)


def test_the_same_program_goes_on(runtime: Runtime, job: Job) -> None:
    windows, numbers = go_on(runtime, job, Program(), windows=1)
    assert by_fields(windows, "user", "window_start", "total") == [("a", 60_000, 3 + 4 + 9 + 5)]
    assert sorted(numbers.results) == [("a", 5), ("a", 6)]


def test_an_added_aggregate_begins_empty_in_open_windows_and_says_so(
    runtime: Runtime, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(aggregates={"total": agg.sum("x"), "orders": agg.count(), "highest": agg.max("y")})
    with caplog.at_level(logging.WARNING, "tidegate"):
        windows, _ = go_on(runtime, job, program, windows=1)
    assert "max(y) is new in aggregates: what is open goes on without what came before" in caplog.text
    # Windows on columns always know how many records they hold.
    begins_empty = "count() is new in aggregates" in caplog.text
    assert begins_empty != runtime.is_spark
    assert by_fields(windows, "total", "orders", "highest") == [(21, 1 if begins_empty else 4, 50)]


def test_an_added_aggregate_that_would_be_half_there_is_refused(runtime: Runtime, job: Job) -> None:
    program = Program(aggregates={"total": agg.sum("x"), "mean": agg.mean("x")})
    if not runtime.is_spark:
        windows, _ = go_on(runtime, job, program, windows=1)
        assert by_fields(windows, "total", "mean") == [(21, 5.0)]
        return
    message = r"'sums' .*: mean\(x\) is new in aggregates, and of what it is made of only sum\(x\) was kept"
    with pytest.raises(SnapshotError, match=message):
        go_on(runtime, job, program, windows=1)


def test_a_removed_aggregate_is_forgotten(runtime: Runtime, job: Job) -> None:
    windows, _ = go_on(runtime, job, Program(aggregates={"highest": agg.max("y")}), windows=1)
    assert by_fields(windows, "highest") == [(50,)]


@ON_LOCAL
def test_an_aggregate_that_comes_back_is_refused(runtime: Runtime, job: Job) -> None:
    go_on(runtime, job, Program(aggregates={"highest": agg.max("y")}), windows=1)
    with pytest.raises(SnapshotError, match=r"'sums' .*: sum\(x\) was taken out of the program once and is back"):
        go_on(runtime, job, Program(), windows=1)


def test_a_longer_lateness_holds_for_windows_that_are_open(
    runtime: Runtime, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    job.write("2", AFTER)
    env = runtime.environment(job.checkpoint)
    windows, _ = Program(lateness=1_000_000).build(env, job)

    def straggle() -> bool:
        # The window of a's second minute has fired at 200,000 ms, and takes one more.
        if len(windows.results) == 1 and not (job.folder / "3.csv").exists():
            job.write("3", [("a", 64_000, 100, 0)])
        return len(windows.results) >= 2

    with caplog.at_level(logging.WARNING, "tidegate"):
        run_until(env, straggle)
    assert by_fields(windows, "window_start", "total") == [(60_000, 21), (60_000, 121)]
    assert "allowed lateness was 0 ms and is 1000000 ms: what is gone by now stays gone" in caplog.text


AS_LIST = ListStateDescriptor("seen", Types.INT()), "it was value state and is list state now"
AS_TEXT = ValueStateDescriptor("seen", Types.STRING()), "its type was .* and is .* now"


@pytest.mark.parametrize(
    ("runtime", "descriptor", "why"),
    [on("local", *AS_LIST), on("local", *AS_TEXT), on("spark", *AS_TEXT)],
    ids=["local kind", "local type", "spark type"],
    indirect=["runtime"],
)
def test_state_that_is_declared_as_something_else_is_refused_when_it_is_opened(
    runtime: Runtime, job: Job, descriptor: StateDescriptor, why: str
) -> None:
    with pytest.raises(SnapshotError, match=rf"numbers: the checkpoint holds the state 'seen', but {why}; declare it"):
        go_on(runtime, job, Program(state=descriptor, has_extra=True), windows=1)
    # What was refused has left no trace.
    migrated = ValueStateDescriptor("seen", Types.LONG()).migrate_from(Types.INT(), lambda seen: seen + 100)
    windows, numbers = go_on(runtime, job, Program(state=migrated), windows=1)
    assert by_fields(windows, "user", "window_start", "total") == [("a", 60_000, 21)]
    assert sorted(numbers.results) == [("a", 105), ("a", 106)]


@ON_LOCAL
def test_a_type_that_is_not_declared_for_once_is_not_forgotten(runtime: Runtime, job: Job) -> None:
    go_on(runtime, job, Program(state=ValueStateDescriptor("seen")), windows=1)
    job.write("3", [("a", 300_000, 0, 0)])
    with pytest.raises(SnapshotError, match=r"numbers: the checkpoint holds the state 'seen', but its type was"):
        go_on(runtime, job, Program(state=ValueStateDescriptor("seen", Types.STRING())), windows=1)


def test_a_state_of_another_name_begins_with_nothing(runtime: Runtime, job: Job) -> None:
    _, numbers = go_on(runtime, job, Program(state=ValueStateDescriptor("other", Types.INT())), windows=1)
    assert sorted(numbers.results) == [("a", 1), ("a", 2)]


def test_a_job_that_has_ended_does_not_start_again(runtime: Runtime, tmp_path: Path) -> None:
    def run() -> list[Any]:
        env = runtime.environment(tmp_path / "checkpoint")
        results = CollectSink()
        env.from_collection([1, 2]).key_by(lambda value: 0).sum().sink_to(results)
        env.execute("ends")
        return results.results

    assert run() == [1, 3]
    with pytest.raises(SnapshotError, match="is of a job that has ended: its input is complete"):
        run()
