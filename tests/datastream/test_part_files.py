from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.core.operator.sink import BatchId
from tidegate.datastream.part_files import PartCommitter, PartNames, PartWriter
from tidegate.errors import ClosedError, DeliveryError, InvalidValueError, SnapshotError


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


class Files:
    """A file sink as after a restart: one writer, and the committer."""

    def __init__(self, folder: Path, name: str = "job/sink", expected: BatchId | None = None) -> None:
        names = PartNames(folder, suffix=".txt")
        self.writer = PartWriter(names, name)
        self.committer = PartCommitter(names, name, [name])
        if expected is not None:
            self.committer.expect(expected)
        self.committer.open()
        self.committer.clean_up()

    def write(self, batch_id: int, *texts: str, bucket: str = "", token: str = "") -> None:
        """Begin a batch, and write to it."""
        self.writer.discard()
        self.committer.begin(BatchId(batch_id, token))
        for text in texts:
            self.add(text, bucket)

    def add(self, text: str, bucket: str = "") -> None:
        self.writer.file(bucket).write(text.encode())

    def commit(self) -> None:
        for file in self.writer.finish():
            self.committer.add(file)
        self.committer.commit()


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
    files = Files(tmp_path)
    files.write(0, "a", "b")
    assert visible(tmp_path) == []
    files.commit()
    assert visible(tmp_path) == ["ab"]


def test_an_empty_batch_leaves_no_file(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0)
    files.commit()
    assert visible(tmp_path) == []


def test_a_committed_batch_that_comes_again_is_not_written_again(tmp_path: Path) -> None:
    first = Files(tmp_path)
    first.write(0, "a")
    first.commit()
    second = Files(tmp_path)
    second.write(0, "a")
    second.commit()
    second.write(1, "b")
    second.commit()
    assert visible(tmp_path) == ["a", "b"]


def test_what_was_not_committed_goes_when_the_batch_begins_again(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0, "half")
    files.write(0, "whole")
    files.commit()
    assert visible(tmp_path) == ["whole"]


def test_what_a_crash_left_in_progress_goes_at_the_next_open(tmp_path: Path) -> None:
    crashed = Files(tmp_path)
    crashed.write(0, "half", bucket="x")
    Files(tmp_path)
    assert list(tmp_path.rglob("*.inprogress")) == []
    crashed.writer.discard()


@pytest.mark.parametrize("rename", range(3))
def test_a_crash_at_any_rename_of_a_commit_gives_each_bucket_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    crashed = Files(tmp_path)
    crashed.write(0, "a", bucket="x")
    crashed.add("b", "y")
    with monkeypatch.context() as patch:
        crash_at_rename(patch, rename)
        with pytest.raises(CrashError):
            crashed.commit()
    again = Files(tmp_path)
    assert visible(tmp_path) == ([] if rename == 0 else ["a", "b"])
    # A clock may choose other buckets this time.
    again.write(0, "a", "b", bucket="later")
    again.commit()
    assert visible(tmp_path) == (["ab"] if rename == 0 else ["a", "b"])


def test_another_job_writes_beside_what_is_there(tmp_path: Path) -> None:
    for job in ("one", "two"):
        files = Files(tmp_path, job)
        files.write(0, job)
        files.commit()
    assert sorted(visible(tmp_path)) == ["one", "two"]


def test_writers_without_an_id_do_not_meet(tmp_path: Path) -> None:
    for _ in range(2):
        files = Files(tmp_path, "")
        files.write(0, "x")
        files.commit()
    assert visible(tmp_path) == ["x", "x"]


def test_a_bucket_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path / "out")
    with pytest.raises(InvalidValueError, match=r"the bucket '\.\./other' is outside of"):
        files.add("x", "../other")


@pytest.mark.parametrize(("prefix", "suffix"), [("", ""), (".part", ""), ("_part", ""), ("a/b", ""), ("part", "/x")])
def test_names_that_readers_would_skip_are_refused(tmp_path: Path, prefix: str, suffix: str) -> None:
    with pytest.raises(InvalidValueError, match="part files: the prefix"):
        PartNames(tmp_path, prefix, suffix)


def test_committing_before_a_batch_has_begun_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClosedError, match="no batch has begun"):
        Files(tmp_path).commit()


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0, "a")
    files.commit()
    next(tmp_path.glob(".*.journal")).write_text("{")
    with pytest.raises(SnapshotError, match=r"\.journal cannot be read"):
        Files(tmp_path)


def test_a_bucket_has_one_form(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0)
    for number, bucket in enumerate(["de", "de/", "./de", "de//", "fr"] * 3):
        files.add(f"{number}\n", bucket)
    files.commit()
    lines = [line for text in visible(tmp_path) for line in text.splitlines()]
    assert sorted(map(int, lines)) == list(range(15))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["de", "fr"]


@pytest.mark.parametrize("bucket", ["_temporary", "de/.hidden", "_/de"])
def test_a_bucket_that_readers_would_skip_is_refused(tmp_path: Path, bucket: str) -> None:
    with pytest.raises(InvalidValueError, match="which readers of files skip"):
        Files(tmp_path).add("x", bucket)


def test_a_part_file_that_is_gone_at_the_commit_is_an_error(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0, "a")
    for hidden in tmp_path.rglob("*.inprogress"):
        hidden.unlink()
    with pytest.raises(DeliveryError, match="is gone before it was committed: something else writes to"):
        files.commit()
    again = Files(tmp_path)
    again.write(0, "a")
    again.commit()
    assert visible(tmp_path) == ["a"]


def test_a_part_file_that_another_has_written_to_is_an_error(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0, "a")
    (part,) = files.writer.finish()
    (tmp_path / part.name).write_text("abc")
    files.committer.add(part)
    with pytest.raises(DeliveryError, match="has 3 bytes where 1 were written"):
        files.committer.commit()


def test_a_number_that_comes_again_with_another_batch_replaces_what_was_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """So it is when a job goes on from an older copy of its checkpoint: a number is not a batch."""
    files = Files(tmp_path)
    for batch_id, text in enumerate(["a", "b", "c"]):
        files.write(batch_id, text, bucket=f"x={batch_id}", token=f"first {batch_id}")
        files.commit()
    restored = Files(tmp_path)
    for batch_id, text in [(1, "bc"), (2, "d")]:
        restored.write(batch_id, text, token=f"second {batch_id}")
        restored.commit()
    assert sorted(visible(tmp_path)) == ["a", "bc", "d"]
    assert "2 files of batches 1 to 2 are taken back and written again" in caplog.text


@pytest.mark.parametrize("rename", range(2))
def test_a_crash_while_files_are_taken_back_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    def commit(restored: Files) -> None:
        restored.write(1, "12", token="second")
        restored.commit()

    files = Files(tmp_path)
    for batch_id in range(3):
        files.write(batch_id, f"{batch_id}", token="first")
        files.commit()
    with monkeypatch.context() as patch:
        crash_at_rename(patch, rename + 1)
        restored = Files(tmp_path)
        with pytest.raises(CrashError):
            commit(restored)
    commit(Files(tmp_path))
    assert sorted(visible(tmp_path)) == ["0", "12"]


def test_of_two_copies_of_a_job_only_the_last_to_begin_commits(tmp_path: Path) -> None:
    first, second = Files(tmp_path), Files(tmp_path)
    first.write(0, "a", token="0")
    first.commit()
    second.write(1, "c", token="other")
    first.write(1, "b", token="1")
    with pytest.raises(ClosedError, match="another run of this job, from another copy of its checkpoint"):
        first.commit()
    second.commit()
    assert sorted(visible(tmp_path)) == ["a", "c"]


def test_a_copy_that_is_refused_leaves_the_job_that_runs_alone(tmp_path: Path) -> None:
    first = Files(tmp_path)
    for number, text in enumerate("ab"):
        first.write(number, text, token=str(number))
        first.commit()
    restored = Files(tmp_path)
    with pytest.raises(SnapshotError, match="files of batches 1 to 1, which came behind the savepoint"):
        restored.committer.begin(BatchId(1, "other", undoes=False))
    first.write(2, "c", token="2")
    first.commit()
    assert sorted(visible(tmp_path)) == ["a", "b", "c"]


def test_a_sink_that_opens_leaves_alone_what_another_has_committed_and_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sinks of one job write to one folder; a crash comes between the journal of the second and its files."""
    Files(tmp_path, "job/one")
    crashed = Files(tmp_path, "job/two")
    crashed.write(0, "a")
    with monkeypatch.context() as patch:
        crash_at_rename(patch, 1)
        with pytest.raises(CrashError):
            crashed.commit()
    assert visible(tmp_path) == []
    Files(tmp_path, "job/one")
    Files(tmp_path, "job/two")
    assert visible(tmp_path) == ["a"]


def test_a_folder_that_lacks_what_the_checkpoint_knows_is_refused(tmp_path: Path) -> None:
    """It was restored from an older copy, or another copy of the checkpoint has taken back what this one wrote."""
    files = Files(tmp_path)
    for batch_id in range(3):
        files.write(batch_id, f"{batch_id}", token="first")
        files.commit()
    assert (files.committer.last, files.committer.last.token) == (2, "first")
    copy = Files(tmp_path, expected=BatchId(0, "first"))
    copy.write(1, "1", token="second")
    copy.commit()
    for known in (BatchId(2, "first"), BatchId(1, "first")):
        with pytest.raises(SnapshotError, match="lacks files of batches that the checkpoint has committed"):
            Files(tmp_path, expected=known)
    Files(tmp_path, expected=BatchId(1, "second"))


def test_a_committed_file_that_is_gone_before_it_has_its_name_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed = Files(tmp_path)
    crashed.write(0, "a")
    with monkeypatch.context() as patch:
        crash_at_rename(patch, 1)
        with pytest.raises(CrashError):
            crashed.commit()
    for hidden in tmp_path.glob("*.inprogress"):
        hidden.unlink()
    with pytest.raises(DeliveryError, match="which was committed, is gone before it was given its name"):
        Files(tmp_path)


def test_files_that_readers_have_taken_away_are_not_missed(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(0, "a")
    files.commit()
    for part in tmp_path.glob("part-*"):
        part.unlink()
    Files(tmp_path, expected=BatchId(0))


def test_any_character_may_be_in_a_prefix(tmp_path: Path) -> None:
    names = PartNames(tmp_path, "a[1]*")
    for token, text in (("first", "x"), ("second", "y")):
        committer = PartCommitter(names, "s", ["w"])
        (tmp_path / names.hidden("w")).write_text("left behind")
        committer.open()
        committer.clean_up()
        committer.begin(BatchId(0, token))
        writer = PartWriter(names, "w")
        writer.file().write(text.encode())
        for file in writer.finish():
            committer.add(file)
        committer.commit()
    assert visible(tmp_path) == ["y"]
    assert not list(tmp_path.glob("*.inprogress"))
