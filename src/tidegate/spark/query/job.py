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
from pathlib import Path
from typing import Any, Final

import cloudpickle

from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.state.snapshot import Snapshot
from tidegate.engine.feeder import Feeder
from tidegate.engine.job_options import SparkOptions
from tidegate.engine.messages import Message, Target
from tidegate.engine.plan import Reading
from tidegate.engine.sinks import Sinks
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.query.compiler import compile_plan
from tidegate.spark.query.errors import told_by_us
from tidegate.spark.query.feed import POLL_SECONDS, Feed
from tidegate.spark.query.layout import QUERY, SPOOL
from tidegate.spark.query.live_query import LiveQuery
from tidegate.spark.query.program_file import ProgramFile, lowered
from tidegate.spark.query.session import OWN_SETTINGS, applied, get_session, is_remote, query_settings
from tidegate.spark.query.sink_batches import SinkBatches
from tidegate.spark.query.unstarted import forget_unstarted
from tidegate.spark.sources.records import unheld_alignments
from tidegate.spark.sources.spool import Spool
from tidegate.spark.sources.spool_stream import last_position
from tidegate.spark.state.placement import group_keys
from tidegate.spark.state.residents import RunOfJob
from tidegate.storage.ownership import Ownership

_LOGGER = logging.getLogger("tidegate")
_SHORT_SECONDS: Final = 0.01
_STOP_SECONDS: Final = 10.0
"""How long a stop waits for functions to be closed, and for a batch to be committed."""
_GRACE_SECONDS: Final = 5.0
"""How long a stop waits for the end of a batch before it interrupts it."""


class SparkJob:
    """Runs a graph as a streaming query. `stop` and `drain` may be called from other threads."""

    def __init__(self, graph: StreamGraph, options: SparkOptions, name: str = "tidegate") -> None:
        self._options = options
        self._name = name
        self._folder = Path(options.checkpoint or tempfile.mkdtemp(prefix="tidegate-"))
        self.plan = lowered(graph, options.job.plan_options(has_workers=True), self._folder)
        self._is_temporary = options.checkpoint is None
        self._ownership = Ownership(self._folder)
        self._recoverable = None if self._is_temporary else self._folder
        with told_by_us(self._recoverable):
            self._ownership.take()
        try:
            with told_by_us(self._recoverable):
                self._load_checkpoint()
        except BaseException:
            self._ownership.release()
            raise
        self._workers_read = [node for node in self.plan.sources if node.reading is not Reading.BY_DRIVER]
        self._has_frames = any(isinstance(node.source, DataFrameSource) for node in self._workers_read)
        for sentence in unheld_alignments(self.plan):
            _LOGGER.warning("%s", sentence)
        self._query = LiveQuery(self._start_query, self._recoverable)
        self._feed = Feed(self.plan, options.job, self._run.run_id, self._write)
        self._is_draining = False
        self._settles = False
        self._ending = threading.RLock()

    def _load_checkpoint(self) -> None:
        """Read what the checkpoint knows, now that it is ours."""
        self._program = ProgramFile(self._folder)
        job_id = self._program.take(self.plan)
        self._run = RunOfJob(
            job_id,
            uuid.uuid4().hex,
            cloudpickle.dumps(self.plan.for_workers()),
            rescaled=self._program.rescaled_state,
        )
        self._group_keys = group_keys(self.plan.parallelism)
        every_key = group_keys(max(self.plan.parallelism, self._program.num_retired))
        self.spool = Spool(self._folder / SPOOL, every_key, last_position(self._folder / QUERY))
        self.sinks = Sinks(self.plan, self._options.job.clock, job_id)
        self._batches = SinkBatches(
            self.sinks,
            self._group_keys,
            self._folder,
            check_owner=self._check_owner,
            on_commit=self._program.confirm,
            undoes=self._program.restored is None or self._program.restored.undoes,
        )

    def _check_owner(self) -> None:
        self._ownership.guard.check()

    @property
    def last_progress(self) -> Any:
        """What Spark says of the last batch."""
        return self._query.last_progress

    def run(self) -> None:
        """Run until every source has ended, or until `stop`."""
        feeder = self._feed.feeder(self.spool.note)
        try:
            with told_by_us(self._recoverable):
                self.start()
                feeder.start()
                self._read(feeder)
                if not self._query.is_stopping:
                    self._complete()
        finally:
            feeder.stop()
            self.finish()

    def start(self) -> None:
        """Open the sinks and start the query. After a restart every subtask runs once, to say how far time is."""
        self._batches.open()
        rescaling = self._program.rescaling
        if rescaling is not None and rescaling.empty_batch is not None:
            self._batches.take_empty(rescaling.empty_batch)
        if self._program.is_restart:
            self._feed.wake_everybody(self._program.num_retired)
        self._query.start()

    def settle(self) -> None:
        """End what a run before had begun: its last batch, and elements on their way. Nothing more is read."""
        self._settles = True
        self._ownership.stop_soon()
        try:
            with told_by_us(self._recoverable):
                self.start()
                self._query.supervise(self._await_query)
        finally:
            self.finish()

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
            self._ownership.stop_soon()
            try:
                if self._await(lambda: self._query.is_idle, _GRACE_SECONDS):
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

    # Starting

    def _start_query(self) -> Any:
        forget_unstarted(self._folder / QUERY)
        session = get_session(self._options.spark, self.plan.parallelism)
        settings = query_settings(session, self.plan.parallelism, has_frames=self._has_frames)
        with applied(session, settings | OWN_SETTINGS):
            packets = compile_plan(
                session, self.plan, self._run, self._group_keys, self._folder, guard=self._ownership.guard
            )
            return (
                packets.writeStream.queryName(self._name.replace("`", "'"))
                .foreachBatch(self._batches.function(is_remote=is_remote(session)))
                .option("checkpointLocation", str(self._folder / QUERY))
                .trigger(**self._trigger())
                .start()
            )

    def _trigger(self) -> dict[str, Any]:
        if self._settles or self._options.trigger == "availableNow" or (self._workers_read and self._ends_by_itself()):
            return {"availableNow": True}
        return {"processingTime": self._options.trigger}

    def _ends_by_itself(self) -> bool:
        return self._is_draining or all(node.source.is_bounded for node in self._workers_read)

    # Feeding

    def _read(self, feeder: Feeder) -> None:
        """Feed what the driver reads until it has ended."""
        ticks = self._feed.ticks()
        while not self._query.is_stopping and not feeder.has_ended:
            if self._is_draining:
                feeder.end()
                self._feed.take(feeder)
                return
            count = self._feed.step(feeder)
            ticks.keep_time()
            self._query.supervise(self._watch)
            if count == 0:
                feeder.wake.wait(POLL_SECONDS)

    def _write(self, messages: Mapping[Target, Sequence[Message]], note: Snapshot | None) -> None:
        """Put messages into the spool; nothing comes behind a stop."""
        with self._ending:
            if not self._query.is_stopping:
                self._ownership.guard.check()
                self.spool.write(messages, note)

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
            self._feed.end_input()
            self._query.start()
            self._query.supervise(self._await_query)
            self._save_end()

    def _close_functions(self) -> None:
        """Make one more batch, in which every subtask closes its functions."""
        before = self._batches.last_batch
        self.spool.write(self._feed.closing())
        self._await(lambda: self._batches.last_batch > before and self._query.is_idle)
        if not self._query.is_active:
            self._query.raise_failure()

    def _await(self, is_done: Callable[[], bool], seconds: float = _STOP_SECONDS) -> bool:
        """Wait for what is about to happen, but not for long: a stop must not hang. Returns whether it has happened."""
        deadline = time.monotonic() + seconds
        while self._query.is_active and time.monotonic() < deadline:
            # A query that is idle looks for data again and again: what was true once may not be so a moment later.
            if is_done():
                return True
            time.sleep(_SHORT_SECONDS)
        return False

    def _save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        if not self._query.is_stopping:
            self._program.save_end()

    def _await_query(self) -> None:
        """Wait until a query that ends by itself has ended, or is told to stop."""
        ticks = self._feed.ticks(are_needed=self._options.trigger != "availableNow")
        while self._query.is_active and not self._query.is_stopping and not self._is_draining:
            self._query.wait(POLL_SECONDS)
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
