"""Who a checkpoint belongs to: one process at a time, and one that has lost it can commit nothing more."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from tidegate.errors import ClosedError, SnapshotError
from tidegate.storage.kept_file import PRIVATE, KeptFile, make_folder, usable

_HELD: Final[set[str]] = set()
"""The tokens of owners in this process."""
_BEAT_SECONDS: Final = 2.0
_SILENT_SECONDS: Final = 30.0
"""After so long without a sign an owner on another machine is taken for dead."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that runs a job, as its checkpoint knows it."""

    token: str
    host: str
    pid: int
    started: str
    """When the process started, in the words of its system: another process may get the same number later."""
    is_stopping: bool = False
    """Whether it has been told to stop: then nothing new is begun."""

    @staticmethod
    def new() -> Owner:
        pid = os.getpid()
        return Owner(uuid.uuid4().hex, socket.gethostname(), pid, _start_of(pid))

    def is_alive(self, silent_seconds: float) -> bool:
        if self.host == socket.gethostname():
            # One of this process that has let go may not have been able to say so: a disk may be full.
            has_let_go = self.pid == os.getpid() and self.token not in _HELD
            return not has_let_go and _start_of(self.pid) == self.started
        return silent_seconds < _SILENT_SECONDS

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Guard:
    """What commits ask, in whichever process they are: whether the checkpoint still is its owner's."""

    path: str
    token: str

    def check(self) -> Owner:
        """The owner, if it still is the one; an error if not."""
        owner = _file(Path(self.path)).load(_decode)
        folder = Path(self.path).parent
        if owner is None:
            raise ClosedError(
                f"nobody owns the checkpoint {folder}: the run of this query is over, or it was not started from the "
                "DataFrame of to_dataframe(); begin with that DataFrame, as in frame.join(other)"
            )
        if owner.token != self.token:
            raise ClosedError(
                f"the checkpoint {folder} was taken over by {owner}: this one commits nothing more; what it had not "
                "committed is done by its new owner"
            )
        return owner


class Ownership:
    """The right to a checkpoint folder. It is held while the process lives, and shows so by a file that it touches."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "owner.json"
        self._owner = Owner.new()
        self._is_taken = False
        self._stopped = threading.Event()

    @property
    def guard(self) -> Guard:
        return Guard(str(self._path), self._owner.token)

    def take(self) -> None:
        """Make the checkpoint ours. One that another process runs is refused; from a dead one it is taken over."""
        with usable(self._folder, "the checkpoint folder"):
            make_folder(self._folder, PRIVATE)
            self._take()
        self._is_taken = True
        _HELD.add(self._owner.token)
        self._stopped.clear()
        threading.Thread(target=self._beat, name="tidegate owner", daemon=True).start()

    def _take(self) -> None:
        with self._alone():
            before = _file(self._path).load(_decode)
            if before is not None and before.is_alive(time.time() - self._path.stat().st_mtime):
                raise SnapshotError(
                    f"the checkpoint {self._folder} belongs to {before}, which is running; two jobs on one checkpoint "
                    "would lose results: stop that one first, or use another folder"
                )
            _file(self._path).write(json.dumps(asdict(self._owner)).encode())

    def stop_soon(self) -> None:
        """Let whoever asks the guard know that nothing new is to be begun."""
        with contextlib.suppress(OSError, ClosedError, SnapshotError), self._alone():
            self.guard.check()
            _file(self._path).write(json.dumps(asdict(replace(self._owner, is_stopping=True))).encode())

    def release(self) -> None:
        """The run is over: whoever comes next need not wait."""
        self._stopped.set()
        if not self._is_taken:
            return
        _HELD.discard(self._owner.token)
        with contextlib.suppress(OSError, SnapshotError), self._alone():
            current = _file(self._path).load(_decode)
            if current is not None and current.token == self._owner.token:
                self._path.unlink(missing_ok=True)
        self._is_taken = False

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(self._path)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else decides about the owner meanwhile."""
        with (self._folder / ".owner.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _file(path: Path) -> KeptFile:
    return KeptFile(path, "owner")


def _decode(data: bytes) -> Owner:
    fields: dict[str, Any] = json.loads(data)
    return Owner(**fields)


def _start_of(pid: int) -> str:
    """When a process started, empty if there is none."""
    try:
        # The name of the command may hold anything; what follows it does not.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
