from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream.part_files import PartFiles
from tidegate.errors import ClosedError, DeliveryError, InvalidValueError, SnapshotError


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


def writer(folder: Path) -> PartFiles:
    """A writer as after a restart."""
    files = PartFiles(folder, "job/sink", suffix=".txt")
    files.open()
    return files


def write(files: PartFiles, batch_id: int, *texts: str, bucket: str = "") -> None:
    files.begin(batch_id)
    for text in texts:
        files.write(text.encode(), bucket)


def visible(folder: Path) -> list[str]:
    """What a reader sees: the files without a dot in front."""
    return [path.read_text() for path in sorted(folder.rglob("[!.]*")) if path.is_file()]


def crash_at_rename(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the renames before `number` happen, counted from 0, and fail there."""
    calls: list[str] = []

    def replace(source: Any, target: Any) -> None:
        calls.append(str(source))
        if len(calls) > number:
            raise CrashError
        os.rename(source, target)

    monkeypatch.setattr("tidegate.storage.kept_file.os.replace", replace)


def test_a_file_is_seen_only_after_the_commit(tmp_path: Path) -> None:
    files = writer(tmp_path)
    write(files, 0, "a", "b")
    assert visible(tmp_path) == []
    files.commit()
    assert visible(tmp_path) == ["ab"]


def test_an_empty_batch_leaves_no_file(tmp_path: Path) -> None:
    files = writer(tmp_path)
    write(files, 0)
    files.commit()
    assert visible(tmp_path) == []


def test_a_committed_batch_that_comes_again_is_not_written_again(tmp_path: Path) -> None:
    first = writer(tmp_path)
    write(first, 0, "a")
    first.commit()
    second = writer(tmp_path)
    write(second, 0, "a")
    assert second.is_repeated
    second.commit()
    write(second, 1, "b")
    second.commit()
    assert visible(tmp_path) == ["a", "b"]


def test_what_was_not_committed_goes_when_the_batch_begins_again(tmp_path: Path) -> None:
    files = writer(tmp_path)
    write(files, 0, "half")
    write(files, 0, "whole")
    files.commit()
    assert visible(tmp_path) == ["whole"]


def test_what_a_crash_left_in_progress_goes_at_the_next_open(tmp_path: Path) -> None:
    crashed = writer(tmp_path)
    write(crashed, 0, "half", bucket="x")
    writer(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    crashed.discard()


@pytest.mark.parametrize("rename", range(3))
def test_a_crash_at_any_rename_of_a_commit_gives_each_bucket_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    crashed = writer(tmp_path)
    write(crashed, 0, "a", bucket="x")
    crashed.write(b"b", "y")
    with monkeypatch.context() as patch:
        crash_at_rename(patch, rename)
        with pytest.raises(CrashError):
            crashed.commit()
    again = writer(tmp_path)
    assert visible(tmp_path) == ([] if rename == 0 else ["a", "b"])
    again.begin(0)
    # A clock may choose other buckets this time.
    again.write(b"a", "later")
    again.write(b"b", "later")
    again.commit()
    assert visible(tmp_path) == (["ab"] if rename == 0 else ["a", "b"])


def test_another_job_writes_beside_what_is_there(tmp_path: Path) -> None:
    for job in ("one", "two"):
        files = PartFiles(tmp_path, job)
        files.open()
        write(files, 0, job)
        files.commit()
    assert sorted(visible(tmp_path)) == ["one", "two"]


def test_writers_without_an_id_do_not_meet(tmp_path: Path) -> None:
    for _ in range(2):
        files = PartFiles(tmp_path)
        files.open()
        write(files, 0, "x")
        files.commit()
    assert visible(tmp_path) == ["x", "x"]


def test_a_bucket_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    files = writer(tmp_path / "out")
    files.begin(0)
    with pytest.raises(InvalidValueError, match=r"the bucket '\.\./other' is outside of"):
        files.write(b"x", "../other")


@pytest.mark.parametrize(("prefix", "suffix"), [("", ""), (".part", ""), ("_part", ""), ("a/b", ""), ("part", "/x")])
def test_names_that_readers_would_skip_are_refused(tmp_path: Path, prefix: str, suffix: str) -> None:
    with pytest.raises(InvalidValueError, match="part files: the prefix"):
        PartFiles(tmp_path, prefix=prefix, suffix=suffix)


def test_writing_before_a_batch_has_begun_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClosedError, match="no batch has begun"):
        writer(tmp_path).write(b"x")


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    files = writer(tmp_path)
    write(files, 0, "a")
    files.commit()
    next(tmp_path.glob(".*.journal")).write_text("{")
    with pytest.raises(SnapshotError, match=r"\.journal cannot be read"):
        writer(tmp_path)


def test_a_bucket_has_one_form(tmp_path: Path) -> None:
    files = writer(tmp_path)
    files.begin(0)
    for number, bucket in enumerate(["de", "de/", "./de", "de//", "fr"] * 3):
        files.write(f"{number}\n".encode(), bucket)
    files.commit()
    lines = [line for text in visible(tmp_path) for line in text.splitlines()]
    assert sorted(map(int, lines)) == list(range(15))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["de", "fr"]


@pytest.mark.parametrize("bucket", ["_temporary", "de/.hidden", "_/de"])
def test_a_bucket_that_readers_would_skip_is_refused(tmp_path: Path, bucket: str) -> None:
    files = writer(tmp_path)
    files.begin(0)
    with pytest.raises(InvalidValueError, match="which readers of files skip"):
        files.write(b"x", bucket)


def test_a_part_file_that_is_gone_at_the_commit_is_an_error(tmp_path: Path) -> None:
    files = writer(tmp_path)
    write(files, 0, "a")
    for hidden in tmp_path.rglob("*.inprogress"):
        hidden.unlink()
    with pytest.raises(DeliveryError, match="is gone before it was committed: something else writes to"):
        files.commit()
    assert not writer(tmp_path).is_repeated
