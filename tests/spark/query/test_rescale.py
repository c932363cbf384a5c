"""A job on Spark that goes on with another parallelism: everything that has state, compared with the whole answer."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.runtimes.conftest import run_until

from tidegate import agg
from tidegate.common import Types, WatermarkStrategy
from tidegate.datastream import FileSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import KeyedBroadcastProcessFunction, KeyedProcessFunction, ProcessJoinFunction
from tidegate.datastream.state import MapStateDescriptor
from tidegate.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from tidegate.errors import SnapshotError
from tidegate.spark.query import rescale as query_rescale
from tidegate.spark.query.program_file import ProgramFile
from tidegate.spark.query.rescale import Rescale
from tidegate.storage.ownership import Ownership

BASE = 1_767_225_600_000
MINUTE = 60_000
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
BY_COLUMN = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")


class Minutes(KeyedProcessFunction):
    """Counts the records of each minute, and tells when it is over."""

    def open(self, context: Any) -> None:
        self.counts = context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, row: Any, context: Any) -> Iterator[Any]:
        end = row.ts - row.ts % MINUTE + MINUTE - 1
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        context.timer_service().register_event_time_timer(end)
        yield from ()

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        yield [context.get_current_key(), timestamp, self.counts.get(timestamp)]
        self.counts.remove(timestamp)


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, context: Any) -> Iterator[Any]:
        yield [left.user, left.ts, right.ts]


class Ruled(KeyedBroadcastProcessFunction):
    """Multiplies by what a rule says."""

    def process_element(self, row: Any, context: Any) -> Iterator[Any]:
        yield [row.user, row.ts, row.amount * (context.get_broadcast_state(RULES).get("factor") or -1)]

    def process_broadcast_element(self, rule: Any, context: Any) -> Iterator[Any]:
        context.get_broadcast_state(RULES).put("factor", rule)
        yield ["rule", 0, rule]


class Input:
    """Files of two channels, and the answer from all of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        folder.mkdir()
        self._dice = random.Random(seed)
        self._minute = 0
        self.rows: list[dict[str, Any]] = []

    def add(self, minutes: int) -> None:
        for _ in range(minutes):
            for channel in "ab":
                rows = [self._row() for _ in range(40)]
                path = self.folder / channel / f"{self._minute:04d}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                hidden = path.with_name(f".{path.name}")
                hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
                hidden.rename(path)
                self.rows += rows
            self._minute += 1

    def _row(self) -> dict[str, Any]:
        at = BASE + self._minute * MINUTE + self._dice.randrange(MINUTE) - self._dice.randrange(10_000)
        return {"user": f"u{self._dice.randrange(23)}", "ts": at, "amount": self._dice.randrange(1_000)}

    def answer(self) -> dict[str, Counter[Any]]:
        windows: dict[Any, list[int]] = {}
        minutes: Counter[Any] = Counter()
        by_user: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            windows.setdefault((row["user"], row["ts"] - row["ts"] % (2 * MINUTE)), []).append(row["amount"])
            minutes[(row["user"], row["ts"] - row["ts"] % MINUTE + MINUTE - 1)] += 1
            by_user.setdefault(row["user"], []).append(row)
        pairs: Counter[Any] = Counter()
        for user, rows in by_user.items():
            lefts, rights = ([r for r in rows if is_side(r["amount"])] for is_side in (is_low, is_high))
            pairs.update((user, a["ts"], b["ts"]) for a in lefts for b in rights if abs(a["ts"] - b["ts"]) <= 5_000)
        return {
            "windows": Counter((*key, len(amounts), sum(amounts)) for key, amounts in windows.items()),
            "sessions": Counter(session for user, rows in by_user.items() for session in sessions(user, rows)),
            "minutes": Counter((user, end, count) for (user, end), count in minutes.items()),
            "pairs": pairs,
            "ruled": Counter((row["user"], row["ts"], row["amount"] * 3) for row in self.rows) + Counter({RULE: 2}),
        }


RULE = ("rule", 0, 3)
"""Told by each of the two subtasks that were there when it came."""


def sessions(user: str, rows: list[dict[str, Any]]) -> Iterator[tuple[str, int, int]]:
    times = sorted(row["ts"] for row in rows)
    start, last, count = times[0], times[0], 0
    for at in times:
        if at - last > 20_000:
            yield user, start, count
            start, count = at, 0
        last, count = at, count + 1
    yield user, start, count


def is_low(amount: int) -> bool:
    return amount < 100


def is_high(amount: int) -> bool:
    return amount > 900


def build(env: StreamExecutionEnvironment, folder: Path, *, is_last: bool) -> None:
    out = folder / "out"
    source = FileSource.json_lines(
        str(folder / "in"), "user string, ts long, amount long", max_files_per_batch=2, watch=not is_last
    )
    on_columns = env.from_source(source, BY_COLUMN, "columns")
    windows = on_columns.key_by("user").window(TumblingEventTimeWindows.of("2 minutes"))
    windows.agg(records=agg.count(), total=agg.sum("amount")).map(
        lambda row: [row["user"], row["window_start"], row["records"], row["total"]]
    ).sink_to(FileSink(out / "windows", "json")).uid("windows")
    gaps = on_columns.key_by("user").window(EventTimeSessionWindows.with_gap("20001 ms"))
    gaps.agg(records=agg.count()).map(lambda row: [row["user"], row["window_start"], row["records"]]).sink_to(
        FileSink(out / "sessions", "json")
    ).uid("sessions")
    rows = env.from_source(source, BY_COLUMN, "rows").key_by(lambda row: row.user)
    rows.process(Minutes()).uid("counting").sink_to(FileSink(out / "minutes", "json")).uid("minutes")
    sides = [rows.filter(lambda row, is_side=is_side: is_side(row.amount)) for is_side in (is_low, is_high)]
    low, high = (side.key_by(lambda row: row.user) for side in sides)
    low.interval_join(high).between("-5 seconds", "5 seconds").process(Pairs()).uid("joining").sink_to(
        FileSink(out / "pairs", "json")
    ).uid("pairs")
    rules = env.from_collection([3]).broadcast(RULES)
    rows.connect(rules).process(Ruled()).uid("ruling").sink_to(FileSink(out / "ruled", "json")).uid("ruled")


def found(folder: Path) -> dict[str, Counter[Any]]:
    return {
        name: Counter(
            tuple(json.loads(line))
            for path in sorted((folder / "out" / name).rglob("part-*"))
            for line in path.read_text().splitlines()
        )
        for name in ("windows", "sessions", "minutes", "pairs", "ruled")
    }


def environment(spark: Any, folder: Path, parallelism: int) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        spark, parallelism=parallelism, checkpoint=str(folder / "checkpoint")
    )


def run(spark: Any, folder: Path, parallelism: int, is_enough: Callable[[], bool]) -> None:
    env = environment(spark, folder, parallelism)
    build(env, folder, is_last=False)
    run_until(env, is_enough)


def rescale(spark: Any, folder: Path, parallelism: int) -> None:
    env = environment(spark, folder, 7)
    build(env, folder, is_last=False)
    checkpoint = folder / "checkpoint"
    ownership = Ownership(checkpoint)
    ownership.take()
    try:
        options = env._job_options().plan_options(has_workers=True)
        Rescale(checkpoint, env._graph(), options, parallelism).run(spark)
    finally:
        ownership.release()


def count_ruled(folder: Path) -> int:
    return found(folder)["ruled"].total()


def has_ruled(folder: Path, count: int) -> bool:
    return count_ruled(folder) >= count


class KilledError(BaseException):
    """Stands for a kill: nothing of ours catches it."""


def killed_behind(step: Callable[..., Any]) -> Callable[..., None]:
    def act(*arguments: Any) -> None:
        step(*arguments)
        raise KilledError

    return act


STEPS: list[tuple[Any, str]] = [
    (ProgramFile, "begin_rescale"),
    (Rescale, "_dump"),
    (Rescale, "_share"),
    (query_rescale, "repartition"),
    (Rescale, "_rescale_sinks"),
]


@pytest.mark.spark
def test_a_job_goes_on_with_another_parallelism_up_and_down(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Input(tmp_path / "in", 20261116)
    run(spark, tmp_path, 2, partial(has_ruled, tmp_path, 1))
    for before, after in ((2, 4), (4, 1), (1, 3)):
        enough = count_ruled(tmp_path) + 80
        given.add(2)
        run(spark, tmp_path, before, partial(has_ruled, tmp_path, enough))
        with pytest.raises(SnapshotError, match=rf"parallelism {before}, the job has {after}.* tidegate rescale"):
            run(spark, tmp_path, after, lambda: True)
        assert not (tmp_path / "checkpoint" / "rescaled").exists()
        if after == 1:
            kill_at_every_step(spark, tmp_path, monkeypatch)
        rescale(spark, tmp_path, after)
        with pytest.raises(SnapshotError, match=rf"parallelism {after}, the job has {before}"):
            run(spark, tmp_path, before, lambda: True)
    with pytest.raises(SnapshotError, match="was rescaled to parallelism 3 and has not run since"):
        rescale(spark, tmp_path, 4)
    given.add(2)
    env = environment(spark, tmp_path, 3)
    build(env, tmp_path, is_last=True)
    env.execute("to the end")
    assert found(tmp_path) == given.answer()


def kill_at_every_step(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a rescale from 4 to 1 behind each of its steps; the next goes on."""
    for owner, name in STEPS:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, killed_behind(getattr(owner, name)))
            with pytest.raises(KilledError):
                rescale(spark, folder, 1)
        if name == "repartition":
            # As if it had been killed before Spark had committed its own batch.
            commits = folder / "checkpoint" / "query" / "commits"
            last = max(int(path.name) for path in commits.glob("[0-9]*"))
            for path in [commits / str(last), *commits.glob(f".{last}.*")]:
                path.unlink()
        with pytest.raises(SnapshotError, match="being rescaled to parallelism 1, which has not ended"):
            run(spark, folder, 4, lambda: True)
        with pytest.raises(SnapshotError, match="being rescaled to parallelism 1, which must end first"):
            rescale(spark, folder, 2)
