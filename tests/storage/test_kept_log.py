"""A log gives back the entries that counted, in their order, or is refused."""

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
from tidegate.storage.kept_log import KeptLog

STORAGE = "tidegate.storage.kept_file"
KIND = "files"
TITLE = b"tidegate files 1\n"
REFUSED = r"log cannot be read: {}; choose another checkpoint folder, or restore all of this one$"
ENTRIES = [{"path": "ä\n"}, [1, None], "", 62]
"""The checksum of the last begins with two zeros."""

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
JSON = st.recursive(PLAIN, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part))


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


@pytest.fixture(scope="module", autouse=True)
def without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{STORAGE}.os.fsync", lambda descriptor: None)
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One place for all examples of a law."""
    return tmp_path_factory.mktemp("kept") / "log"


def written(path: Path, *parts: list[Any]) -> bytes:
    """A new log, each part by a process of its own."""
    path.unlink(missing_ok=True)
    for part in parts:
        KeptLog(path, KIND).append(part)
    return path.read_bytes() if path.exists() else b""


# What was written


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(JSON, max_size=3), max_size=4))
def test_entries_are_read_in_the_order_in_which_they_were_written(shared: Path, parts: list[list[Any]]) -> None:
    written(shared, *parts)
    assert KeptLog(shared, KIND).read() == [entry for part in parts for entry in part]


def test_a_log_without_entries_has_no_file(path: Path) -> None:
    log = KeptLog(path, KIND)
    assert log.read() == []
    log.append([])
    assert not path.exists()


def test_reading_changes_nothing(path: Path) -> None:
    written(path, ENTRIES)
    before = path.stat()
    KeptLog(path, KIND).read()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_folder_is_made(tmp_path: Path) -> None:
    log = KeptLog(tmp_path / "not" / "there" / "log", KIND)
    log.append(ENTRIES)
    assert log.read() == ENTRIES


def test_the_format_is_that_of_earlier_releases(path: Path) -> None:
    assert written(path, [{"a": 1}], [2]) == TITLE + b'fba18e97 {"a": 1}\n1ad5be0d 2\n'


# Crashes


def test_a_part_of_an_entry_at_the_end_never_counted_and_the_log_goes_on_without_it(path: Path) -> None:
    whole = written(path, ENTRIES)
    ends = [len(written(path, ENTRIES[:count])) for count in range(1, len(ENTRIES) + 1)]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        counted = ENTRIES[: sum(end <= length for end in ends)]
        assert KeptLog(path, KIND).read() == counted
        KeptLog(path, KIND).append(["more"])
        assert KeptLog(path, KIND).read() == [*counted, "more"]


@settings(max_examples=50, deadline=None)
@given(st.lists(JSON, min_size=1, max_size=3), st.data())
def test_wherever_a_log_is_cut_the_entries_before_are_read(
    shared: Path, entries: list[Any], data: st.DataObject
) -> None:
    whole = written(shared, entries)
    shared.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    num_whole_lines = shared.read_bytes().count(b"\n")
    assert KeptLog(shared, KIND).read() == entries[: max(num_whole_lines - 1, 0)]


def test_a_crash_while_the_end_is_cut_off_leaves_the_log_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: Any) -> None:
        raise CrashError

    whole = written(path, ENTRIES)
    path.write_bytes(whole[:-3])
    with monkeypatch.context() as patch:
        patch.setattr(f"{STORAGE}.os.replace", crash)
        with pytest.raises(CrashError):
            KeptLog(path, KIND).read()
    assert path.read_bytes() == whole[:-3]
    assert KeptLog(path, KIND).read() == ENTRIES[:-1]


def test_entries_are_on_disk_when_appending_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int | str] = []

    def note(descriptor: int) -> None:
        status = os.fstat(descriptor)
        flushed.append("folder" if stat.S_ISDIR(status.st_mode) else status.st_size)

    monkeypatch.setattr(f"{STORAGE}.os.fsync", note)
    first = len(written(path, [1]))
    assert flushed == [first, "folder"]
    KeptLog(path, KIND).append([2, 3])
    assert flushed == [first, "folder", path.stat().st_size]


# Damage


def test_every_changed_byte_is_found(path: Path) -> None:
    whole = written(path, ENTRIES)
    for place, was in enumerate(whole):
        for byte in {0, 9, 10, 32, *b"+-_09afxAF", was ^ 1, was ^ 32, was ^ 128} - {was}:
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            with pytest.raises(SnapshotError, match=REFUSED.format("(it does not begin|line [2-5]:).*")):
                KeptLog(path, KIND).read()


@settings(max_examples=50, deadline=None)
@given(st.lists(JSON, min_size=2, max_size=4, unique_by=repr), st.data())
def test_an_entry_that_is_missing_a_byte_before_the_end_is_found(
    shared: Path, entries: list[Any], data: st.DataObject
) -> None:
    whole = written(shared, entries)
    place = data.draw(st.integers(0, whole[:-1].rindex(b"\n")))
    shared.write_bytes(whole[:place] + whole[place + 1 :])
    with pytest.raises(SnapshotError):
        KeptLog(shared, KIND).read()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no log\n", "it does not begin with 'tidegate files 1'"),
        (b"tidegate offsets 1\n", "it does not begin with 'tidegate files 1'"),
        (b"tidegate files 2\n", "it does not begin with 'tidegate files 1'"),
        (b"tidegate files 12\n", "it does not begin with 'tidegate files 1'"),
        (TITLE + b"1ad5be0d 2\n00000000 3\n", "line 3: it does not have its checksum"),
        (TITLE + b"\n", "line 2: it does not have its checksum"),
        (TITLE + b"1AD5BE0D 2\n", "line 2: it does not have its checksum"),
        (TITLE + b"1ad5be0d 2 ", "line 2: it does not end as a line does"),
        (TITLE + b"8cdc1683 x\n", "line 2: Expecting value.*"),
    ],
)
def test_the_refusal_says_what_is_wrong(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=REFUSED.format(why)):
        KeptLog(path, KIND).read()
    assert path.read_bytes() == content
