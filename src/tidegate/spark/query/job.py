"""A job on Spark: one streaming query, fed through the spool, with its sinks in the driver."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

import cloudpickle
from pyspark.sql import DataFrame

from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.engine.feeder import Feeder
from tidegate.engine.job_options import JobOptions
from tidegate.engine.lowering import TICK_MILLIS, lower
from tidegate.engine.messages import Closing, Ended, Message, Target, Tick
from tidegate.engine.plan import Reading
from tidegate.engine.sinks import Sinks
from tidegate.errors import InvalidValueError
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.query.compiler import SPOOL, compile_plan
from tidegate.spark.query.live_query import LiveQuery
from tidegate.spark.query.program_file import ProgramFile
from tidegate.spark.query.session import applied_settings, apply_settings, get_session, is_remote
from tidegate.spark.query.sink_batches import SinkBatches
from tidegate.spark.query.unstarted import forget_unstarted
from tidegate.spark.query.workers import check_workers
from tidegate.spark.sources.records import unheld_alignments
from tidegate.spark.sources.spool import Spool
from tidegate.spark.sources.spool_stream import last_position
from tidegate.spark.state.placement import group_keys
from tidegate.spark.state.residents import RunOfJob
from tidegate.spark.wire.result_columns import ResultColumns, Table
from tidegate.storage.ownership import Ownership

_LOGGER = logging.getLogger("tidegate")
_POLL_SECONDS: Final = 0.05
_READ_SECONDS: Final = 0.2
_SHORT_SECONDS: Final = 0.01
_STOP_SECONDS: Final = 10.0
"""How long a stop waits for functions to be closed, and for a batch to be committed."""
_GRACE_SECONDS: Final = 5.0
"""How long a stop waits for the end of a batch before it interrupts it."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a job runs on Spark."""

    spark: Any = None
    checkpoint: str | None = None
    trigger: str = "0 seconds"
    job: JobOptions = field(default_factory=JobOptions)


class SparkJob:
    """Runs a graph as a streaming query. `stop` and `drain` may be called from other threads."""

    def __init__(
        self, graph: StreamGraph, options: SparkOptions, name: str = "tidegate", *, owns_checkpoint: bool = True
    ) -> None:
        """A query that others start (`to_frame`) does not own its checkpoint."""
        self._options = options
        self._name = name
        self.plan = lower(graph, options.job.plan_options(has_workers=True))
        self._folder = Path(options.checkpoint or tempfile.mkdtemp(prefix="tidegate-"))
        self._is_temporary = options.checkpoint is None
        self._ownership = Ownership(self._folder)
        if owns_checkpoint:
            self._ownership.take()
        try:
            self._load_checkpoint()
        except BaseException:
            self._ownership.release()
            raise
        self._workers_read = [node for node in self.plan.sources if node.reading is not Reading.BY_DRIVER]
        self._has_frames = any(isinstance(node.source, DataFrameSource) for node in self._workers_read)
        for sentence in unheld_alignments(self.plan):
            _LOGGER.warning("%s", sentence)
        self._query = LiveQuery(self._start_query, self._folder)
        self._is_draining = False
        self._ending = threading.RLock()

    def _load_checkpoint(self) -> None:
        """Read what the checkpoint knows, now that it is ours."""
        self._program = ProgramFile(self._folder)
        job_id = self._program.take(self.plan)
        self._run = RunOfJob(job_id, uuid.uuid4().hex, cloudpickle.dumps(self.plan.for_workers()))
        self._group_keys = group_keys(self.plan.parallelism)
        self.spool = Spool(self._folder / SPOOL, self._group_keys, last_position(self._folder / "query"))
        self.sinks = Sinks(self.plan, self._options.job.clock, job_id)
        self._batches = SinkBatches(
            self.sinks,
            self._group_keys,
            self._folder,
            check_owner=self._check_owner,
            on_commit=self._program.confirm,
        )

    @property
    def last_progress(self) -> Any:
        """What Spark says of the last batch."""
        return self._query.last_progress

    def run(self) -> None:
        """Run until every source has ended, or until `stop`."""
        feeder = self._create_feeder()
        try:
            self.start()
            feeder.start()
            self._feed(feeder)
            if not self._query.is_stopping:
                self._complete()
        finally:
            feeder.stop()
            self.finish()

    def start(self) -> None:
        """Open the sinks and start the query. After a restart every subtask runs once, to say how far time is."""
        self._batches.open()
        if self._program.is_restart:
            self._write(self._to_everybody(Tick()))
        self._query.start()

    def process_all(self) -> None:
        """Wait until everything that is in the spool has been processed."""
        self._query.process_all()
        self._batches.take()

    def finish(self) -> None:
        """Stop the query and close the sinks; what a temporary checkpoint held goes."""
        with self._ending:
            self._query.end()
        self._batches.close()
        self._ownership.release()
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop soon: a batch that is about to end may do so, and then functions are closed.

        One that goes on is interrupted, and done again by whoever goes on from the checkpoint, unless the sinks have
        its results: then it is let through first.
        """
        with self._ending:
            self._query.is_stopping = True
            try:
                self._await(lambda: self._query.is_idle, _GRACE_SECONDS)
                if self._query.is_idle:
                    self._close_functions()
                self._batches.refuse_more()
                self._await(lambda: self._query.is_idle or self._batches.is_running)
            finally:
                self._query.end()

    def drain(self) -> None:
        self._is_draining = True

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        return self.sinks.metrics() | self._source_metrics()

    def _source_metrics(self) -> dict[str, list[dict[str, int]]]:
        """What sources that workers read tell with the offsets of the last batch; the spool comes before them."""
        progress = self._query.last_progress
        offsets = [] if progress is None else [source["endOffset"] for source in progress["sources"]][1:]
        found = {}
        for node, offset in zip(self._workers_read, offsets, strict=False):
            facts = {name: count for name, count in _as_dict(offset).items() if isinstance(count, int)}
            if facts:
                found[node.uid] = [facts]
        return found

    def to_frame(self, tables: list[Table]) -> DataFrame:
        """The results as a streaming DataFrame; its user starts the query, this feeds it as long as the driver runs.

        The settings of the session stay as the query needs them.
        """
        self._refuse_sinks({table.number for table in tables})
        session = get_session(self._options.spark, self.plan.parallelism)
        check_workers(session)
        apply_settings(session, self.plan.parallelism, has_frames=self._has_frames)
        self._program.confirm()
        results = ResultColumns(session, self.plan, tables)
        frame = compile_plan(session, self.plan, self._run, self._group_keys, self._folder, results)
        threading.Thread(target=self._keep_fed, name="tidegate feeder", daemon=True).start()
        return frame

    def tick(self) -> None:
        """Make a batch in which every subtask of every stage looks at the clock."""
        self._write({Target(0, subtask): [Tick()] for subtask in range(self.plan.parallelism)})

    def end_input(self) -> None:
        """Put the end of all input into the spool; behind it functions are closed."""
        messages = self._to_everybody(Closing(self._run.run_id))
        for subtask in range(self.plan.parallelism):
            messages[Target(0, subtask)].append(Ended())
        self._write(messages)

    # Starting

    def _start_query(self) -> Any:
        forget_unstarted(self._folder / "query")
        session = get_session(self._options.spark, self.plan.parallelism)
        with applied_settings(session, self.plan.parallelism, has_frames=self._has_frames):
            packets = compile_plan(
                session, self.plan, self._run, self._group_keys, self._folder, guard=self._ownership.guard
            )
            return (
                packets.writeStream.queryName(self._name.replace("`", "'"))
                .foreachBatch(self._batches.function(is_remote=is_remote(session)))
                .option("checkpointLocation", str(self._folder / "query"))
                .trigger(**self._trigger())
                .start()
            )

    def _trigger(self) -> dict[str, Any]:
        if self._options.trigger == "availableNow" or (self._workers_read and self._ends_by_itself()):
            return {"availableNow": True}
        return {"processingTime": self._options.trigger}

    def _ends_by_itself(self) -> bool:
        return self._is_draining or all(node.source.is_bounded for node in self._workers_read)

    def _refuse_sinks(self, ends: set[int]) -> None:
        for node in self.plan.sinks:
            if node.number not in ends:
                raise InvalidValueError(
                    f"to_dataframe: the sink {node.name!r} would get nothing; its query belongs to whoever starts it, "
                    "so take the sink out of the program and use foreachBatch on the DataFrame"
                )

    # Feeding

    def _create_feeder(self) -> Feeder:
        options = self._options.job
        return Feeder(self.plan, options.clock, options.time_characteristic, self.spool.note)

    def _feed(self, feeder: Feeder) -> None:
        """Feed what the driver reads until it has ended."""
        ticks = _Ticks(self)
        while not self._query.is_stopping and not feeder.has_ended:
            if self._is_draining:
                feeder.end()
                self._spool(feeder)
                return
            count = self._step(feeder)
            ticks.keep_time()
            self._query.supervise(self._watch)
            if count == 0:
                feeder.wake.wait(_POLL_SECONDS)

    def _keep_fed(self) -> None:
        """Feed a query that somebody else starts, as long as this process runs."""
        feeder = self._create_feeder()
        feeder.start()
        ticks = _Ticks(self)
        while not self._query.is_stopping:
            if self._step(feeder) == 0:
                feeder.wake.wait(_POLL_SECONDS)
            ticks.keep_time()

    def _step(self, feeder: Feeder) -> int:
        """Spool what is at hand. Returns how many elements that were."""
        count = feeder.read(seconds=_READ_SECONDS)
        feeder.keep_time()
        self._spool(feeder)
        return count

    def _spool(self, feeder: Feeder) -> None:
        messages: dict[Target, list[Message]] = feeder.take()
        if feeder.has_ended and not self._workers_read:
            for target, closing in self._to_everybody(Closing(self._run.run_id)).items():
                messages.setdefault(target, []).extend(closing)
        if not messages:
            return
        if self.plan.needs_clock:
            for subtask in range(self.plan.parallelism):
                messages[Target(0, subtask)].append(Tick())
        self._write(messages, feeder.snapshot())

    def _to_everybody(self, message: Message) -> dict[Target, list[Message]]:
        """A message for every subtask of every stage."""
        places = product(range(self.plan.num_stages), range(self.plan.parallelism))
        return {Target(stage, subtask): [message] for stage, subtask in places}

    def _write(self, messages: Mapping[Target, Sequence[Message]], offsets: Any = None) -> None:
        """Put messages into the spool; nothing comes behind a stop."""
        with self._ending:
            if not self._query.is_stopping:
                self._check_owner()
                self.spool.write(messages, offsets)

    def _check_owner(self) -> None:
        if self._ownership.is_taken:
            self._ownership.guard.check()

    # Ending

    def _watch(self) -> None:
        self._query.check()
        self._batches.take()

    def _complete(self) -> None:
        """Everything has been read: process it, and if the input has ended, end time; not if it was stopped."""
        if not self._workers_read:
            self.process_all()
            self._save_end()
            return
        self._query.supervise(self._await_query)
        if not self._query.is_stopping and self._ends_by_itself():
            self.end_input()
            self._query.start()
            self._query.supervise(self._await_query)
            self._save_end()

    def _close_functions(self) -> None:
        """Make one more batch, in which every subtask closes its functions."""
        before = self._batches.last_batch
        self.spool.write(self._to_everybody(Closing(self._run.run_id)))
        self._await(lambda: self._batches.last_batch > before and self._query.is_idle)
        if not self._query.is_active:
            self._query.raise_failure()

    def _await(self, is_done: Callable[[], bool], seconds: float = _STOP_SECONDS) -> None:
        """Wait for what is about to happen, but not for long: a stop must not hang."""
        deadline = time.monotonic() + seconds
        while self._query.is_active and not is_done() and time.monotonic() < deadline:
            time.sleep(_SHORT_SECONDS)

    def _save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        if not self._query.is_stopping:
            self._program.save_end()

    def _await_query(self) -> None:
        """Wait until a query that ends by itself has ended, or is told to stop."""
        ticks = _Ticks(self, is_needed=self._options.trigger != "availableNow")
        while self._query.is_active and not self._query.is_stopping and not self._is_draining:
            self._query.wait(_POLL_SECONDS)
            self._batches.take()
            ticks.keep_time()
        if self._query.is_active and not self._query.is_stopping:
            self._query.process_all()
            self._query.end()
        else:
            self._query.check()
        self._batches.take()


def _as_dict(offset: Any) -> dict[str, Any]:
    """An offset of Spark's as data; those of sources that are not ours may be anything."""
    try:
        data = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


class _Ticks:
    """Makes batches without data, where something waits for the clock."""

    def __init__(self, job: SparkJob, *, is_needed: bool = True) -> None:
        self._job = job
        self._is_needed = is_needed and job.plan.needs_clock
        self._clock = job._options.job.clock
        self._next = self._clock() + TICK_MILLIS

    def keep_time(self) -> None:
        if self._is_needed and self._clock() >= self._next:
            self._next = self._clock() + TICK_MILLIS
            self._job.tick()
