"""Savepoints: copies of a checkpoint to start a job from later, taken while it runs or when it is stopped."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tidegate.errors import InvalidValueError, SnapshotError
from tidegate.spark.batch_log import COMMITS, last_batch
from tidegate.spark.query.layout import PROGRAM, QUERY
from tidegate.spark.query.program_file import ProgramFile
from tidegate.storage.kept_file import PRIVATE, KeptFile, flush_folder, flush_to_disk, make_folder, usable
from tidegate.storage.ownership import Ownership
from tidegate.storage.pause import paused

CONTENTS: Final = "checkpoint"
"""The copy, inside of a savepoint."""
_STATE: Final = f"{QUERY}/state"
_NOT_COPIED: Final = frozenset(["owner.json", ".owner.lock", "pause", "paused"])
_WAIT_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Savepoint:
    """What is known of a savepoint; `batch` is the last that it holds."""

    path: str
    job_id: str
    taken_at: float
    batch: int
    parallelism: int
    num_bytes: int
    was_running: bool

    @staticmethod
    def of(path: Path) -> Savepoint:
        saved = _file(path).load(json.loads)
        if saved is None:
            raise InvalidValueError(f"{path} is no savepoint: it has no savepoint.json")
        return Savepoint(**{**saved, "path": str(path)})


def take_savepoint(checkpoint: Path, folder: Path, wait_seconds: float = _WAIT_SECONDS) -> Savepoint:
    """Copy a checkpoint into a new folder below `folder`.

    A job that runs makes a pause between two batches meanwhile, as long as it takes to link its files.
    """
    if not (checkpoint / PROGRAM).exists():
        raise InvalidValueError(f"{checkpoint} is no checkpoint of a job on Spark: it has no {PROGRAM}")
    if folder.resolve().is_relative_to(checkpoint.resolve()):
        raise InvalidValueError(
            f"{folder} is inside of the checkpoint, so every savepoint would hold those before it; give another folder"
        )
    links = checkpoint / f".savepoint-{uuid.uuid4().hex}"
    ownership = Ownership(checkpoint)
    try:
        with contextlib.ExitStack() as stack:
            was_running = not _is_taken(ownership, stack)
            if was_running:
                stack.enter_context(paused(checkpoint, wait_seconds))
            _link(checkpoint, links)
        return _keep(links, folder, was_running=was_running)
    finally:
        shutil.rmtree(links, ignore_errors=True)


def list_savepoints(folder: Path) -> list[Savepoint]:
    """The savepoints below a folder, the oldest first."""
    if not folder.is_dir():
        raise InvalidValueError(f"there is no folder {folder}")
    found = [Savepoint.of(path.parent) for path in folder.glob("*/savepoint.json")]
    return sorted(found, key=lambda savepoint: savepoint.taken_at)


def restore_savepoint(path: Path, checkpoint: Path, *, undoes: bool) -> Savepoint:
    """Make a checkpoint of a savepoint, which stays as it is. `undoes` lets sinks take back what they have since."""
    savepoint = Savepoint.of(path)
    if checkpoint.exists() and any(checkpoint.iterdir()):
        raise InvalidValueError(
            f"{checkpoint} is not empty; give a folder that is empty or does not exist, or move this one away"
        )
    unfinished = checkpoint.with_name(f".{checkpoint.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    with usable(checkpoint, "the checkpoint folder"):
        make_folder(unfinished, PRIVATE)
    if _copy(path / CONTENTS, unfinished) != savepoint.num_bytes:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise SnapshotError(
            f"{path} is not whole: files of it are gone or were changed; restore all of it, or use another"
        )
    ProgramFile(unfinished).mark_restored(str(path), undoes=undoes)
    if checkpoint.exists():
        checkpoint.rmdir()
    unfinished.rename(checkpoint)
    flush_folder(checkpoint.parent)
    return savepoint


def _is_taken(ownership: Ownership, stack: contextlib.ExitStack) -> bool:
    """Whether nobody runs the job; then nobody can while it is copied."""
    try:
        ownership.take()
    except SnapshotError:
        return False
    stack.callback(ownership.release)
    return True


def _link(checkpoint: Path, links: Path) -> None:
    """Hold on to all files as they are: state never changes once it is written, the rest is small."""
    for path in _files_of(checkpoint):
        name = path.relative_to(checkpoint)
        (links / name).parent.mkdir(parents=True, exist_ok=True)
        # State that nothing refers to any more is removed all the time.
        with contextlib.suppress(FileNotFoundError):
            if name.as_posix().startswith(_STATE):
                _link_or_copy(path, links / name)
            else:
                shutil.copy2(path, links / name)


def _link_or_copy(path: Path, link: Path) -> None:
    try:
        os.link(path, link)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(path, link)


def _files_of(checkpoint: Path) -> Iterator[Path]:
    for path in sorted(checkpoint.rglob("*")):
        first = path.relative_to(checkpoint).parts[0]
        if first not in _NOT_COPIED and not first.startswith(".savepoint-") and path.is_file():
            yield path


def _keep(links: Path, folder: Path, *, was_running: bool) -> Savepoint:
    """Copy what was linked, for good."""
    program: dict[str, Any] | None = ProgramFile(links).content
    batch = last_batch(links / QUERY, COMMITS)
    if program is None or batch is None:
        raise SnapshotError("no batch of the job was ever done, so there is nothing to keep")
    now = time.time()
    with usable(folder, "the folder of savepoints"):
        make_folder(folder, PRIVATE)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-batch-{batch}-{uuid.uuid4().hex[:6]}"
    unfinished = path.with_name(f".{path.name}.new")
    num_bytes = _copy(links, unfinished / CONTENTS)
    savepoint = Savepoint(
        str(path), program["job_id"], now, batch, program["program"]["parallelism"], num_bytes, was_running
    )
    _file(unfinished).write(json.dumps(asdict(savepoint), indent=1).encode())
    unfinished.rename(path)
    flush_folder(folder)
    return savepoint


def _copy(source: Path, target: Path) -> int:
    """Copy a folder, so that it is on disk. Returns how many bytes it has."""
    make_folder(target, PRIVATE)
    num_bytes = 0
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_dir():
            copy.mkdir(PRIVATE, exist_ok=True)
            continue
        shutil.copy2(path, copy)
        with copy.open("rb+") as file:
            flush_to_disk(file)
        num_bytes += copy.stat().st_size
    return num_bytes


def _file(path: Path) -> KeptFile:
    return KeptFile(path / "savepoint.json", "savepoint")
