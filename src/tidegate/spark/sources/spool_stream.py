"""The spool as a source of Spark's: positions count its files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from tidegate.engine.plan import PhysicalPlan, PlannedSource, PlannedTask
from tidegate.errors import SnapshotError
from tidegate.spark.batch_log import OFFSETS, last_batch
from tidegate.spark.sources.packet_stream import PacketStreamReader, Positions
from tidegate.spark.sources.spool import is_noted, raise_failure, read_rows, spooled
from tidegate.spark.wire.packets import record_batch
from tidegate.storage.pause import rest_if_asked

_FILES: Final = "next"
_SUBTASKS: Final = "subtasks"
_RESCALES: Final = "rescales"

WHOLE_PROGRAM: Final = "*"
"""Stands for all operators that have no parallelism of their own."""


@dataclass
class _Files(InputPartition):
    """Files for one task."""

    paths: list[str]


def last_position(query: Path) -> int:
    """How far a query has planned to read the spool, by the log of its offsets; 0 before any.

    If the log is damaged Spark says so when the query starts.
    """
    last = last_batch(query, OFFSETS)
    lines = [] if last is None else (query / OFFSETS / str(last)).read_bytes().splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return int(json.loads(line)[SpoolStreamReader.counts][_FILES])
    return 0


def subtasks_of(plan: PhysicalPlan) -> dict[str, int]:
    """The number of subtasks of the program, and of each operator that has another."""
    tasks = (node for node in plan.nodes if isinstance(node, PlannedTask | PlannedSource))
    own = {node.uid: node.parallelism for node in tasks if node.parallelism != plan.parallelism}
    return {WHOLE_PROGRAM: plan.parallelism, **own}


class SpoolStreamReader(PacketStreamReader):
    """Reads the files of a spool in order, and deletes those whose batches are done.

    The last file and the last with a note stay: so no number is given twice, and the next writer finds the note.
    """

    counts = "spool"
    rests_at_stop = False

    def __init__(self, folder: str | None, tasks: int, subtasks: Mapping[str, int], num_rescales: int = 0) -> None:
        """Without a folder nothing is fed, and nothing can be. `subtasks` are those of the program, by uid.

        `num_rescales` is how often the checkpoint was rescaled.
        """
        super().__init__()
        self._num_rescales = num_rescales
        self._folder = folder
        self._tasks = tasks
        self._subtasks = dict(subtasks)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        if self._folder is not None:
            # Every query with a folder asks here before each batch, when the one before it is committed.
            rest_if_asked(Path(self._folder).parent)
        return super().latestOffset(start, limit)

    def is_limited(self) -> bool:
        return False

    def end(self) -> Positions:
        if self._folder is None:
            return {_FILES: 0}
        return {_FILES: max((number + 1 for number, _ in spooled(Path(self._folder))), default=0)}

    def facts(self) -> dict[str, Any]:
        if self._folder is not None:
            raise_failure(Path(self._folder))
        return {_SUBTASKS: self._subtasks, _RESCALES: self._num_rescales}

    def check_facts(self, known: Mapping[str, Any]) -> None:
        """The subtasks of operators are those of the query's last run: keys are shared out among them.

        Unless they were shared out anew since.
        """
        if known.get(_RESCALES, 0) < self._num_rescales:
            return
        for uid, count in known.get(_SUBTASKS, {}).items():
            now = self._subtasks.get(uid, count)
            if now != count:
                what = "the parallelism" if uid == WHOLE_PROGRAM else f"the parallelism of the operator {uid!r}"
                raise SnapshotError(
                    f"{what} was {count} when this query ran before and is {now} now: keys would lose their state; run "
                    "it as it was, or rescale it first: tidegate rescale CHECKPOINT PROGRAM.py --parallelism N"
                )

    def next_positions(self, start: Positions, until: Positions) -> Positions:
        return until

    def splits(self, start: Positions, end: Positions) -> Sequence[InputPartition]:
        if self._folder is None:
            return []
        folder = Path(self._folder)
        begin, until = start.get(_FILES, 0), end[_FILES]
        known = dict(spooled(folder))
        paths = [str(known.get(number, folder / f"{number:012d}.spool")) for number in range(begin, until)]
        return [_Files(paths[task :: self._tasks]) for task in range(min(self._tasks, len(paths)))]

    def packets(self, split: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(split, _Files)
        for path in split.paths:
            yield record_batch(read_rows(Path(path)))

    def done(self, end: Positions) -> None:
        if self._folder is None:
            return
        files = spooled(Path(self._folder))
        noted = [number for number, path in files if is_noted(path)]
        staying = {*noted[-1:], *(number for number, _ in files[-1:])}
        for number, path in files:
            if number < end[_FILES] and number not in staying:
                path.unlink(missing_ok=True)
