"""A job whose results are a streaming DataFrame: its user starts the query, with any sink of Spark's."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.state.snapshot import Snapshot
from tidegate.engine.job_options import JobOptions, SparkOptions
from tidegate.engine.messages import Message, Target
from tidegate.engine.plan import PhysicalPlan, Reading
from tidegate.engine.result_table import ResultTable
from tidegate.errors import InvalidValueError
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.batch_log import COMMITS, last_batch
from tidegate.spark.query.compiler import compile_plan
from tidegate.spark.query.feed import POLL_SECONDS, Feed
from tidegate.spark.query.frames import adopt
from tidegate.spark.query.layout import QUERY, SPOOL
from tidegate.spark.query.program_file import ProgramFile, lowered
from tidegate.spark.query.session import OWN_SETTINGS, applied, get_session, query_settings
from tidegate.spark.query.unstarted import forget_unstarted, has_begun
from tidegate.spark.query.workers import check_workers
from tidegate.spark.sources.records import unheld_alignments
from tidegate.spark.sources.spool import Spool
from tidegate.spark.sources.spool_stream import last_position
from tidegate.spark.state.placement import group_keys
from tidegate.spark.state.residents import RunOfJob
from tidegate.spark.wire.result_columns import ResultColumns
from tidegate.storage.ownership import Ownership

_LOGGER = logging.getLogger("tidegate")
_STARTED: Final[dict[Path, tuple[StreamingQuery, Ownership]]] = {}
"""The last query of each folder in this process."""
_ENDING: Final = threading.Lock()
_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether the query still runs."""


class SettledError(SystemExit):
    """Leaves a program whose query was started only to end what it had begun."""


class FrameJob:
    """Makes the DataFrame, and starts each query that comes of it.

    With a folder the query and all that it needs are kept there; the folder has one owner while the query runs. Without
    one the query's own checkpoint is all there is, so what needs more is refused.
    """

    def __init__(
        self, graph: StreamGraph, options: SparkOptions, tables: Sequence[ResultTable], *, settles: bool = False
    ) -> None:
        """With `settles` a query only ends what one before had begun; then its program ends, with `SettledError`."""
        self._options = options
        self.settles = settles
        self._tables = list(tables)
        folder = None if options.checkpoint is None else Path(options.checkpoint)
        self.plan = lowered(graph, options.job.plan_options(has_workers=True), folder)
        self._refuse_sinks()
        self._session = get_session(options.spark, self.plan.parallelism)
        self._checkpoint = None if folder is None else _Checkpoint(folder)
        if self._checkpoint is None:
            self._refuse_what_needs_a_folder()
        job_id = uuid.uuid4().hex if self._checkpoint is None else self._checkpoint.program.take(self.plan)
        self.location = None if self._checkpoint is None else str(self._checkpoint.folder / QUERY)
        rescaled = None if self._checkpoint is None else self._checkpoint.program.rescaled_state
        self._run = RunOfJob(
            job_id, uuid.uuid4().hex, cloudpickle.dumps(self.plan.for_workers()), self.location, True, rescaled
        )
        self._group_keys = group_keys(self.plan.parallelism)
        self._has_frames = any(isinstance(node.source, DataFrameSource) for node in self.plan.sources)
        for sentence in unheld_alignments(self.plan):
            _LOGGER.warning("%s", sentence)

    def frame(self) -> DataFrame:
        """The results as a streaming DataFrame."""
        session = self._session
        check_workers(session)
        folder, guard = None, None
        if self._checkpoint is not None:
            folder, guard = self._checkpoint.folder, self._checkpoint.ownership.guard
        with applied(session, OWN_SETTINGS):
            results = ResultColumns(session, self.plan, self._tables)
            frame = compile_plan(session, self.plan, self._run, self._group_keys, folder, results, guard)
        return adopt(frame, self)

    def check_location(self, location: Any) -> None:
        """Refuse to keep a query elsewhere than with what it needs."""
        if self.location is not None and Path(str(location)) != Path(self.location):
            raise InvalidValueError(
                f"checkpointLocation={str(location)!r}: this query keeps its checkpoint in {self.location}, with all "
                "that it needs besides; leave the option out, or give that folder to to_dataframe(checkpoint=...)"
            )

    def start(self, start: Callable[[], StreamingQuery], *, ends_by_itself: bool) -> StreamingQuery:
        """Start a query with the settings that it needs; with a folder, as its owner, and fed as long as it runs."""
        settings = query_settings(self._session, self.plan.parallelism, has_frames=self._has_frames)
        if self._checkpoint is None:
            with applied(self._session, settings):
                return start()
        checkpoint = self._checkpoint
        _give_up_if_over(checkpoint.folder)
        checkpoint.ownership.take()
        try:
            checkpoint.program.take(self.plan)
            forget_unstarted(checkpoint.folder / QUERY)
            feeding = _Feeding(checkpoint, self.plan, self._options.job, self._run.run_id)
            if has_begun(checkpoint.folder / QUERY):
                feeding.feed.wake_everybody(checkpoint.program.num_retired)
            if self.settles:
                checkpoint.ownership.stop_soon()
            elif ends_by_itself:
                feeding.feed_all()
            with applied(self._session, settings):
                query = start()
            if self.settles:
                query.awaitTermination()
                feeding.confirm()
                raise SettledError
        except BaseException:
            checkpoint.ownership.release()
            raise
        _STARTED[checkpoint.folder] = (query, checkpoint.ownership)
        threading.Thread(target=feeding.keep, args=(query,), name="tidegate feeder", daemon=True).start()
        return query

    def _refuse_sinks(self) -> None:
        ends = {table.number for table in self._tables}
        for node in self.plan.sinks:
            if node.number not in ends:
                raise InvalidValueError(
                    f"to_dataframe: the sink {node.name!r} would get nothing; its query belongs to whoever starts it, "
                    "so take the sink out of the program and use foreachBatch on the DataFrame"
                )

    def _refuse_what_needs_a_folder(self) -> None:
        """Without a folder there is nothing but the query's own checkpoint, which only Spark writes to."""
        advice = "give it a folder: to_dataframe(checkpoint=DIR), or checkpoint= on the environment"
        for node in self.plan.sources:
            if not isinstance(node.source, DataFrameSource):
                raise InvalidValueError(
                    f"to_dataframe: how far the source {node.name!r} has been read is kept beside the query; {advice}"
                )
        if self.plan.needs_clock:
            raise InvalidValueError(
                "to_dataframe: the program waits for the clock (idleness, or processing time), whose ticks are kept "
                f"beside the query; {advice}"
            )


class _Checkpoint:
    """The folder of a query that its user starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ownership = Ownership(folder)
        self.program = ProgramFile(folder)


class _Feeding:
    """Feeds a query until it ends, and then gives its folder up."""

    def __init__(self, checkpoint: _Checkpoint, plan: PhysicalPlan, options: JobOptions, run_id: str) -> None:
        self._checkpoint = checkpoint
        self._query = checkpoint.folder / QUERY
        every_key = group_keys(max(plan.parallelism, checkpoint.program.num_retired))
        self._spool = Spool(checkpoint.folder / SPOOL, every_key, last_position(self._query))
        self._spool.forget_failure()
        self._last_commit = last_batch(self._query, COMMITS)
        self._driver_reads = [node for node in plan.sources if node.reading is Reading.BY_DRIVER]
        self.feed = Feed(plan, options, run_id, self._write)
        self._feeder = self.feed.feeder(self._spool.note)

    def feed_all(self) -> None:
        """Feed everything that there is, for a query that ends with what is there when it starts."""
        for node in self._driver_reads:
            if not node.source.is_bounded:
                raise InvalidValueError(
                    f"to_dataframe: a query with trigger(availableNow=True) ends with what is there, and the source "
                    f"{node.name!r} never ends; use another trigger"
                )
        self._feeder.start()
        while not self._feeder.has_ended:
            self.feed.step(self._feeder)

    def keep(self, query: StreamingQuery) -> None:
        """Feed until the query has ended. What fails here is what the query fails of."""
        try:
            self._keep(query)
        except Exception as error:
            _LOGGER.error("what feeds the query failed: %s", error)
            with contextlib.suppress(Exception):
                self._spool.write_failure(f"{type(error).__name__}: {error}")
        finally:
            _await_end(query)
            self.confirm()
            _give_up(self._checkpoint.folder, query)

    def _keep(self, query: StreamingQuery) -> None:
        try:
            self._feeder.start()
            ticks = self.feed.ticks()
            look_at = time.monotonic()
            while True:
                if time.monotonic() >= look_at:
                    if not query.isActive:
                        return
                    self.confirm()
                    look_at = time.monotonic() + _LOOK_SECONDS
                if self._feeder.has_ended or self.feed.step(self._feeder) == 0:
                    self._feeder.wake.wait(POLL_SECONDS)
                ticks.keep_time()
        finally:
            self._feeder.stop()

    def _write(self, messages: Mapping[Target, Sequence[Message]], note: Snapshot | None) -> None:
        self._checkpoint.ownership.guard.check()
        self._spool.write(messages, note)

    def confirm(self) -> None:
        """The program is remembered when its first batch is done."""
        if last_batch(self._query, COMMITS) != self._last_commit:
            with contextlib.suppress(OSError):
                self._checkpoint.program.confirm()


def _give_up_if_over(folder: Path) -> None:
    """A query that has ended owns its folder until that is noticed; whoever starts the next need not wait for it."""
    known = _STARTED.get(folder)
    if known is not None and not known[0].isActive:
        _give_up(folder, known[0])


def _give_up(folder: Path, query: StreamingQuery) -> None:
    """Let go of a folder, unless a later query has it by now."""
    with _ENDING:
        known = _STARTED.get(folder)
        if known is not None and known[0] is query:
            del _STARTED[folder]
            known[1].release()


def _await_end(query: StreamingQuery) -> None:
    with contextlib.suppress(Exception):
        while query.isActive:
            time.sleep(_LOOK_SECONDS)
