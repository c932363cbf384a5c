"""Functions are opened once where they run, stay open over batches, and are closed when the input or the run ends."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.runtimes.conftest import Runtime, run_until

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from tidegate.datastream.state import ValueStateDescriptor

FILES = 10


class Noted:
    """Writes down every call of `open` and `close`, with what says whose it was."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log

    def note(self, what: str) -> None:
        with self._log.open("a") as file:
            file.write(f"{self._name} {self._id} {what}\n")

    def open(self, runtime_context: RuntimeContext) -> None:
        self._id = f"{runtime_context.get_index_of_this_subtask()} {os.getpid()} {uuid.uuid4().hex[:8]}"
        self.note("open")

    def close(self) -> None:
        self.note("close")


class Mapped(Noted, MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Counted(Noted, KeyedProcessFunction):
    """Counts in a field of its own, and in state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._calls: Counter[Any] = Counter()
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self._calls[value.user] += 1
        number = (self._seen.value() or 0) + 1
        self._seen.update(number)
        yield value.user, self._calls[value.user], number


def check_lives(log: Path, runtime: Runtime) -> None:
    """One instance for each subtask in each process that it ran in, opened once; the last that was used is closed."""
    lives: dict[tuple[str, ...], list[str]] = {}
    for line in log.read_text().splitlines():
        *instance, what = line.split()
        lives.setdefault(tuple(instance), []).append(what)
    assert all(life in (["open"], ["open", "close"]) for life in lives.values()), lives
    instances = Counter((name, subtask, process) for name, subtask, process, _ in lives)
    assert set(instances.values()) == {1}, instances
    closed = [(name, subtask) for (name, subtask, *_), life in lives.items() if life[-1] == "close"]
    assert sorted(closed) == [("count", "0"), ("count", "1"), ("map", "0")]
    if not runtime.is_spark:
        assert len(lives) == 3


def build(runtime: Runtime, folder: Path, *, watch: bool) -> tuple[Any, CollectSink]:
    folder.joinpath("in").mkdir()
    for number in range(FILES):
        rows = "".join(f"u{user},{number}\n" for user in range(6))
        folder.joinpath("in", f"{number:02d}.csv").write_text(f"user,ts\n{rows}")
    env = runtime.environment(folder / "checkpoint")
    source = FileSource.csv(str(folder / "in"), "user string, ts long", max_files_per_batch=1, watch=watch)
    results = CollectSink()
    # A function decides about the time, so that elements are rows from the beginning.
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.ts)
    stream = env.from_source(source, strategy, "rows").map(Mapped("map", folder / "log"))
    stream.key_by(lambda row: row.user).process(Counted("count", folder / "log")).sink_to(results)
    return env, results


def test_functions_stay_open_over_ten_batches_and_are_closed_at_the_end(runtime: Runtime, tmp_path: Path) -> None:
    env, results = build(runtime, tmp_path, watch=False)
    env.execute("ten batches")
    counts = sorted((user, number) for user, _, number in results.results)
    assert counts == [(f"u{user}", number) for user in range(6) for number in range(1, FILES + 1)]
    # What the function keeps in a field is there in later batches too, where the subtask came back to its process.
    assert max(calls for _, calls, _ in results.results) > FILES // 4
    check_lives(tmp_path / "log", runtime)
    if runtime.is_spark:
        batches = (tmp_path / "checkpoint" / "query" / "commits").glob("[0-9]*")
        assert sum(1 for _ in batches) >= FILES


def test_functions_are_closed_when_a_run_stops_in_good_order(runtime: Runtime, tmp_path: Path) -> None:
    env, results = build(runtime, tmp_path, watch=True)

    def has_settled() -> bool:
        return len(results.results) >= 6 * FILES and runtime.is_idle()

    run_until(env, has_settled)
    check_lives(tmp_path / "log", runtime)
