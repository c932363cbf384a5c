"""A pause between two batches: whoever copies a checkpoint asks for it, whoever plans its batches keeps it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tidegate.errors import SnapshotError
from tidegate.storage.kept_file import KeptFile

_BEAT_SECONDS: Final = 0.5
_SILENT_SECONDS: Final = 5.0
"""A pause ends by itself when whoever asked for it has given no sign for so long: it may have been killed."""
_LOOK_SECONDS: Final = 0.02


@contextlib.contextmanager
def paused(folder: Path, wait_seconds: float) -> Iterator[None]:
    """While this is open the job of a checkpoint begins no batch, and none is under way."""
    name = uuid.uuid4().hex
    request, answer = _files(folder)
    request.write(json.dumps({"name": name}).encode())
    over = threading.Event()
    threading.Thread(target=_beat, args=(request.path, over), name="tidegate pause", daemon=True).start()
    try:
        deadline = time.monotonic() + wait_seconds
        while answer.load(bytes.decode) != name:
            if time.monotonic() > deadline:
                raise SnapshotError(
                    f"the job of {folder} did not come to the end of a batch within {wait_seconds:.0f} s; is it "
                    "running? Try again, or stop it first"
                )
            time.sleep(_LOOK_SECONDS)
        yield
        if answer.load(bytes.decode) != name:
            raise SnapshotError(f"the pause of the job in {folder} was over too soon: nothing was kept; try again")
    finally:
        over.set()
        for file in (request, answer):
            file.path.unlink(missing_ok=True)


def rest_if_asked(folder: Path) -> None:
    """Between two batches: wait as long as somebody asks for it."""
    request, answer = _files(folder)
    answered = ""
    while (age := _age(request.path)) is not None:
        asked = request.load(json.loads)
        if asked is None:
            break
        if age > _SILENT_SECONDS:
            request.path.unlink(missing_ok=True)
            break
        if answered != asked["name"]:
            answered = asked["name"]
            answer.write(answered.encode())
        time.sleep(_LOOK_SECONDS)
    if answered:
        answer.path.unlink(missing_ok=True)


def _beat(path: Path, over: threading.Event) -> None:
    while not over.wait(_BEAT_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(path)


def _age(path: Path) -> float | None:
    """How long ago a file was touched, None if there is none."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return None


def _files(folder: Path) -> tuple[KeptFile, KeptFile]:
    return KeptFile(folder / "pause", "pause"), KeptFile(folder / "paused", "paused")
