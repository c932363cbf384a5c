"""Local jobs as a user runs them: to the end, stopped, drained, watched, and restarted."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.local.jobs import BY_SECOND_FIELD, WAIT, Endless, Lists, Tape, collect, local

from tidegate.common import JobStatus, Time, Types, WatermarkStrategy
from tidegate.core.time.millis import MAX_TIME
from tidegate.datastream import (
    CloseableIterator,
    CollectSink,
    DataStream,
    FileSink,
    KeyedProcessFunction,
    MapFunction,
    Sink,
    StreamExecutionEnvironment,
)
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.functions import ParallelSourceFunction, RuntimeContext, SinkContext
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.datastream.window import TumblingProcessingTimeWindows
from tidegate.errors import InvalidValueError, SnapshotError, UserCodeError
from tidegate.testing import ManualClock

NUMBERS = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value)


def endless(env: StreamExecutionEnvironment) -> DataStream:
    """All numbers, each its own timestamp, with a watermark behind each."""
    return env.from_source(Endless(), NUMBERS, "numbers")


# Parallel


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_the_parallelism_changes_nothing_about_the_results(parallelism: int) -> None:
    elements = [(f"key {n % 7}", n, n * 3) for n in range(200)]
    stream = local(parallelism).from_collection(elements).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    sums = stream.key_by(0).time_window(Time.milliseconds(50)).sum(2).key_by(0).sum(2)
    one = local(1).from_collection(elements).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    assert sorted(collect(sums)) == sorted(
        collect(one.key_by(0).time_window(Time.milliseconds(50)).sum(2).key_by(0).sum(2))
    )


def test_several_sources_with_several_channels_are_read_in_turn() -> None:
    env = local(2)
    first = env.from_source(Lists(["a1", "a2"], ["b1", "b2"]), WatermarkStrategy.no_watermarks(), "first")
    second = env.from_source(Lists(["c1", "c2", "c3"]), WatermarkStrategy.no_watermarks(), "second")
    assert collect(first.union(second)) == ["a1", "b1", "c1", "a2", "b2", "c2", "c3"]


def test_every_channel_has_its_own_watermarks() -> None:
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value)
    env = local()
    tape = Tape()
    stream = env.from_source(Lists([1, 20, 30], [2, 5]), strategy, "numbers")
    stream.key_by(lambda value: 0).time_window(Time.milliseconds(10)).sum().sink_to(tape)
    env.execute()
    assert tape.values == [8, 20, 30]
    assert tape.watermarks == [1, 2, 5, 30, MAX_TIME]


def test_subtasks_have_functions_of_their_own() -> None:
    class Counts(KeyedProcessFunction):
        def __init__(self) -> None:
            self.calls = 0

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            self.calls += 1
            self.count.update((self.count.value() or 0) + 1)
            yield value, self.count.value(), self.calls

    keys = [f"key {n}" for n in range(20)] * 2
    found = collect(local(4).from_collection(keys).key_by(lambda value: value).process(Counts()))
    assert sorted((value, count) for value, count, _ in found) == sorted((key, n) for key in set(keys) for n in (1, 2))
    assert max(calls for _, _, calls in found) < len(keys)


# End


def test_the_end_of_input_ends_time_and_closes_what_is_open() -> None:
    env = local()
    tape = Tape()
    stream = env.from_collection([("a", 5)]).assign_timestamps_and_watermarks(BY_SECOND_FIELD)
    stream.key_by(0).time_window("1 day").sum(1).sink_to(tape)
    env.execute()
    assert tape.values == [("a", 5)]
    assert tape.watermarks[-1] == MAX_TIME


def test_a_drained_job_ends_time() -> None:
    env = local()
    tape = Tape()
    sums = endless(env).key_by(lambda value: 0).time_window(Time.milliseconds(10)).sum()
    sums.sink_to(tape)
    job = env.execute_async("drained")
    tape.wait_for(100)
    job.drain()
    job.wait(WAIT)
    assert job.status() is JobStatus.FINISHED
    assert tape.watermarks[-1] == MAX_TIME
    # The last window is one that was open, so it has what came before the drain.
    assert tape.values[0] == sum(range(10))
    assert all(value == sum(range(n * 10, n * 10 + 10)) for n, value in enumerate(tape.values[:-1]))


def test_a_stopped_job_leaves_open_what_is_open() -> None:
    env = local()
    tape = Tape()
    endless(env).key_by(lambda value: 0).time_window("1 day").sum().sink_to(tape)
    job = env.execute_async("stopped")
    tape.wait_for(100)
    job.stop()
    job.wait(WAIT)
    assert job.status() is JobStatus.CANCELED
    assert tape.values == []
    assert MAX_TIME not in tape.watermarks


def test_a_job_tells_its_status_and_metrics() -> None:
    env = local(2)
    tape = Tape()
    stream = endless(env)
    stream.key_by(lambda value: value % 10).time_window(Time.milliseconds(10)).sum().uid("sums").sink_to(tape)
    job = env.execute_async("watched")
    tape.wait_for(50)
    assert job.status() is JobStatus.RUNNING
    assert job.get_job_status().result() is JobStatus.RUNNING
    with pytest.raises(TimeoutError, match=r"job 'watched' still runs after 0\.01 s"):
        job.wait(0.01)
    metrics = job.metrics()["sums"]
    assert len(metrics) == 2
    assert sum(subtask["num_fired_timers"] for subtask in metrics) > 0
    assert sum(subtask["num_late_records_dropped"] for subtask in metrics) == 0
    job.cancel().result()
    result = job.wait(WAIT)
    assert job.status() is JobStatus.CANCELED
    assert result.get_job_id() == job.get_job_id()
    assert job.get_job_execution_result().result().get_net_runtime() >= 0
    assert job.get_accumulators().result() == {}


def test_a_job_that_ends_well_is_finished() -> None:
    env = local()
    env.from_elements(1).sink_to(CollectSink())
    job = env.execute_async()
    job.wait(WAIT)
    assert job.status() is JobStatus.FINISHED
    assert job.get_job_status().result() is JobStatus.FINISHED


# Collecting


def test_results_come_while_the_job_runs() -> None:
    results = endless(local()).map(lambda value: value * 2).execute_and_collect()
    assert isinstance(results, CloseableIterator)
    assert [next(results), results.next(), next(results)] == [0, 2, 4]
    results.close()
    assert list(results) == []
    results.close()


def test_a_limit_gives_a_list_and_stops_the_job() -> None:
    assert endless(local()).execute_and_collect("limited", 3) == [0, 1, 2]
    assert endless(local()).execute_and_collect(limit=0) == []
    assert local().from_elements(1, 2).execute_and_collect(limit=10) == [1, 2]


def test_leaving_the_block_stops_the_job() -> None:
    before = threading.active_count()
    with endless(local()).execute_and_collect() as results:  # type: ignore[union-attr]
        assert next(results) == 0
    for thread in threading.enumerate():
        if thread.name.startswith("tidegate"):
            thread.join(WAIT)
    assert threading.active_count() <= before


# Errors


class Breaks(MapFunction):
    def map(self, value: Any) -> Any:
        if value == 3:
            raise ZeroDivisionError("three")
        return value


@pytest.mark.usefixtures("one_at_a_time")
def test_an_error_fails_the_job_and_surfaces_once_with_its_cause() -> None:
    env = local()
    tape = Tape()
    endless(env).map(Breaks()).name("breaks").sink_to(tape)
    job = env.execute_async()
    with pytest.raises(UserCodeError, match="breaks: ZeroDivisionError: three, for the record 3") as caught:
        job.wait(WAIT)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert job.status() is JobStatus.FAILED
    assert tape.values == [0, 1, 2]
    with pytest.raises(UserCodeError, match="three"):
        job.get_job_execution_result().result()


def test_an_error_surfaces_where_the_program_was_executed() -> None:
    env = local()
    endless(env).map(Breaks()).name("breaks").sink_to(CollectSink())
    with pytest.raises(UserCodeError, match="breaks: ZeroDivisionError: three, for the record 3"):
        env.execute()


@pytest.mark.usefixtures("one_at_a_time")
def test_an_error_surfaces_behind_the_results_before_it() -> None:
    results = endless(local()).map(Breaks()).execute_and_collect()
    assert isinstance(results, CloseableIterator)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UserCodeError, match="three"):
        next(results)
    assert list(results) == []


def test_an_error_passes_through_other_operators_with_its_cause() -> None:
    stream = endless(local()).flat_map(lambda value: [value]).map(Breaks()).name("breaks")
    with pytest.raises(UserCodeError, match=r"^breaks: ZeroDivisionError: three, for the record 3") as caught:
        collect(stream)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_a_source_names_it() -> None:
    class Torn(Lists):
        def read(self, channel: str) -> Any:
            yield 1
            raise OSError("unplugged")

    stream = local().from_source(Torn([]), WatermarkStrategy.no_watermarks(), "torn").uid("torn")
    with pytest.raises(UserCodeError, match="torn, channel 0: the source raised OSError: unplugged") as caught:
        collect(stream)
    assert isinstance(caught.value.__cause__, OSError)


def test_functions_are_closed_after_an_error() -> None:
    closed: list[str] = []

    class Closes(MapFunction):
        def map(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            closed.append("closed")

    env = local()
    env.from_elements(3).map(Closes()).map(Breaks()).sink_to(CollectSink())
    with pytest.raises(UserCodeError):
        env.execute()
    assert closed == ["closed"]


def test_an_error_while_opening_surfaces() -> None:
    class NoOpen(MapFunction):
        def open(self, runtime_context: Any) -> None:
            raise OSError("no database")

        def map(self, value: Any) -> Any:
            return value

    env = local()
    env.from_elements(1).map(NoOpen()).sink_to(CollectSink())
    job = env.execute_async()
    with pytest.raises((OSError, UserCodeError), match="no database"):
        job.wait(WAIT)
    assert job.status() is JobStatus.FAILED


# Clock


@pytest.mark.usefixtures("one_at_a_time")
def test_a_manual_clock_drives_windows_by_the_clock() -> None:
    clock = ManualClock()

    class Passes(MapFunction):
        def map(self, value: Any) -> Any:
            clock.advance(4)
            return value

    env = local(clock=clock)
    stream = env.from_source(Endless(), WatermarkStrategy.no_watermarks(), "numbers").map(Passes())
    sums = stream.key_by(lambda value: 0).window(TumblingProcessingTimeWindows.of(Time.milliseconds(10))).sum()
    assert sums.execute_and_collect(limit=3) == [0 + 1 + 2, 3 + 4, 5 + 6 + 7]


# Restart


def sums(folder: Path, tape: Tape, *, parallelism: int = 2) -> StreamExecutionEnvironment:
    """The sum of every ten numbers, and the rolling sum of those."""
    env = local(parallelism, checkpoint=str(folder))
    windows = endless(env).key_by(lambda value: value % 3).time_window(Time.milliseconds(10)).sum()
    windows.key_by(lambda value: 0).sum().uid("total").sink_to(tape)
    return env


@pytest.mark.parametrize("parallelisms", [(2, 2, 2), (2, 5, 1), (1, 3, 4)])
def test_a_stopped_job_goes_on_where_it_was_with_any_parallelism(
    tmp_path: Path, parallelisms: tuple[int, int, int]
) -> None:
    tapes = [Tape(), Tape(), Tape()]
    for tape, parallelism in zip(tapes, parallelisms, strict=True):
        job = sums(tmp_path / "checkpoint", tape, parallelism=parallelism).execute_async()
        tape.wait_for(500)
        job.stop()
        job.wait(WAIT)
    found = [value for tape in tapes for value in tape.values]
    windows = [
        sum(n for n in range(start, start + 10) if n % 3 == key) for start in range(0, 100_000, 10) for key in range(3)
    ]
    # The windows of one span come in any order, so every third rolling sum is certain.
    total, certain = 0, []
    for number, value in enumerate(windows[: len(found)], 1):
        total += value
        if number % 3 == 0:
            certain.append(total)
    assert found[2::3] == certain
    watermarks = [tape.watermarks for tape in tapes]
    assert watermarks[1][0] > watermarks[0][-1]
    assert watermarks[2][0] > watermarks[1][-1]


def test_a_failed_job_loses_and_repeats_nothing_when_it_is_run_again(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()

    class Unlucky(MapFunction):
        def map(self, value: Any) -> Any:
            if value == 7 and broken.exists():
                raise ConnectionError("try again")
            return value

    def run(tape: Tape) -> None:
        env = local(checkpoint=str(tmp_path / "checkpoint"))
        env.from_range(1, 10).map(Unlucky()).key_by(lambda value: 0).sum().sink_to(tape)
        env.execute()

    with pytest.raises(UserCodeError, match="try again"):
        run(Tape())
    broken.unlink()
    tape = Tape()
    run(tape)
    assert tape.values[-1] == sum(range(1, 11))


def test_a_file_sink_goes_on_behind_what_the_runs_before_have_written(tmp_path: Path) -> None:
    def run(parallelism: int) -> None:
        tape = Tape()
        env = local(parallelism, checkpoint=str(tmp_path / "checkpoint"))
        windows = endless(env).key_by(lambda value: value % 3).time_window(Time.milliseconds(10)).sum().uid("sums")
        windows.sink_to(FileSink(tmp_path / "out", "json")).uid("files")
        windows.sink_to(tape).uid("tape")
        job = env.execute_async()
        tape.wait_for(30)
        job.stop()
        job.wait(WAIT)

    for parallelism in (2, 2, 3):
        run(parallelism)
    found = sorted(int(line) for path in (tmp_path / "out").glob("part-*") for line in path.read_text().split())
    expected = (
        sum(n for n in range(start, start + 10) if n % 3 == key) for start in range(0, 10**6, 10) for key in range(3)
    )
    assert found == sorted(itertools.islice(expected, len(found)))


def test_an_operator_loses_the_parallelism_of_its_own(tmp_path: Path) -> None:
    def run(own: int | None) -> list[Any]:
        tape = Tape()
        env = local(3, checkpoint=str(tmp_path))
        total = endless(env).key_by(lambda value: value % 2).sum().uid("total")
        if own is not None:
            total.set_parallelism(own)
        total.sink_to(tape).uid("tape")
        job = env.execute_async()
        tape.wait_for(20)
        job.stop()
        job.wait(WAIT)
        return tape.values

    found = [*run(1), *run(None), *run(2)]
    sums = [sum(range(number % 2, number + 1, 2)) for number in range(len(found))]
    assert sorted(found) == sorted(sums)


class LateCount(KeyedProcessFunction):
    """Declares its state when it is first needed."""

    def __init__(self, state: ValueStateDescriptor) -> None:
        self._state = state

    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        state = self._context.get_state(self._state)
        yield state.value()
        state.update(value)


def test_state_that_some_subtasks_have_migrated_and_others_have_not_is_not_shared_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    def run(parallelism: int, values: list[str], state: ValueStateDescriptor) -> list[Any]:
        number = len(list((tmp_path / "in").iterdir()))
        (tmp_path / "in" / f"{number}.json").write_text("".join(f'{{"key": "{value}"}}\n' for value in values))
        tape = Tape()
        env = local(parallelism, checkpoint=str(tmp_path / "checkpoint"))
        source = FileSource.json_lines(str(tmp_path / "in"), "key string", watch=True)
        keys = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").map(lambda row: row.key)
        keys.key_by(lambda key: key).process(LateCount(state)).uid("late").sink_to(tape)
        job = env.execute_async()
        tape.wait_for(len(values))
        job.stop()
        job.wait(WAIT)
        return tape.values

    keys = [f"k{number}" for number in range(8)]
    longer = ValueStateDescriptor("last", Types.BYTE()).migrate_from(Types.STRING(), lambda value: f"<{value}>")
    run(2, keys, ValueStateDescriptor("last", Types.STRING()))
    assert run(2, keys[:1], longer) == [f"<{keys[0]}>"]
    with pytest.raises(SnapshotError, match=r"'last' has another type in some subtasks.* declare it in open\(\)"):
        run(3, keys, longer)


def test_more_subtasks_than_a_checkpoint_has_key_groups_are_refused(tmp_path: Path) -> None:
    tape = Tape()
    job = sums(tmp_path, tape, parallelism=2).execute_async()
    tape.wait_for(100)
    job.stop()
    job.wait(WAIT)
    with pytest.raises(InvalidValueError, match="has 128 key groups, so it cannot have 200 subtasks"):
        sums(tmp_path, Tape(), parallelism=200).execute()


class Ones(ParallelSourceFunction):
    """The same number, until it is stopped."""

    _is_running = True

    def run(self, context: Any) -> None:
        while self._is_running:
            context.collect(1)
            time.sleep(0.001)

    def cancel(self) -> None:
        self._is_running = False


def test_a_source_with_an_instance_in_every_subtask_is_not_rescaled(tmp_path: Path) -> None:
    def run(parallelism: int) -> None:
        tape = Tape()
        env = local(parallelism, checkpoint=str(tmp_path))
        env.add_source(Ones(), "ones").key_by(lambda value: value).sum().sink_to(tape)
        job = env.execute_async()
        tape.wait_for(10)
        job.stop()
        job.wait(WAIT)

    run(2)
    with pytest.raises(SnapshotError, match=r"'ones'.* as many channels as .* set_parallelism\(2\)"):
        run(3)


def test_a_checkpoint_of_another_program_is_refused(tmp_path: Path) -> None:
    env = local(checkpoint=str(tmp_path))
    collect(env.from_collection([1]).key_by(lambda value: 0).sum().uid("gone").name("the sums"))
    other = local(checkpoint=str(tmp_path))
    other.from_collection([1]).print()
    with pytest.raises(SnapshotError, match=r"holds state of the operator 'the sums' \(uid 'gone'\)"):
        other.execute()


@pytest.mark.parametrize("content", [b"not a snapshot", b"\x80\x05K\x05."])
def test_a_checkpoint_that_cannot_be_read_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "local.snapshot").write_bytes(content)
    env = local(checkpoint=str(tmp_path))
    env.from_collection([1]).print()
    with pytest.raises(SnapshotError, match=r"local\.snapshot.*choose another checkpoint folder"):
        env.execute()


class KeepsLock(KeyedProcessFunction):
    """Keeps what cannot be copied."""

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.kept.update(threading.Lock())
        yield value


def test_without_a_checkpoint_state_need_not_be_copied() -> None:
    env = local()
    sink = CollectSink()
    env.from_elements(1).key_by(lambda value: 0).process(KeepsLock()).sink_to(sink)
    env.execute()
    assert sink.results == [1]


def test_state_that_cannot_be_saved_fails_the_job(tmp_path: Path) -> None:
    env = local(checkpoint=str(tmp_path))
    env.from_elements(1).key_by(lambda value: 0).process(KeepsLock()).sink_to(CollectSink())
    job = env.execute_async()
    with pytest.raises(TypeError, match="lock"):
        job.wait(WAIT)
    assert job.status() is JobStatus.FAILED


# Sinks


class BatchDiary(Sink):
    def __init__(self, *, fails: bool = False) -> None:
        self.lines: list[str] = []
        self._fails = fails

    def open(self, runtime_context: Any) -> None:
        self.lines.append("open")

    def begin_batch(self, batch_id: int) -> None:
        self.lines.append(f"begin {batch_id}")

    def write(self, value: Any, context: SinkContext) -> None:
        self.lines.append(value)

    def flush(self) -> None:
        self.lines.append("flush")

    def commit_batch(self, batch_id: int) -> None:
        if self._fails:
            raise OSError("disk full")
        self.lines.append(f"commit {batch_id}")

    def close(self) -> None:
        self.lines.append("close")


def test_for_a_sink_the_whole_run_is_one_batch() -> None:
    env, diary = local(), BatchDiary()
    env.from_elements("x", "y").sink_to(diary)
    env.execute()
    assert diary.lines == ["open", "begin 0", "x", "y", "flush", "commit 0", "close"]


def test_a_sink_that_cannot_commit_is_closed() -> None:
    env, diary = local(), BatchDiary(fails=True)
    env.from_elements("x").sink_to(diary)
    with pytest.raises(OSError, match="disk full"):
        env.execute()
    assert diary.lines[-1] == "close"
