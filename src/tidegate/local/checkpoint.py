"""A local job's snapshot in a folder, from one run to the next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cloudpickle

from tidegate.core.state.snapshot import Snapshot
from tidegate.errors import SnapshotError

_FILE = "local.snapshot"


def load(folder: str | None) -> Snapshot | None:
    """The snapshot in the folder, None if there is none."""
    if folder is None or not (path := Path(folder) / _FILE).exists():
        return None
    try:
        snapshot: Any = cloudpickle.loads(path.read_bytes())
    except Exception as error:
        raise SnapshotError(
            f"{path} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder, or remove it "
            "to start from nothing"
        ) from error
    if not isinstance(snapshot, dict):
        raise SnapshotError(f"{path} is not a snapshot; choose another checkpoint folder")
    return snapshot


def save(folder: str | None, snapshot: Snapshot) -> None:
    """Write the snapshot; a crash while writing leaves the one before."""
    if folder is None:
        return
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    temporary = path / f"{_FILE}.tmp"
    temporary.write_bytes(cloudpickle.dumps(snapshot))
    os.replace(temporary, path / _FILE)
