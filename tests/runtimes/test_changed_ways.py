"""A program that comes back with other ways between its operators: time reaches everybody all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import ON_LOCAL, Runtime, on, run_until

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, DataStream, Sink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import SnapshotError, UserCodeError


class Folder:
    """Where a job reads, a file at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        folder.mkdir()

    def write(self, name: str, *rows: tuple[str, int, int]) -> None:
        text = "".join(f"{user},{ts},{x}\n" for user, ts, x in rows)
        (self.path / f".{name}").write_text(f"user,ts,x\n{text}")
        (self.path / f".{name}").rename(self.path / f"{name}.csv")

    def read(self, env: StreamExecutionEnvironment, uid: str, *, on_columns: bool = False) -> DataStream:
        source = FileSource.csv(str(self.path), "user string, ts long, x long", watch=True, max_files_per_batch=1)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        by_column = strategy.with_timestamp_column("ts")
        chosen = by_column if on_columns else strategy.with_timestamp_assigner(lambda row, _: row.ts)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), uid).uid(uid)
        return stream.assign_timestamps_and_watermarks(chosen)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "in")


def test_windows_beside_each_other_keep_apart_what_they_store(runtime: Runtime, folder: Folder) -> None:
    env = runtime.environment()
    stream = folder.read(env, "in", on_columns=True).key_by("user")
    sums, highest, whole = CollectSink(), CollectSink(), CollectSink()
    stream.window(TumblingEventTimeWindows.of("1 minute")).agg(total=agg.sum("x")).sink_to(sums)
    stream.window(TumblingEventTimeWindows.of("1 minute")).agg(highest=agg.max("ts")).sink_to(highest)
    stream.window(TumblingEventTimeWindows.of("1 minute")).max_by("x").sink_to(whole)
    for number in range(4):
        folder.write(str(number), ("a", number * 1_000, 10 + number), ("b", number * 1_000, 20 - number))
    folder.write("9", ("a", 100_000, 0))
    run_until(env, lambda: min(len(sink.results) for sink in (sums, highest, whole)) >= 2)
    assert sorted((row["user"], row["total"]) for row in sums.results) == [("a", 46), ("b", 74)]
    assert sorted((row["user"], row["highest"]) for row in highest.results) == [("a", 3_000), ("b", 3_000)]
    assert sorted((row["user"], row["x"]) for row in whole.results) == [("a", 13), ("b", 20)]


def same(row: Any) -> Any:
    return row


@pytest.mark.parametrize(
    ("runtime", "before", "after"), [on("local", 2, 1), on("local", 1, 2), on("spark", 2, 1)], indirect=["runtime"]
)
def test_an_operator_without_state_may_get_another_parallelism(
    runtime: Runtime, folder: Folder, tmp_path: Path, before: int, after: int
) -> None:
    def run(parallelism: int, expected: int) -> list[Any]:
        env = runtime.environment(tmp_path / "checkpoint")
        results, seen = CollectSink(), CollectSink()
        moved = folder.read(env, "in").rebalance().map(same).uid("moved").set_parallelism(parallelism)
        moved.sink_to(seen).uid("seen")
        windows = moved.key_by(lambda row: row.user).window(TumblingEventTimeWindows.of("1 minute"))
        windows.reduce(Add()).uid("sums").sink_to(results).uid("results")
        run_until(env, lambda: len(results.results) >= expected and bool(seen.results))
        return sorted(results.results, key=lambda row: row.user)

    folder.write("1", ("a", 1_000, 1), ("a", 61_000, 2))
    assert [row["x"] for row in run(before, 1)] == [1]
    folder.write("2", ("a", 62_000, 3), ("b", 63_000, 7), ("b", 200_000, 4))
    assert [(row["user"], row["x"]) for row in run(after, 2)] == [("a", 5), ("b", 7)]


class Add:
    """Adds up `x` of the rows of a user."""

    def reduce(self, left: Any, right: Any) -> Any:
        return type(left)(user=left.user, ts=left.ts, x=left.x + right.x)


class Watching(Sink):
    """Notes the watermarks that come, for the driver to look at."""

    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def write(self, value: Any, context: Any) -> None:
        """Only time counts."""

    def write_watermark(self, watermark: Any) -> None:
        self.watermarks.append(watermark.timestamp)


def test_a_sink_may_read_from_elsewhere(runtime: Runtime, tmp_path: Path) -> None:
    folders = [Folder(tmp_path / name) for name in ("first", "second")]

    def run(unite: Callable[[DataStream, DataStream], DataStream], until: int) -> list[int]:
        env = runtime.environment(tmp_path / "checkpoint")
        first, second = (folder.read(env, folder.path.name) for folder in folders)
        watching = Watching()
        unite(first, second).sink_to(watching).uid("watching")
        first.union(second).sink_to(CollectSink()).uid("both")
        run_until(env, lambda: watching.watermarks[-1:] == [until])
        return watching.watermarks

    folders[0].write("1", ("a", 1_000, 1))
    folders[1].write("1", ("b", 5_000, 1))
    run(lambda first, second: first.union(second), 999)
    # The second stream, whose time is ahead, does not speak again: it is told of all the same.
    folders[0].write("2", ("a", 2_000, 1))
    assert run(lambda first, second: second.union(first), 1_999)[-1] == 1_999
    assert run(lambda first, second: second, 4_999)[-1] == 4_999


class Counted(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("state"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._state.update((self._state.value() or 0) + 1)
        yield self._state.value()


class Summed(Counted):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._state.update((self._state.value() or 0) + value.x)
        yield self._state.value()


@ON_LOCAL
def test_functions_without_a_uid_do_not_change_places(runtime: Runtime, folder: Folder, tmp_path: Path) -> None:
    def run(*functions: KeyedProcessFunction) -> None:
        env = runtime.environment(tmp_path / "checkpoint")
        keyed = folder.read(env, "in").key_by(lambda row: row.user)
        sinks = [CollectSink() for _ in functions]
        for function, sink in zip(functions, sinks, strict=True):
            keyed.process(function).sink_to(sink)
        run_until(env, lambda: all(sink.results for sink in sinks))

    folder.write("1", ("a", 1_000, 1))
    run(Counted(), Summed())
    message = r"it was 'process Counted' and is 'process Summed' now, and without a uid .* say so with uid\('process-"
    with pytest.raises(SnapshotError, match=message):
        run(Summed(), Counted())


class Fragile(MapFunction):
    """Cannot be opened, or closed, as it is told."""

    def __init__(self, fails_in: str) -> None:
        self._fails_in = fails_in

    def open(self, runtime_context: RuntimeContext) -> None:
        self._check("open")

    def map(self, value: Any) -> Any:
        return value.x

    def close(self) -> None:
        self._check("close")

    def _check(self, method: str) -> None:
        if method == self._fails_in:
            raise ValueError("not today")


@pytest.mark.parametrize(
    ("runtime", "fails_in"), [on("local", "open"), on("local", "close"), on("spark", "close")], indirect=["runtime"]
)
def test_a_function_that_cannot_be_opened_or_closed_is_named_and_blocks_nobody(
    runtime: Runtime, folder: Folder, tmp_path: Path, fails_in: str
) -> None:
    def run(how: str, expected: list[int]) -> None:
        env = runtime.environment(tmp_path / "checkpoint")
        results = CollectSink()
        folder.read(env, "in").map(Fragile(how)).uid("map").name("fragile").sink_to(results).uid("out")
        run_until(env, lambda: sorted(results.results) == expected and runtime.is_idle())

    folder.write("1", ("a", 1_000, 1))
    run("nothing", [1])
    folder.write("2", ("a", 2_000, 2))
    with pytest.raises(UserCodeError, match=rf"fragile: {fails_in}\(\) raised ValueError: not today"):
        run(fails_in, [2])
    folder.write("3", ("a", 3_000, 3))
    # A local run that ended badly does not count; on Spark its batches do.
    run("nothing", [3] if runtime.is_spark and fails_in == "close" else [2, 3])
