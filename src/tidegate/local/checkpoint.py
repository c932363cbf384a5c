"""A local job's snapshot in a folder, from one run to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle

from tidegate.core.state.snapshot import Snapshot
from tidegate.storage.kept_file import KeptFile


def _file(folder: str) -> KeptFile:
    return KeptFile(Path(folder) / "local.snapshot", "local_job", 2)


def load(folder: str | None) -> Snapshot | None:
    """The snapshot in the folder, None if there is none."""
    if folder is None:
        return None
    file = _file(folder)
    snapshot: Any = file.load(cloudpickle.loads)
    if snapshot is not None and not isinstance(snapshot, dict):
        file.refuse("it is no snapshot")
    return snapshot


def save(folder: str | None, snapshot: Snapshot) -> None:
    """Write the snapshot; a crash while writing leaves the one before."""
    if folder is not None:
        _file(folder).write(cloudpickle.dumps(snapshot))
