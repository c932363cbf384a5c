"""A local job goes on from the checkpoint of the last run that ended well."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.errors import SnapshotError, UserCodeError


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        if value == "bad":
            raise ZeroDivisionError("bad record")
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


def run(folder: Path, words: list[str], *, parallelism: int = 1, uid: str = "counts", drops: bool = False) -> list[Any]:
    """The list grows from run to run, as a source does; what was read before is skipped."""
    env = StreamExecutionEnvironment.get_execution_environment(checkpoint=str(folder), parallelism=parallelism)
    stream = env.from_collection(words)
    if drops:
        stream = stream.filter(lambda word: word != "drop")
    counted = stream.key_by(lambda word: word).process(Count())
    counted.uid(uid).name("word counts")
    return list(counted.execute_and_collect())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_a_run_that_has_ended_has_no_next_one(folder: Path) -> None:
    assert run(folder, ["a", "a"]) == [("a", 1), ("a", 2)]
    with pytest.raises(SnapshotError, match="is of a job that has ended: its input is complete"):
        run(folder, ["a", "a", "a", "b"])


def test_a_failed_run_leaves_the_checkpoint_as_it_was(folder: Path) -> None:
    env_error = pytest.raises(UserCodeError, match=r"word counts.*bad record")
    with env_error:
        run(folder, ["a", "bad", "a"])
    assert not (folder / "local.snapshot").exists()
    with pytest.raises(UserCodeError, match=r"word counts: close\(\) raised ZeroDivisionError: closed badly"):
        fails_when_it_closes(folder)
    assert not (folder / "local.snapshot").exists()
    assert run(folder, ["a", "a"]) == [("a", 1), ("a", 2)]


def fails_when_it_closes(folder: Path) -> None:
    class Bad(Count):
        def close(self) -> None:
            raise ZeroDivisionError("closed badly")

    env = StreamExecutionEnvironment.get_execution_environment(checkpoint=str(folder))
    env.from_collection(["a", "a"]).key_by(lambda word: word).process(Bad()).uid("counts").name("word counts").print()
    env.execute()


def test_a_stopped_run_is_saved(folder: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(checkpoint=str(folder))
    env.from_range(0, 10**9).map(lambda number: None).print()
    job = env.execute_async("endless")
    job.stop()
    job.wait(10)
    assert (folder / "local.snapshot").exists()


def test_another_program_is_refused(folder: Path) -> None:
    run(folder, ["a"])
    message = (
        r"holds state of the operator 'word counts' \(uid 'counts'\), which the program no longer has; put it back"
    )
    with pytest.raises(SnapshotError, match=message):
        run(folder, ["a"], uid="others")


def test_another_kind_of_operator_under_the_same_uid_is_refused(folder: Path) -> None:
    run(folder, ["a"])
    env = StreamExecutionEnvironment.get_execution_environment(checkpoint=str(folder))
    env.from_collection(["a"]).map(str.upper).uid("counts").name("upper").print()
    message = (
        r"operator 'upper' \(uid 'counts'\) cannot go on with its state in checkpoint .*: it was process with state "
        "and is map without it now; run it as it was"
    )
    with pytest.raises(SnapshotError, match=message):
        env.execute()


def test_a_filter_may_come_and_go(folder: Path) -> None:
    def run_for_a_moment(*, drops: bool) -> int:
        env = StreamExecutionEnvironment.get_execution_environment(checkpoint=str(folder))
        numbers = env.from_range(0, 10**9)
        stream = numbers.filter(lambda number: number % 2 == 0) if drops else numbers
        counted = stream.map(lambda _: "a").key_by(lambda word: word).process(Count()).uid("counts")
        (first,) = counted.execute_and_collect(limit=1)
        return int(first[1])

    counts = [run_for_a_moment(drops=drops) for drops in (False, True, False)]
    assert counts[0] == 1
    assert counts == sorted(set(counts))
