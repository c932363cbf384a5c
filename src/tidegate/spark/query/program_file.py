"""The program of a checkpoint, in a file beside it: whether a job can go on from there, and who it is."""

from __future__ import annotations

import json
import logging
import shutil
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.engine.rescaling import with_saved_groups
from tidegate.errors import SnapshotError
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.batch_log import COMMITS, OFFSETS, last_batch
from tidegate.spark.query.layout import PROGRAM, QUERY, RESCALED
from tidegate.spark.state.rescaled_state import RescaledState
from tidegate.storage.kept_file import KeptFile

_LOGGER = logging.getLogger("tidegate")


def lowered(graph: StreamGraph, options: PlanOptions, folder: Path | None) -> PhysicalPlan:
    """The plan of a program that runs on Spark, with the key groups of its checkpoint if there is one."""
    record = None if folder is None else ProgramFile(folder).record
    return lower(graph, options if record is None else with_saved_groups(options, record, graph.default_parallelism))


@dataclass(frozen=True, slots=True)
class RescaleRecord:
    """A change of parallelism. `batch` is the last before it."""

    number: int
    before: int
    after: int
    batch: int
    is_done: bool = False
    empty_batch: int | None = None
    """The one that Spark has made for it, without anything for the sinks; None where it had nothing to do."""

    @property
    def last_batch(self) -> int:
        """The last batch that the checkpoint had when it was rescaled."""
        return self.batch if self.empty_batch is None else self.empty_batch


@dataclass(frozen=True, slots=True)
class RestoreRecord:
    """Where a checkpoint comes from, and whether sinks may take back what they have got since."""

    savepoint: str
    undoes: bool


class ProgramFile:
    """Remembers the program that a checkpoint belongs to; the id of the job stays the same through restarts.

    A program that comes back changed is remembered when its first batch is done: until then it may still be refused,
    and the one before can go on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = KeptFile(folder / PROGRAM, "program", 2)
        self.is_restart = False
        """Whether the checkpoint was there before."""
        self.rescaling: RescaleRecord | None = None
        """The last rescale of the checkpoint."""
        self.restored: RestoreRecord | None = None
        """The savepoint that the checkpoint was made of, until the first batch behind it."""

    @property
    def content(self) -> dict[str, Any] | None:
        """What the file holds, None if there is none."""
        return self._file.load(json.loads)

    @property
    def record(self) -> ProgramRecord | None:
        """The program of the checkpoint, None if there is none yet."""
        saved = self._file.load(json.loads)
        return None if saved is None else ProgramRecord.of_plain(saved["program"])

    def take(self, plan: PhysicalPlan) -> str:
        """Check that the program can go on from here. Returns the id of the job."""
        self._program = ProgramRecord.of(plan)
        saved = self._load()
        if saved is None:
            self._check_new()
            self._job_id = uuid.uuid4().hex
            self._save()
            return self._job_id
        if self.rescaling is not None and not self.rescaling.is_done:
            raise SnapshotError(
                f"checkpoint {self._folder} was being rescaled to parallelism {self.rescaling.after}, which has not "
                f"ended; let it: tidegate rescale {self._folder} PROGRAM.py --parallelism {self.rescaling.after}"
            )
        self.is_restart = True
        self._forget_rescaled()
        self._program, migrations = check_program(saved, self._program, f"checkpoint {self._folder}")
        for sentence in migrations:
            _LOGGER.warning("%s", sentence)
        self._is_confirmed = False
        return self._job_id

    @property
    def rescaled_state(self) -> RescaledState | None:
        """What the subtasks begin with that have not run since the last rescale."""
        if self.rescaling is None:
            return None
        return RescaledState(self.rescaling.number, str(self._folder / RESCALED / str(self.rescaling.number)))

    @property
    def num_retired(self) -> int:
        """How many subtasks there were before the last rescale, if some of them may still hold state."""
        return 0 if self.rescaling is None else self.rescaling.before

    @property
    def last_rescale(self) -> RescaleRecord | None:
        """The last rescale of the checkpoint, as the file has it."""
        self._load()
        return self.rescaling

    def mark_restored(self, savepoint: str, *, undoes: bool) -> None:
        """The checkpoint was made of a savepoint: sinks may have got more since, which they take back only if asked."""
        record = self._load()
        assert record is not None
        self._program = record
        self.restored = RestoreRecord(savepoint, undoes)
        self._save()

    def begin_rescale(self, before: PhysicalPlan, after: int, batch: int) -> RescaleRecord:
        """A rescale begins behind a batch, or goes on: from now on nobody can start the job until it has ended."""
        saved = self._load()
        assert saved is not None
        # What is migrated was told before.
        self._program, _ = check_program(saved, ProgramRecord.of(before), f"checkpoint {self._folder}")
        if self.rescaling is None or self.rescaling.is_done:
            number = 1 if self.rescaling is None else self.rescaling.number + 1
            self.rescaling = RescaleRecord(number, before.parallelism, after, batch)
            self._save()
        elif self.rescaling.after != after:
            raise SnapshotError(
                f"checkpoint {self._folder} is being rescaled to parallelism {self.rescaling.after}, which must end "
                f"first: tidegate rescale {self._folder} PROGRAM.py --parallelism {self.rescaling.after}"
            )
        return self.rescaling

    def end_rescale(self, after: PhysicalPlan, last_batch: int | None) -> None:
        """The state is where the new subtasks find it."""
        assert self.rescaling is not None
        empty = last_batch if last_batch != self.rescaling.batch else None
        self.rescaling = replace(self.rescaling, is_done=True, empty_batch=empty)
        self._program = self._program.rescaled(after)
        self._save()

    def confirm(self) -> None:
        """The program runs: from now on the checkpoint is its own."""
        if not self._is_confirmed:
            self.restored = None
            self._save()

    def save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        self._program = replace(self._program, has_ended=True)
        self._save()

    def _load(self) -> ProgramRecord | None:
        saved = self._file.load(json.loads)
        if saved is None:
            return None
        self._job_id = saved["job_id"]
        self.rescaling = None if saved["rescaling"] is None else RescaleRecord(**saved["rescaling"])
        self.restored = None if saved["restored"] is None else RestoreRecord(**saved["restored"])
        return ProgramRecord.of_plain(saved["program"])

    def _forget_rescaled(self) -> None:
        """Remove what a rescale has left, once a batch behind it is done: in the first every subtask takes its own."""
        last = last_batch(self._folder / QUERY, COMMITS)
        if self.rescaling is not None and last is not None and last > self.rescaling.last_batch:
            shutil.rmtree(self._folder / RESCALED, ignore_errors=True)

    def _check_new(self) -> None:
        """Without the file nobody knows what the state of a query means; and a local job's is of no use here."""
        if (self._folder / "local.snapshot").exists():
            raise SnapshotError(
                f"checkpoint {self._folder} is of a job on the local runtime, which Spark cannot go on from; run it "
                "there, or use another folder"
            )
        if last_batch(self._folder / QUERY, OFFSETS) is not None:
            raise SnapshotError(
                f"checkpoint {self._folder} has a query and no program.json, which says what its state means; put the "
                "file back, or start from a new checkpoint"
            )

    def _save(self) -> None:
        rescaling = None if self.rescaling is None else asdict(self.rescaling)
        restored = None if self.restored is None else asdict(self.restored)
        content = {
            "job_id": self._job_id,
            "program": self._program.plain(),
            "rescaling": rescaling,
            "restored": restored,
        }
        self._file.write(json.dumps(content, indent=1).encode())
        self._is_confirmed = True
