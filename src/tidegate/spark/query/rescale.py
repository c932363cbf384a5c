"""Rescales the checkpoint of a stopped job: its state, its positions and its sinks, for another parallelism.

What is done is written down first, so that a rescale that was killed goes on where it was when it is called again.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import cloudpickle
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.engine.rescaling import Rescaling, graph_as_saved, with_saved_groups
from tidegate.errors import SnapshotError
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.batch_log import COMMITS, OFFSETS, last_batch
from tidegate.spark.query.batch_states import BatchStates
from tidegate.spark.query.layout import QUERY, RESCALED, SINKS_STATE, SPOOL
from tidegate.spark.query.program_file import ProgramFile, RescaleRecord
from tidegate.spark.query.repartition import check_session, num_partitions, repartition
from tidegate.spark.query.session import STATE_SETTINGS, applied
from tidegate.spark.sources.spool import is_noted, spooled
from tidegate.spark.sources.spool_stream import last_position
from tidegate.spark.state.placement import group_keys
from tidegate.spark.state.processor import STATE_NAME
from tidegate.spark.state.rescaled_state import Dumping, Sharing
from tidegate.storage.kept_file import PRIVATE, flush_folder, make_folder

_LOGGER = logging.getLogger("tidegate")
_ROWS_AT_ONCE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_DUMPS: Final = "dumps"
_COUNTS: Final = "stage int, subtask int, blobs long, bytes long"


class Rescaled(NamedTuple):
    """What a rescale has done."""

    before: int
    after: int
    num_blobs: int
    num_bytes: int


class Rescale:
    """One checkpoint, on its way to another parallelism. Whoever makes it owns the folder."""

    def __init__(self, folder: Path, graph: StreamGraph, options: PlanOptions, parallelism: int) -> None:
        """`graph` is the program with any parallelism: operators that were given none get the new one."""
        self._folder = folder
        self._query = folder / QUERY
        self._program = ProgramFile(folder)
        saved = self._program.record
        if saved is None:
            raise SnapshotError(f"{folder} is no checkpoint of a job on Spark: it has no program.json")
        options = with_saved_groups(options, saved, parallelism)
        self._saved = saved
        self.graph_before = self.as_saved(graph)
        """The program as it was: for what has to be ended before."""
        self._before = lower(self.graph_before, options)
        self._after = lower(replace(graph, default_parallelism=parallelism), options)
        _, migrations = check_program(saved, ProgramRecord.of(self._before), f"checkpoint {folder}")
        for sentence in migrations:
            _LOGGER.warning("%s", sentence)
        self._rescaling = Rescaling(self._before, self._after)
        self._rescaling.check()

    def as_saved(self, graph: StreamGraph) -> StreamGraph:
        """The program with the parallelism that it had."""
        return graph_as_saved(graph, self._saved)

    @property
    def is_settled(self) -> bool:
        """Whether nothing has to be ended with the old parallelism: a batch, or elements on their way to subtasks."""
        known = self._program.last_rescale
        if known is not None and not known.is_done:
            # It was settled when the rescale began; a batch that is not ended is that of Spark's repartition.
            return True
        if not (self._folder / SPOOL).is_dir():
            return self._has_ended_last_batch
        position = last_position(self._query)
        waits = any(is_noted(path) and number >= position for number, path in spooled(self._folder / SPOOL))
        return not waits and self._has_ended_last_batch

    def run(self, session: SparkSession) -> Rescaled:
        """Rescale; what was done by one that was killed is not done again."""
        check_session(session)
        record = self._begin()
        shares = self._folder / RESCALED / str(record.number)
        with applied(session, STATE_SETTINGS):
            return self._run(session, record, shares)

    def _run(self, session: SparkSession, record: RescaleRecord, shares: Path) -> Rescaled:
        counts = (0, 0)
        if not shares.is_dir():
            counts = self._share(session, record, shares)
        is_repartitioned = num_partitions(self._query) == self._after.parallelism
        if not is_repartitioned or not self._has_ended_last_batch:
            repartition(session, self._query, self._after.parallelism)
        self._rescale_sinks(record)
        self._program.end_rescale(self._after, last_batch(self._query, COMMITS))
        for old in shares.parent.iterdir():
            if old.name != shares.name:
                shutil.rmtree(old, ignore_errors=True)
        return Rescaled(self._before.parallelism, self._after.parallelism, *counts)

    def _begin(self) -> RescaleRecord:
        last = last_batch(self._query, COMMITS)
        if last is None:
            raise SnapshotError(
                f"no batch of the job in {self._folder} was ever done, so there is nothing to rescale; remove the "
                "folder, and start with the parallelism that you want"
            )
        known = self._program.last_rescale
        if known is not None and known.is_done and last <= known.last_batch:
            raise SnapshotError(
                f"checkpoint {self._folder} was rescaled to parallelism {known.after} and has not run since; start it "
                "once, and then rescale it"
            )
        return self._program.begin_rescale(self._before, self._after.parallelism, last)

    def _share(self, session: SparkSession, record: RescaleRecord, shares: Path) -> tuple[int, int]:
        """Dump the state of the old subtasks, and write what the new ones begin with."""
        dumps, unfinished = shares.with_name(_DUMPS), shares.with_name(f"{shares.name}.new")
        for folder in (dumps, unfinished):
            shutil.rmtree(folder, ignore_errors=True)
            make_folder(folder, PRIVATE)
        self._dump(session, record, dumps)
        plans = [cloudpickle.dumps(plan.for_workers()) for plan in (self._before, self._after)]
        sharing = Sharing(record.number, str(dumps), str(unfinished), *plans)
        subtasks = [(stage, i) for stage in range(self._after.num_stages) for i in range(self._after.parallelism)]
        rows = session.range(0, len(subtasks), 1, len(subtasks))
        counts = rows.mapInArrow(partial(_share_rows, sharing, subtasks), _COUNTS).collect()
        shutil.rmtree(dumps)
        unfinished.rename(shares)
        flush_folder(shares.parent)
        return sum(row.blobs for row in counts), sum(row.bytes for row in counts)

    def _dump(self, session: SparkSession, record: RescaleRecord, folder: Path) -> None:
        dumping = Dumping(str(folder), group_keys(self._before.parallelism), self._before.num_stages, record.number - 1)
        for operator in self._operators(session):
            blobs = (
                session.read.format("statestore")
                .option("operatorId", operator)
                .option("stateVarName", STATE_NAME)
                .load(str(self._query))
                .select(
                    F.col("key.gid").alias("gid"),
                    F.col("user_map_key.name").alias("name"),
                    F.col("user_map_value.data").alias("data"),
                )
            )
            # Blobs are large: as many as Spark would hand over at once might not fit into memory.
            with applied(session, {_ROWS_AT_ONCE: "64"}):
                blobs.mapInArrow(partial(_dump_rows, dumping), _COUNTS).collect()

    def _operators(self, session: SparkSession) -> list[int]:
        """Spark's numbers of the operators that are ours; behind a DataFrame there may be others."""
        rows = session.read.format("state-metadata").load(str(self._query)).collect()
        return sorted({row.operatorId for row in rows if STATE_NAME in (row.operatorProperties or "")})

    def _rescale_sinks(self, record: RescaleRecord) -> None:
        path = self._folder / SINKS_STATE
        if path.exists():
            states = BatchStates(path, {})
            states.save(record.batch, self._rescaling.sinks(states.last))

    @property
    def _has_ended_last_batch(self) -> bool:
        return last_batch(self._query, OFFSETS) == last_batch(self._query, COMMITS)


def _dump_rows(dumping: Dumping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (
        (gid, name, data)
        for batch in batches
        for gid, name, data in zip(*(batch[name].to_pylist() for name in ("gid", "name", "data")), strict=True)
    )
    yield _counted(dumping.dump(rows))


def _share_rows(
    sharing: Sharing, subtasks: list[tuple[int, int]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch["id"].to_pylist():
            stage, subtask = subtasks[number]
            yield _counted([(stage, subtask, *sharing.share(stage, subtask))])


def _counted(rows: list[tuple[int, int, int, int]]) -> pa.RecordBatch:
    columns: Any = list(zip(*rows, strict=True)) if rows else [()] * 4
    kinds = (pa.int32(), pa.int32(), pa.int64(), pa.int64())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, ["stage", "subtask", "blobs", "bytes"])
