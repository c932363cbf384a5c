"""Which files a batch reads: offsets, limits, alignment, crashes; no JVM."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError
from tidegate.ingest.column_files import ColumnFiles, Limits
from tidegate.spark.sources.file_log import FileLog

MAKERS: dict[str, Callable[..., ColumnFiles]] = {
    "parquet": FileSource.parquet,
    "plain": FileSource.parquet,
    "csv": partial(FileSource.csv, schema="ts long"),
    "json": partial(FileSource.json_lines, schema="ts long"),
}
"""How files of each kind are read; plain is parquet without statistics."""


def write(folder: Path, name: str, first: int, rows: int = 10, kind: str = "parquet") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    times = range(first, first + rows)
    path = folder / f"{name}.{kind}"
    if kind == "csv":
        path.write_text("ts\n" + "".join(f"{time}\n" for time in times))
    elif kind == "json":
        path.write_text("".join(f'{{"ts": {time}}}\n' for time in times))
    else:
        table = pa.table({"ts": pa.array(times, pa.int64())})
        pa.parquet.write_table(table, path, row_group_size=4, write_statistics=kind == "parquet")


def log_of(folder: Path, kind: str = "parquet") -> FileLog:
    return FileLog(folder / "log", MAKERS[kind](str(folder / "in")), "ts")


def names(log: FileLog, start: dict[str, int], end: dict[str, int]) -> list[str]:
    return [Path(file.path).stem for _, file in log.between(start, end)]


def test_a_batch_reads_the_same_files_again_whatever_came_since(tmp_path: Path) -> None:
    write(tmp_path / "in", "b", 0)
    log = log_of(tmp_path)
    log.discover()
    end = log.end()
    write(tmp_path / "in", "a", 0)
    again = log_of(tmp_path)
    again.discover()
    assert names(again, {}, end) == ["b"]
    assert names(again, end, again.end()) == ["a"]


def test_a_line_that_a_crash_cut_is_found_again(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0)
    log_of(tmp_path).discover()
    text = (tmp_path / "log").read_text()
    entry = text.splitlines()[1]
    (tmp_path / "log").write_text(text + entry[:20])
    write(tmp_path / "in", "b", 0)
    log = log_of(tmp_path)
    log.discover()
    assert names(log, {}, log.end()) == ["a", "b"]
    assert log_of(tmp_path).end() == {"": 2}


@pytest.mark.parametrize(
    "damage", ["no log\n", 'tidegate files 1\n00000000 {"x": 1}\n', "tidegate files 1\nno entry\n"]
)
def test_a_damaged_log_is_refused(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "in", "a", 0)
    (tmp_path / "log").write_text(damage)
    with pytest.raises(SnapshotError, match=r"log cannot be read: .* choose another checkpoint folder"):
        log_of(tmp_path)


def test_a_log_from_another_time_than_the_checkpoint_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0)
    with pytest.raises(SnapshotError, match="knows fewer files of the folder than the checkpoint has read"):
        log_of(tmp_path).between({}, {"": 1})


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("limits", "counts"),
    [
        (Limits(), [4]),
        (Limits(files=3), [3, 1]),
        (Limits(rows=20), [2, 2]),
        (Limits(rows=5), [1, 1, 1, 1]),
        (Limits(bytes=1), [1, 1, 1, 1]),
    ],
)
def test_limits_hold_a_batch_and_always_let_a_file_through(
    tmp_path: Path, limits: Limits, counts: list[int], kind: str
) -> None:
    for number in range(4):
        write(tmp_path / "in", str(number), 10 * number, kind=kind)
    log = log_of(tmp_path, kind)
    log.discover()
    found, offset = [], {"": 0}
    while offset != log.end():
        following = log.next_positions(offset, log.end(), limits)
        found.append(following[""] - offset[""])
        offset = following
    assert found == counts


def test_channels_are_read_in_turn(tmp_path: Path) -> None:
    for channel in ("x", "y"):
        for number in range(3):
            write(tmp_path / "in" / channel, str(number), number)
    log = log_of(tmp_path)
    log.discover()
    assert log.next_positions({}, log.end(), Limits(files=3)) == {"x": 2, "y": 1}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_channel_that_is_too_far_ahead_waits(tmp_path: Path, kind: str) -> None:
    """Channel x has ten rows of time a file, y one hundred; with a drift of 30 y waits for x."""
    for number in range(20):
        write(tmp_path / "in" / "x", f"{number:02d}", 10 * number, kind=kind)
    for number in range(2):
        write(tmp_path / "in" / "y", f"{number:02d}", 100 * number, 100, kind)
    log = log_of(tmp_path, kind)
    log.discover()
    offset: dict[str, int] = {"x": 0, "y": 0}
    steps = []
    while offset != log.end():
        offset = log.next_positions(offset, log.end(), Limits(files=2), AlignmentParameters("files", 30))
        steps.append((offset["x"], offset["y"]))
    # y has read its first file, up to 99, and goes on when x is at 69: then both take one, x its eighth. Without more
    # files x holds nobody back.
    assert next(step for step in steps if step[1] == 2) == (8, 2)
    assert steps[-1] == (20, 2)


def test_what_was_read_is_not_looked_at_again_after_a_restart(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "in", str(number), 10 * number, kind="csv")
    log = log_of(tmp_path, "csv")
    log.discover()
    alignment = AlignmentParameters("files", 30)
    assert log.next_positions({}, log.end(), Limits(rows=20), alignment) == {"": 2}
    for number in range(2):
        (tmp_path / "in" / f"{number}.csv").unlink()
    again = log_of(tmp_path, "csv")
    again.discover()
    assert again.files == log.files
    assert again.next_positions({"": 2}, again.end(), Limits(rows=20), alignment) == {"": 3}


def test_a_file_that_cannot_be_measured_is_named(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, kind="json")
    (tmp_path / "in" / "b.json").write_text('{"ts": "soon"}')
    log = log_of(tmp_path, "json")
    log.discover()
    with pytest.raises(InvalidValueError, match=r"b\.json is not the JSON that was declared"):
        log.next_positions({}, log.end(), Limits(rows=100))


def test_a_file_without_times_is_measured_once(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, rows=0, kind="csv")
    log = log_of(tmp_path, "csv")
    log.discover()
    alignment = AlignmentParameters("files", 30)
    assert log.next_positions({}, log.end(), Limits(rows=20), alignment) == {"": 1}
    text = (tmp_path / "log").read_text()
    (tmp_path / "in" / "a.csv").unlink()
    for again in (log, log_of(tmp_path, "csv")):
        assert again.next_positions({"": 1}, again.end(), Limits(rows=20), alignment) == {"": 1}
    assert (tmp_path / "log").read_text() == text


def test_rows_are_counted_whatever_the_columns_hold(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"tags": ["x"]}\n{"tags": []}\n')
    schema = pa.schema([("tags", pa.list_(pa.string()))])
    log = FileLog(tmp_path / "log", FileSource.json_lines(str(tmp_path / "in"), schema))
    log.discover()
    log.next_positions({}, log.end(), Limits(rows=1))
    assert log.files[""][0].rows == 2


def test_a_column_that_holds_no_times_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ts\nsoon\n")
    log = FileLog(tmp_path / "log", FileSource.csv(str(tmp_path / "in"), "ts string"), "ts")
    log.discover()
    with pytest.raises(InvalidTypeError, match=r"a\.csv: column 'ts': a timestamp is an integer .* got str"):
        log.next_positions({}, log.end(), Limits(rows=1), AlignmentParameters("files", 30))


# What happens around the job


def changing(folder: Path, on_changed_file: str = "fail") -> FileLog:
    return FileLog(folder / "log", FileSource.csv(str(folder / "in"), "ts long", on_changed_file=on_changed_file))


def test_a_log_that_was_deleted_is_refused_before_files_get_other_numbers(tmp_path: Path) -> None:
    for name in "ba":
        write(tmp_path / "in", name, 0)
        log_of(tmp_path).discover()
    (tmp_path / "log").unlink()
    log = log_of(tmp_path)
    with pytest.raises(
        SnapshotError, match="knows fewer files of the folder than the checkpoint has read: it was deleted"
    ):
        log.check({"": 1})
    assert not (tmp_path / "log").exists()


def test_a_log_that_lost_a_line_is_refused(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / "in", name, 0)
        log_of(tmp_path).discover()
    title, first, _, third = (tmp_path / "log").read_text().splitlines()
    (tmp_path / "log").write_text(f"{title}\n{first}\n{third}\n")
    with pytest.raises(SnapshotError, match="log cannot be read: file 1 of the folder is missing"):
        log_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "what"), [("ts\n1\n2\n3\n", "has 9 bytes and had 7"), ("ts\n1\n", "had 7"), ("ts\n8\n9\n", "again")]
)
def test_a_file_that_changed_is_an_error(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "in" / "a.csv"
    write(file.parent, "a", 1, rows=2, kind="csv")
    changing(tmp_path).discover()
    file.write_text(text)
    os.utime(file, ns=(1, 1))
    with pytest.raises(InvalidValueError, match=rf"{file} .*{what}.* since it was found, .* on_changed_file="):
        changing(tmp_path).discover()


def test_a_file_that_changed_can_be_left_as_it_was_read(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 1, rows=2, kind="csv")
    log = changing(tmp_path, "skip")
    log.discover()
    write(tmp_path / "in", "a", 1, rows=9, kind="csv")
    for again in (log, changing(tmp_path, "skip")):
        again.discover()
        assert (again.end(), again.num_changed) == ({"": 1}, 1)


def test_a_file_that_changed_can_be_read_again(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 1, rows=2, kind="csv")
    log = changing(tmp_path, "read")
    log.discover()
    write(tmp_path / "in", "a", 1, rows=9, kind="csv")
    for again in (log, changing(tmp_path, "read")):
        again.discover()
        assert (names(again, {"": 1}, again.end()), again.num_changed) == (["a"], 1)


def test_a_file_that_was_renamed_is_not_read_twice(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 1, kind="csv")
    changing(tmp_path).discover()
    (tmp_path / "in" / "a.csv").rename(tmp_path / "in" / "b.csv")
    with pytest.raises(InvalidValueError, match=r"a\.csv was renamed to .*b\.csv and would be read twice"):
        changing(tmp_path).discover()


def test_a_file_that_was_read_may_be_deleted(tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 1, kind="csv")
    changing(tmp_path).discover()
    (tmp_path / "in" / "a.csv").unlink()
    write(tmp_path / "in", "b", 1, kind="csv")
    log = changing(tmp_path)
    log.discover()
    assert names(log, {"": 1}, log.end()) == ["b"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_channel_starves_where_a_batch_is_smaller_than_their_number(tmp_path: Path, limit: int) -> None:
    channels = [f"c{number}" for number in range(5)]
    for channel in channels:
        for name in range(20):
            write(tmp_path / "in" / channel, f"{name:02d}", 0, rows=1, kind="csv")
    log = changing(tmp_path)
    log.discover()
    start: dict[str, int] = dict.fromkeys(channels, 0)
    for _ in range(10):
        start = log.next_positions(start, log.end(), Limits(files=limit))
        assert max(start.values()) - min(start.values()) <= 1
