"""A pause between two batches: whoever copies a checkpoint asks for it, whoever plans its batches keeps it."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tidegate.errors import SnapshotError
from tidegate.storage.kept_file import KeptFile

_LONGEST_SECONDS: Final = 60.0
"""A pause ends by itself: whoever asked for it may have been killed."""
_LOOK_SECONDS: Final = 0.02


@contextlib.contextmanager
def paused(folder: Path, wait_seconds: float) -> Iterator[None]:
    """While this is open the job of a checkpoint begins no batch, and none is under way."""
    name = uuid.uuid4().hex
    request, answer = _files(folder)
    request.write(json.dumps({"name": name, "until": time.time() + wait_seconds + _LONGEST_SECONDS}).encode())
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
        for file in (request, answer):
            file.path.unlink(missing_ok=True)


def rest_if_asked(folder: Path) -> None:
    """Between two batches: wait as long as somebody asks for it."""
    request, answer = _files(folder)
    answered = ""
    while request.path.exists():
        asked = request.load(json.loads)
        if asked is None or time.time() > asked["until"]:
            break
        if answered != asked["name"]:
            answered = asked["name"]
            answer.write(answered.encode())
        time.sleep(_LOOK_SECONDS)
    if answered:
        answer.path.unlink(missing_ok=True)


def _files(folder: Path) -> tuple[KeptFile, KeptFile]:
    return KeptFile(folder / "pause", "pause"), KeptFile(folder / "paused", "paused")
