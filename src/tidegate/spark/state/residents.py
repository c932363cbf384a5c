"""Subtasks that stay in their worker over batches, with their functions open.

Spark ends workers without a word, and a subtask may come to another worker in the next batch. So what is saved in the
state store counts: a resident goes on from memory only if it was the last to save there.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import cloudpickle

from tidegate.core.columnar.table_cache import TableCache
from tidegate.engine.clocks import real_clock
from tidegate.engine.functions import SubtaskFunctions
from tidegate.engine.messages import Message
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.program import check_stage_formats, stage_formats
from tidegate.engine.subtask import Outbox, Subtask
from tidegate.engine.wiring import BatchTime, Surroundings
from tidegate.errors import SnapshotError
from tidegate.spark.state.blob_state import BlobState
from tidegate.spark.state.blobs import SubtaskBlobs
from tidegate.spark.state.rescaled_state import RescaledState
from tidegate.spark.state.saved_subtask import SUBTASK, SavedState, decode_head, decode_subtask, encode_subtask

_NUM_SAVERS: Final = 64
"""How many of those who saved a subtask are remembered; one that is not opens its functions anew."""
_OF_QUERY: Final = "/"
_FORGET_SECONDS: Final = 600.0
"""Residents that were not needed for so long belong to a job that is over."""


@dataclass(frozen=True, slots=True)
class RunOfJob:
    """One run of a job: its plan as bytes, so that every subtask makes its own of it, and who it is."""

    job_id: str
    run_id: str
    plan: bytes
    location: str | None = None
    """Where its query must be kept, if somebody else starts it."""
    is_started_by_user: bool = False
    """Whether somebody else starts the query, and may do so again: then each start is a run of its own."""
    rescaled: RescaledState | None = None
    """The last rescale of its checkpoint: subtasks that have not begun behind it begin with what it left for them."""

    def of_query(self, query_run: str | None) -> RunOfJob:
        """This run in one run of its query, as Spark names that."""
        return replace(self, run_id=f"{self.run_id}{_OF_QUERY}{query_run}") if self.is_started_by_user else self

    def is_closed_by(self, run_id: str | None) -> bool:
        """Whether a run that ends is this one."""
        return self.run_id.partition(_OF_QUERY)[0] == run_id

    def load_plan(self) -> PhysicalPlan:
        plan: PhysicalPlan = cloudpickle.loads(self.plan)
        return plan


class Resident:
    """One subtask of one stage, in this worker."""

    def __init__(self, run: RunOfJob, stage: int, index: int, tables: TableCache) -> None:
        self.run = run
        self._stage = stage
        self._index = index
        self._tables = tables
        self._time = BatchTime()
        self._saver = uuid.uuid4().bytes
        self._num_batches = -1
        self._savers: dict[bytes, int] = {}
        self._subtask: Subtask | None = None
        self._state = BlobState(tables)
        self._renew_functions()
        self.used_at = time.monotonic()

    def run_batch(self, blobs: SubtaskBlobs, messages: Iterable[Message], now: int) -> Outbox:
        """One batch on the state that the store has."""
        self.used_at = time.monotonic()
        self._time.now = now
        subtask = self._on(blobs)
        sent = subtask.run(messages)
        self._save(subtask, blobs)
        if self.run.is_closed_by(subtask.closing_run):
            self.close()
        return sent

    def close(self) -> None:
        """The input has ended, this run stops, or another begins: functions are closed."""
        if self._subtask is not None:
            self._subtask.close()
            self._subtask = None

    def _on(self, blobs: SubtaskBlobs) -> Subtask:
        """The subtask as the store has it: the one in memory, if nobody has saved since."""
        data = blobs.get(SUBTASK, is_there=self._subtask is not None)
        saver, num_batches = (b"", -1) if data is None else decode_head(data)
        if self._subtask is not None and (saver, num_batches) == (self._saver, self._num_batches):
            self._state.begin(blobs)
            return self._subtask
        saved = self._behind_rescale(None if data is None else decode_subtask(data), blobs)
        self._savers = {} if saved is None else saved.savers
        if self._subtask is not None:
            self._subtask.discard()
        if self._num_batches >= 0 and self._savers.get(self._saver) != self._num_batches:
            # What this one did in its last batch does not count: so neither do its functions.
            self._renew_functions()
        check_stage_formats({} if saved is None else saved.formats, self._plan, self._stage)
        self._state = BlobState(self._tables, None if saved is None else saved.stores)
        self._state.begin(blobs)
        surroundings = Surroundings(
            self._time,
            real_clock=real_clock,
            is_restart=saved is None or saved.run != self.run.run_id,
            job_id=self.run.job_id,
        )
        self._subtask = Subtask(
            self._plan,
            self._stage,
            self._index,
            self._functions,
            self._state,
            surroundings,
            None if saved is None else saved.subtask,
        )
        self._num_batches = num_batches
        return self._subtask

    def _behind_rescale(self, saved: SavedState | None, blobs: SubtaskBlobs) -> SavedState | None:
        """What a subtask goes on from: what is saved, or what the last rescale has left, if it has not begun there."""
        rescaled = self.run.rescaled
        known, number = 0 if saved is None else saved.rescaled, 0 if rescaled is None else rescaled.number
        if known > number:
            raise SnapshotError(
                f"the state of stage {self._stage} was rescaled {known} times, program.json knows of {number}: the "
                "checkpoint was put together from different times; restore all of it"
            )
        if rescaled is None or known == number:
            return saved
        blobs.clear()
        for name, blob in rescaled.blobs(self._stage, self._index):
            blobs.put(name, blob)
        data = blobs.get(SUBTASK)
        return None if data is None else decode_subtask(data)

    def _save(self, subtask: Subtask, blobs: SubtaskBlobs) -> None:
        snapshot = subtask.snapshot()
        self._num_batches += 1
        self._savers.pop(self._saver, None)
        self._savers = dict([*self._savers.items(), (self._saver, self._num_batches)][-_NUM_SAVERS:])
        number = 0 if self.run.rescaled is None else self.run.rescaled.number
        saved = SavedState(
            self._stage, number, self.run.run_id, self._formats, self._savers, snapshot, self._state.finish()
        )
        blobs.put(SUBTASK, encode_subtask(self._saver, self._num_batches, saved))

    def _renew_functions(self) -> None:
        self._plan = self.run.load_plan()
        self._formats = stage_formats(self._plan, self._stage)
        self._functions = SubtaskFunctions(self._index, self._time, makes_copies=False)


class Residents:
    """The subtasks of all jobs in this worker."""

    def __init__(self) -> None:
        self._tables = TableCache()
        self._residents: dict[tuple[str, int, int], Resident] = {}

    def run_batch(
        self, run: RunOfJob, stage: int, index: int, blobs: SubtaskBlobs, messages: Iterable[Message], now: int
    ) -> Outbox:
        """One batch of a subtask. One that fails is thrown away, with its functions."""
        subtask = (run.job_id, stage, index)
        resident = self._residents.pop(subtask, None)
        if resident is None or resident.run.run_id != run.run_id:
            self._close(resident)
            self._forget_unused()
            resident = Resident(run, stage, index, self._tables)
        sent = resident.run_batch(blobs, messages, now)
        self._residents[subtask] = resident
        return sent

    def _forget_unused(self) -> None:
        deadline = time.monotonic() - _FORGET_SECONDS
        for subtask in [subtask for subtask, resident in self._residents.items() if resident.used_at < deadline]:
            self._close(self._residents.pop(subtask))

    @staticmethod
    def _close(resident: Resident | None) -> None:
        """Close what a run before has left; its errors are not those of the run that goes on."""
        if resident is not None:
            with contextlib.suppress(Exception):
                resident.close()


RESIDENTS: Final = Residents()
"""Those of this worker."""
