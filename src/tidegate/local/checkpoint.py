"""A local job's snapshot in a folder, from one run to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle

from tidegate.core.state.snapshot import Snapshot
from tidegate.errors import SnapshotError
from tidegate.storage.kept_file import KeptFile
from tidegate.storage.ownership import Ownership


class Checkpoint:
    """The folder of a job, which is its owner's from `load` to `release`. Without a folder nothing is kept."""

    def __init__(self, folder: str | None) -> None:
        self._file = None if folder is None else KeptFile(Path(folder) / "local.snapshot", "local_job", 4)
        self._ownership = None if folder is None else Ownership(Path(folder))

    def load(self) -> Snapshot | None:
        """The snapshot in the folder, None if there is none."""
        if self._file is None or self._ownership is None:
            return None
        if self._file.path.with_name("program.json").exists():
            raise SnapshotError(
                f"checkpoint {self._file.path.parent} is of a job on Spark, which the local runtime cannot go on from; "
                "run it on Spark, or use another folder"
            )
        self._ownership.take()
        snapshot: Any = self._file.load(cloudpickle.loads)
        if snapshot is not None and not isinstance(snapshot, dict):
            self._file.refuse("it is no snapshot")
        return snapshot

    def save(self, take_snapshot: Callable[[], Snapshot]) -> None:
        """Write a snapshot; a crash while writing leaves the one before."""
        if self._file is not None and self._ownership is not None:
            self._ownership.guard.check()
            self._file.write(cloudpickle.dumps(take_snapshot()))

    def release(self) -> None:
        if self._ownership is not None:
            self._ownership.release()

    @contextlib.contextmanager
    def released_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.release()
            raise
