"""The program of a checkpoint, in a file beside it: whether a job can go on from there, and who it is."""

from __future__ import annotations

import json
import logging
import uuid
from pathlib import Path
from typing import Any

from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.storage.kept_file import KeptFile

_LOGGER = logging.getLogger("tidegate")


class ProgramFile:
    """Remembers the program that a checkpoint belongs to; the id of the job stays the same through restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = KeptFile(folder / "program.json", "program")
        self._content: dict[str, Any] = {}

    def take(self, plan: PhysicalPlan) -> str:
        """Check that the program can go on from here, and remember it. Returns the id of the job."""
        program = ProgramRecord.of(plan)
        saved = self._file.load(json.loads)
        job_id = uuid.uuid4().hex
        if saved is not None:
            job_id = saved["job_id"]
            where = f"checkpoint {self._folder}"
            for sentence in check_program(ProgramRecord.of_plain(saved["program"]), program, where):
                _LOGGER.warning("%s", sentence)
        self._save(job_id=job_id, program=program.plain())
        return job_id

    def save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        self._save(program=self._content["program"] | {"has_ended": True})

    def _save(self, **content: Any) -> None:
        self._content |= content
        self._file.write(json.dumps(self._content, indent=1).encode())
