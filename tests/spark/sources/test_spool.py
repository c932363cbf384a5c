"""The spool, and a feeder over it, after crashes; no JVM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.core.state.snapshot import Snapshot
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.engine.feeder import Feeder
from tidegate.engine.lowering import lower
from tidegate.engine.messages import Element, Message, Moved, Target, Tick
from tidegate.engine.plan import PhysicalPlan
from tidegate.errors import SnapshotError
from tidegate.spark.sources.spool import Spool, read_rows, spooled
from tidegate.spark.sources.spool_stream import SpoolStreamReader
from tidegate.spark.wire.packets import unpack

TICK: dict[Target, list[Message]] = {Target(0, 0): [Tick()]}
ONE, TWO, THREE = ({"number": number} for number in (1, 2, 3))
ELEMENTS = 50


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


def crash_at_rename(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the renames before `number` happen, counted from 0, and fail there."""
    calls: list[str] = []

    def replace(source: Any, target: Any) -> None:
        calls.append(str(source))
        if len(calls) > number:
            raise CrashError
        os.rename(source, target)

    monkeypatch.setattr("tidegate.storage.kept_file.os.replace", replace)


def messages_in(folder: Path) -> list[Message]:
    """Everything in the spool, in the order of its files."""
    return [message for _, path in spooled(folder) for _, _, payload in read_rows(path) for message in unpack(payload)]


def test_a_note_is_that_of_the_last_file_that_had_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path, (0, 1))
    assert spool.note is None
    for note in ONE, TWO, THREE:
        spool.write(TICK, note)
    spool.write(TICK)
    assert spool.note == Spool(tmp_path, (0, 1)).note == THREE


def test_a_note_counts_if_and_only_if_its_file_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spool(tmp_path, (0, 1)).write(TICK, ONE)
    crashing = Spool(tmp_path, (0, 1))
    with monkeypatch.context() as patch:
        crash_at_rename(patch, 0)
        with pytest.raises(CrashError):
            crashing.write(TICK, TWO)
    restarted = Spool(tmp_path, (0, 1))
    assert restarted.note == ONE
    assert len(spooled(tmp_path)) == 1
    restarted.write(TICK)
    assert Spool(tmp_path, (0, 1)).note == ONE


def test_rows_go_to_the_grouping_keys_of_their_subtasks(tmp_path: Path) -> None:
    Spool(tmp_path, (7, 9)).write({Target(0, 1): [Tick()], Target(2, 0): [Tick(5)]})
    ((_, path),) = spooled(tmp_path)
    assert [(stage, gid, unpack(payload)) for stage, gid, payload in read_rows(path)] == [
        (0, 9, [Tick()]),
        (2, 7, [Tick(5)]),
    ]


@pytest.mark.parametrize(
    ("notes", "left"), [((ONE, None, TWO, None), [2, 3]), ((ONE, TWO), [1]), ((None, None, None), [2])]
)
def test_files_whose_batches_are_done_go_but_numbers_go_on(
    tmp_path: Path, notes: tuple[Snapshot | None, ...], left: list[int]
) -> None:
    """No file takes the place of one that a batch has read, whoever writes it."""
    spool = Spool(tmp_path, (0, 1))
    reader = SpoolStreamReader(str(tmp_path), 2, {})
    for note in notes:
        spool.write(TICK, note)
    assert reader.end() == {"next": len(notes)}
    reader.done({"next": len(notes)})
    assert [number for number, _ in spooled(tmp_path)] == left
    assert reader.end() == {"next": len(notes)}
    again = Spool(tmp_path, (0, 1))
    assert again.note == spool.note
    again.write(TICK)
    assert reader.end() == {"next": len(notes) + 1}


def test_files_are_shared_out_among_tasks_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path, (0, 1))
    for _ in range(5):
        spool.write(TICK)
    splits: Any = SpoolStreamReader(str(tmp_path), 2, {}).splits({"next": 1}, {"next": 5})
    assert [[Path(path).name[:12] for path in split.paths] for split in splits] == [
        ["000000000001", "000000000003"],
        ["000000000002", "000000000004"],
    ]


def test_a_file_that_is_gone_before_its_batch_was_done_is_an_error(tmp_path: Path) -> None:
    spool = Spool(tmp_path, (0, 1))
    spool.write(TICK)
    spool.write(TICK)
    spooled(tmp_path)[0][1].unlink()
    reader = SpoolStreamReader(str(tmp_path), 1, {})
    (split,) = reader.splits({}, {"next": 2})
    with pytest.raises(SnapshotError, match=r"000000000000.spool cannot be read: it is gone, and its batch"):
        list(reader.packets(split))


@pytest.mark.parametrize("length", [0, 10, 60])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    Spool(tmp_path, (0, 1)).write({Target(0, 0): [Tick()], Target(0, 1): [Tick()]}, {"note": 1})
    ((_, path),) = spooled(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(SnapshotError, match=r"cannot be read: it .*; choose another checkpoint folder"):
        Spool(tmp_path, (0, 1))


def plan() -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=2)
    env.from_range(1, ELEMENTS, channels=2).sink_to(CollectSink())
    return lower(env._graph())


def run(folder: Path) -> Feeder:
    """Feed the spool to the end, as after a restart."""
    spool = Spool(folder, (0, 1))
    feeder = Feeder(plan(), lambda: 0, saved=spool.note)
    while not feeder.has_ended:
        feeder.read(4)
        spool.write(feeder.take(), feeder.snapshot())
    return feeder


@pytest.mark.parametrize("rename", range(4))
def test_a_feeder_that_crashes_while_it_writes_goes_on_exactly_behind_what_was_spooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    for _ in range(3):
        with monkeypatch.context() as patch:
            crash_at_rename(patch, rename)
            with pytest.raises(CrashError):
                run(tmp_path)
    assert run(tmp_path).has_ended
    assert Feeder(plan(), lambda: 0, saved=Spool(tmp_path, (0, 1)).note).has_ended
    messages = messages_in(tmp_path)
    elements = sorted((message for message in messages if isinstance(message, Element)), key=lambda m: m.order)
    assert [message.value for message in elements] == list(range(1, ELEMENTS + 1))
    assert sum(isinstance(message, Moved) for message in messages) == 2
    numbers = sorted(message.order[0] for message in messages if isinstance(message, Element | Moved))
    assert numbers == list(range(1, len(numbers) + 1))
