"""The spool and its feeder after crashes; no JVM."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.core.time.millis import TimeCharacteristic
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.errors import SnapshotError
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark import feeder as feeder_module
from tidegate.spark.feeder import Feeder
from tidegate.spark.packing import Item, Tick, unpack
from tidegate.spark.spool import Spool

TICK = {(0, 0): [Item((0, ""), "", "", progress=Tick())]}
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

    monkeypatch.setattr("tidegate.spark.spool.os.replace", replace)


def spooled(folder: Path) -> list[Item]:
    """Everything in the spool, in the order of its files."""
    return [
        item
        for file in sorted((folder / "spool").glob("*.txt"))
        for line in file.read_text().splitlines()
        for item in unpack(base64.b64decode(line.split()[2]))
    ]


def test_a_note_is_that_of_the_last_file_that_had_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", (0, 1))
    assert spool.note is None
    for note in ("one", "two", "three"):
        spool.write(TICK, note)
    spool.write(TICK)
    assert spool.note == Spool(tmp_path / "spool", (0, 1)).note == "three"


@pytest.mark.parametrize(("rename", "note", "files"), [(0, "one", 1), (1, "two", 2)])
def test_a_note_counts_if_and_only_if_its_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int, note: str, files: int
) -> None:
    """A crash before the note is saved forgets both; one between the note and the file lets the file appear later."""
    Spool(tmp_path / "spool", (0, 1)).write(TICK, "one")
    crashing = Spool(tmp_path / "spool", (0, 1))
    crashing._reserve()
    with monkeypatch.context() as patch:
        crash_at_rename(patch, rename)
        with pytest.raises(CrashError):
            crashing.write(TICK, "two")
    restarted = Spool(tmp_path / "spool", (0, 1))
    assert restarted.note == note
    assert len(list((tmp_path / "spool").iterdir())) == files
    # A file without a note must not bring a forgotten note back.
    restarted.write(TICK)
    assert Spool(tmp_path / "spool", (0, 1)).note == note


def test_no_file_takes_the_name_of_one_that_spark_has_deleted(tmp_path: Path) -> None:
    names: list[str] = []
    for note in (None, "one", None):
        spool = Spool(tmp_path / "spool", (0, 1))
        spool.write(TICK, note)
        spool.write(TICK)
        files = list((tmp_path / "spool").iterdir())
        names += [file.name for file in files]
        for file in files:
            file.unlink()
    assert len(names) == len(set(names)) == 6
    assert Spool(tmp_path / "spool", (0, 1)).note == "one"


@pytest.mark.parametrize("keep", [0, 1])
def test_a_file_that_lost_lines_is_refused(tmp_path: Path, keep: int) -> None:
    Spool(tmp_path / "spool", (0, 1)).write({(0, 0): TICK[(0, 0)], (0, 1): TICK[(0, 0)]})
    (file,) = (tmp_path / "spool").iterdir()
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:keep]))
    with pytest.raises(SnapshotError, match=f"has {keep} lines where it should have 2; restore the checkpoint"):
        Spool(tmp_path / "spool", (0, 1))


@pytest.mark.parametrize(("name", "damage"), [("spool.note", b"half"), ("spool.next", b"\xff?")])
def test_a_damaged_file_beside_the_spool_is_refused(tmp_path: Path, name: str, damage: bytes) -> None:
    Spool(tmp_path / "spool", (0, 1)).write(TICK, "one")
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(SnapshotError, match=rf"{name} cannot be read.* choose another checkpoint folder"):
        Spool(tmp_path / "spool", (0, 1))


def graph() -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.from_range(1, ELEMENTS, channels=2).sink_to(CollectSink())
    return env._graph()


def feeder(folder: Path) -> Feeder:
    """A feeder as after a restart."""
    return Feeder(
        graph(),
        Spool(folder / "spool", (0, 1)),
        2,
        lambda: 0,
        time_characteristic=TimeCharacteristic.EventTime,
        auto_watermark_interval=200,
    )


def run(feeder: Feeder) -> None:
    while not feeder.has_ended:
        feeder.step()


@pytest.mark.parametrize("rename", range(4))
def test_a_feeder_that_crashes_while_it_writes_goes_on_exactly_behind_what_was_spooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    monkeypatch.setattr(feeder_module, "_READ_AT_ONCE", 10)
    for _ in range(3):
        crashing = feeder(tmp_path)
        with monkeypatch.context() as patch:
            crash_at_rename(patch, rename)
            with pytest.raises(CrashError):
                run(crashing)
    run(feeder(tmp_path))
    assert feeder(tmp_path).has_ended
    items = spooled(tmp_path)
    values = [item.value for item in items if item.progress is None]
    assert values == list(range(1, ELEMENTS + 1))
    assert sum(item.progress is not None for item in items) == 2
    for channel in ("0", "1"):
        numbers = [item.order[0] for item in items if item.channel == channel]
        assert numbers == list(range(1, len(numbers) + 1))
