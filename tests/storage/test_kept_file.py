"""A file is read as it was written last and wholly, or refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.errors import SnapshotError
from tidegate.storage.kept_file import KeptFile, damaged, put_in_place, write_whole

STORAGE = "tidegate.storage.kept_file"
KIND = "spool"
REFUSED = r"file cannot be read: {}; choose another checkpoint folder, or restore all of this one$"


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


@pytest.fixture(scope="module", autouse=True)
def without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{STORAGE}.os.fsync", lambda descriptor: None)
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One place for all examples of a law."""
    return tmp_path_factory.mktemp("kept") / "file"


def crash(*arguments: Any) -> None:
    raise CrashError


# What was written


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(), min_size=1, max_size=3))
def test_what_was_written_last_is_read(shared: Path, versions: list[bytes]) -> None:
    for data in versions:
        KeptFile(shared, KIND).write(data)
    assert KeptFile(shared, KIND).read() == versions[-1]


def test_nothing_is_read_where_nothing_was_written(path: Path) -> None:
    file = KeptFile(path, KIND)
    assert file.read() is None
    assert file.load(bytes.decode) is None


def test_what_was_written_is_decoded(path: Path) -> None:
    KeptFile(path, KIND).write(b"12")
    assert KeptFile(path, KIND).load(int) == 12


def test_what_cannot_be_decoded_is_refused_with_the_reason(path: Path) -> None:
    KeptFile(path, KIND).write(b"no number")
    with pytest.raises(SnapshotError, match=REFUSED.format("ValueError: invalid literal for int.*")):
        KeptFile(path, KIND).load(int)


def test_the_folder_is_made_and_holds_only_the_file(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "file"
    KeptFile(path, KIND).write(b"data")
    assert list(path.parent.iterdir()) == [path]


# Damage


def test_every_changed_byte_is_found(path: Path) -> None:
    KeptFile(path, KIND).write(b"a\n7")
    whole = path.read_bytes()
    for place, was in enumerate(whole):
        for byte in {0, 9, 10, 32, *b"+-_09afxAF", was ^ 1, was ^ 32, was ^ 128} - {was}:
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            with pytest.raises(SnapshotError, match=REFUSED.format(".*")):
                KeptFile(path, KIND).read()


@settings(max_examples=50, deadline=None)
@given(st.binary(), st.binary(min_size=1, max_size=3), st.data())
def test_a_file_that_is_cut_or_has_more_behind_it_is_refused(
    shared: Path, data: bytes, more: bytes, draw: st.DataObject
) -> None:
    KeptFile(shared, KIND).write(data)
    whole = shared.read_bytes()
    for damage in (whole[: draw.draw(st.integers(0, len(whole) - 1))], whole + more):
        shared.write_bytes(damage)
        with pytest.raises(SnapshotError, match=REFUSED.format("it (has|does not begin).*")):
            KeptFile(shared, KIND).read()


def test_wherever_a_file_is_cut_it_is_refused(path: Path) -> None:
    KeptFile(path, KIND).write(b"a\n7")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match=REFUSED.format("it (has|does not begin).*")):
            KeptFile(path, KIND).read()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it does not begin as a file of Tidegate does"),
        (b'{"version": 1}', "it does not begin as a file of Tidegate does"),
        (b"tidegate journal 1 8587d865 5\nabcde", "it is a file of kind 'journal', not 'spool'"),
        (b"tidegate spool 1 8587d865 5\nabcd", "it has 4 bytes where it should have 5"),
        (b"tidegate spool 1 8587d865 5\nabcdf", "it does not have its checksum"),
        (b"tidegate spool 2 8587d865 5\nabcde", "it has version 2, this Tidegate reads version 1"),
    ],
)
def test_the_refusal_says_what_is_wrong(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=REFUSED.format(why)):
        KeptFile(path, KIND).read()


def test_the_format_is_that_of_earlier_releases(path: Path) -> None:
    path.write_bytes(b"tidegate spool 1 8587d865 5\nabcde")
    assert KeptFile(path, KIND).read() == b"abcde"
    KeptFile(path, KIND).write(b"abcde")
    assert path.read_bytes() == b"tidegate spool 1 8587d865 5\nabcde"


def test_an_older_version_is_refused_by_a_newer_reader(path: Path) -> None:
    KeptFile(path, KIND, 1).write(b"data")
    with pytest.raises(SnapshotError, match=REFUSED.format("it has version 1, this Tidegate reads version 2")):
        KeptFile(path, KIND, 2).read()


def test_the_error_of_a_damaged_file_names_it_and_says_what_to_do(path: Path) -> None:
    assert str(damaged(path, "it is empty")) == (
        f"{path} cannot be read: it is empty; choose another checkpoint folder, or restore all of this one"
    )


# Crashes


@pytest.mark.parametrize("step", ["flush_to_disk", "put_in_place", "os.replace"])
def test_a_crash_before_a_file_is_put_in_place_leaves_the_one_before(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = KeptFile(path, KIND)
    file.write(b"before")
    with monkeypatch.context() as patch:
        patch.setattr(f"{STORAGE}.{step}", crash)
        with pytest.raises(CrashError):
            file.write(b"after, and longer")
    assert KeptFile(path, KIND).read() == b"before"
    file.write(b"again")
    assert KeptFile(path, KIND).read() == b"again"
    assert list(path.parent.iterdir()) == [path]


def test_a_crash_before_the_first_file_is_put_in_place_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{STORAGE}.os.replace", crash)
    with pytest.raises(CrashError):
        KeptFile(path, KIND).write(b"data")
    assert KeptFile(path, KIND).read() is None


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to the disk, in order."""
    done: list[str] = []
    replace = os.replace

    def flushed(descriptor: int) -> None:
        status = os.fstat(descriptor)
        done.append("flush folder" if stat.S_ISDIR(status.st_mode) else f"flush {status.st_size} bytes")

    def replaced(source: Any, target: Any) -> None:
        done.append("replace")
        replace(source, target)

    monkeypatch.setattr(f"{STORAGE}.os.fsync", flushed)
    monkeypatch.setattr(f"{STORAGE}.os.replace", replaced)
    return done


def test_data_is_on_disk_before_the_file_has_its_name_and_the_name_when_writing_returns(
    path: Path, steps: list[str]
) -> None:
    write_whole(path, b"data")
    assert steps == ["flush 4 bytes", "replace", "flush folder"]


def test_a_file_that_was_written_elsewhere_is_put_in_place_for_good(path: Path, steps: list[str]) -> None:
    hidden = path.with_name(".hidden")
    hidden.write_bytes(b"data")
    put_in_place(hidden, path)
    assert steps == ["replace", "flush folder"]
    assert path.read_bytes() == b"data"
    assert not hidden.exists()
