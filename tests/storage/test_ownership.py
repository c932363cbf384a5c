"""One owner for a checkpoint: a second is refused, a dead one is followed, and who has lost it commits nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.errors import ClosedError, SnapshotError
from tidegate.storage import ownership
from tidegate.storage.ownership import Guard, Owner, Ownership


def taken(folder: Path) -> Ownership:
    owner = Ownership(folder)
    owner.take()
    return owner


def in_another_process(folder: Path, then: str) -> subprocess.Popen[str]:
    """A process that takes a checkpoint, says so, and goes on as it is told."""
    program = f"""
        import os, sys, time
        from pathlib import Path
        from tidegate.storage.ownership import Ownership
        Ownership(Path(sys.argv[1])).take()
        print("taken", flush=True)
        {then}
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    return process


def test_a_second_owner_is_refused_until_the_first_has_let_go(tmp_path: Path) -> None:
    first = taken(tmp_path)
    with pytest.raises(SnapshotError, match=rf"belongs to process {os.getpid()} on .*, which is running; .* stop that"):
        taken(tmp_path)
    first.guard.check()
    first.release()
    taken(tmp_path).release()


def test_a_checkpoint_of_another_process_is_refused_while_it_lives_and_taken_over_when_it_was_killed(
    tmp_path: Path,
) -> None:
    with in_another_process(tmp_path, "time.sleep(60)") as process:
        try:
            with pytest.raises(SnapshotError, match=f"belongs to process {process.pid} on"):
                taken(tmp_path)
        finally:
            process.kill()
    taken(tmp_path).release()


def test_who_has_lost_a_checkpoint_is_told_by_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = taken(tmp_path)
    guard = first.guard
    monkeypatch.setattr(Owner, "is_alive", lambda self, silent_seconds: False)
    second = taken(tmp_path)
    with pytest.raises(ClosedError, match=rf"was taken over by process {os.getpid()} on .* commits nothing more"):
        guard.check()
    # Letting go of what one has lost takes nothing from the new owner.
    first.release()
    second.guard.check()
    second.release()
    with pytest.raises(ClosedError, match="nobody owns the checkpoint"):
        Guard(second._path.as_posix(), "gone").check()


def test_a_number_that_another_process_has_now_is_not_taken_for_the_owner(tmp_path: Path) -> None:
    with in_another_process(tmp_path, "time.sleep(60)") as process:
        try:
            owner = Owner("token", socket.gethostname(), process.pid, ownership._start_of(process.pid))
            assert owner.is_alive(0.0)
            assert not replace(owner, started="long ago").is_alive(0.0)
        finally:
            process.kill()


def test_an_owner_on_another_machine_lives_as_long_as_it_gives_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = replace(Owner.new(), host="elsewhere")
    assert elsewhere.is_alive(ownership._SILENT_SECONDS - 1)
    assert not elsewhere.is_alive(ownership._SILENT_SECONDS + 1)


def test_an_owner_gives_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_BEAT_SECONDS", 0.01)
    owner = taken(tmp_path)
    os.utime(tmp_path / "owner.json", (0, 0))
    for _ in range(500):
        if (tmp_path / "owner.json").stat().st_mtime > 0:
            break
        owner._stopped.wait(0.01)
    assert (tmp_path / "owner.json").stat().st_mtime > 0
    owner.release()


def test_one_of_this_process_that_could_not_say_that_it_let_go_is_no_owner(tmp_path: Path) -> None:
    first = taken(tmp_path)
    # Its file cannot be removed, as on a disk that is read-only by now.
    kept = (tmp_path / "owner.json").read_bytes()
    first.release()
    (tmp_path / "owner.json").write_bytes(kept)
    taken(tmp_path).release()
