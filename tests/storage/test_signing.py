"""With a key, only what was written with the same key is read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tidegate.errors import InvalidValueError, SnapshotError
from tidegate.storage.kept_file import KeptFile
from tidegate.storage.kept_log import KeptLog
from tidegate.storage.signing import KEY_VARIABLE, seal, unseal

KEY = "a key that nobody guesses"


@pytest.fixture
def with_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def written(folder: Path) -> tuple[KeptFile, KeptLog]:
    file, log = KeptFile(folder / "a.file", "thing"), KeptLog(folder / "a.log", "things")
    file.write(b"data")
    log.append([{"n": 1}])
    log.append([{"n": 2}])
    return file, log


def test_what_is_signed_is_read_with_its_key(tmp_path: Path, with_key: None) -> None:
    file, log = written(tmp_path)
    assert file.read() == b"data"
    assert log.read() == [{"n": 1}, {"n": 2}]
    assert unseal(seal(b"state", "a"), "a") == b"state"


@pytest.mark.parametrize(
    ("writes_with", "reads_with", "why"),
    [
        (None, KEY, "it is not signed, and TIDEGATE_CHECKPOINT_KEY is set here"),
        (KEY, None, "it is signed, and TIDEGATE_CHECKPOINT_KEY is not set here"),
        (KEY, "another key of the same kind", "it was not signed with the key of TIDEGATE_CHECKPOINT_KEY"),
    ],
)
def test_what_was_written_with_another_key_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes_with: str | None, reads_with: str | None, why: str
) -> None:
    if writes_with is not None:
        monkeypatch.setenv(KEY_VARIABLE, writes_with)
    file, log = written(tmp_path)
    sealed = seal(b"state", "a")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    if reads_with is not None:
        monkeypatch.setenv(KEY_VARIABLE, reads_with)
    for read in (file.read, log.read, lambda: unseal(sealed, "a")):
        with pytest.raises(SnapshotError, match=why):
            read()


def test_nothing_signed_can_stand_for_another(tmp_path: Path, with_key: None) -> None:
    """A file under another name, an entry in another log, a blob of another subtask."""
    file, log = written(tmp_path)
    file.path.rename(tmp_path / "b.file")
    log.path.rename(tmp_path / "b.log")
    for read in (
        KeptFile(tmp_path / "b.file", "thing").read,
        KeptLog(tmp_path / "b.log", "things").read,
        lambda: unseal(seal(b"state", "a"), "b"),
    ):
        with pytest.raises(SnapshotError, match="was not signed with the key"):
            read()


def test_a_short_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(
        InvalidValueError, match=r"has 5 bytes; a key that nobody guesses has 16 or more: make one with"
    ):
        KeptFile(tmp_path / "a", "thing").write(b"")


def test_folders_that_are_made_are_for_their_owner_alone(tmp_path: Path) -> None:
    written(tmp_path / "kept" / "deep")
    for folder in (tmp_path / "kept", tmp_path / "kept" / "deep"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
