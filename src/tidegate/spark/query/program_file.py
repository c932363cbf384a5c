"""The program of a checkpoint, in a file beside it: whether a job can go on from there, and who it is."""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import replace
from pathlib import Path

from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.errors import SnapshotError
from tidegate.spark.query.layout import PROGRAM, QUERY
from tidegate.storage.kept_file import KeptFile

_LOGGER = logging.getLogger("tidegate")


class ProgramFile:
    """Remembers the program that a checkpoint belongs to; the id of the job stays the same through restarts.

    A program that comes back changed is remembered when its first batch is done: until then it may still be refused,
    and the one before can go on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = KeptFile(folder / PROGRAM, "program")
        self.is_restart = False
        """Whether the checkpoint was there before."""

    def take(self, plan: PhysicalPlan) -> str:
        """Check that the program can go on from here. Returns the id of the job."""
        self._program = ProgramRecord.of(plan)
        saved = self._file.load(json.loads)
        if saved is None:
            self._check_new()
            self._job_id = uuid.uuid4().hex
            self._save()
            return self._job_id
        self.is_restart = True
        self._job_id = saved["job_id"]
        where = f"checkpoint {self._folder}"
        self._program, migrations = check_program(ProgramRecord.of_plain(saved["program"]), self._program, where)
        for sentence in migrations:
            _LOGGER.warning("%s", sentence)
        self._is_confirmed = False
        return self._job_id

    def confirm(self) -> None:
        """The program runs: from now on the checkpoint is its own."""
        if not self._is_confirmed:
            self._save()

    def save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        self._program = replace(self._program, has_ended=True)
        self._save()

    def _check_new(self) -> None:
        """Without the file nobody knows what the state of a query means; and a local job's is of no use here."""
        if (self._folder / "local.snapshot").exists():
            raise SnapshotError(
                f"checkpoint {self._folder} is of a job on the local runtime, which Spark cannot go on from; run it "
                "there, or use another folder"
            )
        if any((self._folder / QUERY / "offsets").glob("[0-9]*")):
            raise SnapshotError(
                f"checkpoint {self._folder} has a query and no program.json, which says what its state means; put the "
                "file back, or start from a new checkpoint"
            )

    def _save(self) -> None:
        content = {"job_id": self._job_id, "program": self._program.plain()}
        self._file.write(json.dumps(content, indent=1).encode())
        self._is_confirmed = True
