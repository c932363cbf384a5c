"""A job on Spark: one streaming query, fed through the spool, with its sinks in the driver."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from tidegate.core.operator.sink import SinkSpec
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.time.millis import Clock, TimeCharacteristic
from tidegate.errors import ClosedError, InvalidValueError
from tidegate.graph.nodes import ChainNode, SourceNode
from tidegate.graph.plan import Plan
from tidegate.graph.stream_graph import StreamGraph
from tidegate.ingest.column_source import ColumnSource
from tidegate.spark.batch_folder import BatchFolder, sink_payloads
from tidegate.spark.batch_states import BatchStates
from tidegate.spark.clock import needs_clock
from tidegate.spark.compiler import compile_plan
from tidegate.spark.entry import find_entries
from tidegate.spark.errors import is_transient, translate
from tidegate.spark.feeder import Feeder
from tidegate.spark.packing import Item, end_item, tick_item
from tidegate.spark.placement import group_keys
from tidegate.spark.program import ProgramRecord, check_against
from tidegate.spark.session import applied_settings, apply_settings, get_session, is_remote
from tidegate.spark.sinks import DriverSinks
from tidegate.spark.spool import Spool
from tidegate.spark.stage_options import TICK_MILLIS, StageOptions
from tidegate.spark.tables import ResultColumns, Table
from tidegate.spark.unstarted import forget_unstarted

_POLL_SECONDS: Final = 0.05
_ATTEMPTS: Final = 3
_INTERRUPT: Final = "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
"""What Spark looks for in the error of a batch function to tell an interrupt from a failure."""


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a job runs on Spark; times in milliseconds."""

    spark: Any = None
    parallelism: int = 2
    checkpoint: str | None = None
    trigger: str = "0 seconds"
    auto_watermark_interval: int = 200
    time_characteristic: TimeCharacteristic = TimeCharacteristic.EventTime
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = wall_clock


class SparkJob:
    """Runs a graph as a streaming query. `stop` and `drain` may be called from other threads."""

    def __init__(self, graph: StreamGraph, options: SparkOptions, name: str = "tidegate") -> None:
        self._options = options
        self._name = name
        self._plan = Plan.of(graph)
        self._parallelism = max([options.parallelism, *graph.parallelism.values()])
        self._folder = Path(options.checkpoint or tempfile.mkdtemp(prefix="tidegate-"))
        self._is_temporary = options.checkpoint is None
        self._entries = find_entries(self._plan, self._parallelism)
        self._program = self._check_program()
        keys = group_keys(self._parallelism)
        self._stage_options = StageOptions(
            self._plan,
            self._parallelism,
            options.auto_watermark_interval,
            dict(options.job_parameters),
            self._entries,
            needs_clock(graph, options.auto_watermark_interval),
        )
        self.spool = Spool(self._folder / "spool", keys)
        self._keys = keys
        self.sinks = DriverSinks(self._plan, options.clock, self._program.job_id)
        self._sink_states = BatchStates(self._folder / "sinks.state", self.sinks.snapshot())
        self.sinks.restore(self._sink_states.last)
        self._writing = threading.Lock()
        self._streams = [
            node.source
            for node in graph.nodes
            if isinstance(node, SourceNode) and isinstance(node.source, DataFrameSource | ColumnSource)
        ]
        self._has_frames = any(isinstance(source, DataFrameSource) for source in self._streams)
        self._is_stopping = False
        self._is_draining = False
        self._query: Any = None
        self._batches: BatchFolder | None = None
        self._is_open = False

    @property
    def last_progress(self) -> Any:
        """What Spark says of the last batch."""
        return self._query.lastProgress

    @property
    def graph(self) -> StreamGraph:
        return self._plan.graph

    @property
    def num_stages(self) -> int:
        return len(self._plan.stages)

    def run(self) -> None:
        """Run until every source has ended, or until `stop`."""
        feeder = self._create_feeder()
        self.start()
        try:
            feeder.start()
            self._feed(feeder)
            if not self._is_stopping:
                self._complete()
            else:
                self._query.stop()
                self._take_batches()
        finally:
            feeder.stop()
            self.finish()

    def _create_feeder(self) -> Feeder:
        return Feeder(
            self._plan.graph,
            self.spool,
            self._parallelism,
            self._options.clock,
            time_characteristic=self._options.time_characteristic,
            auto_watermark_interval=self._options.auto_watermark_interval,
            needs_clock=self._stage_options.needs_clock,
        )

    def _complete(self) -> None:
        """Everything has been read: process it, and if the input has ended, end time; not if it was stopped."""
        if not self._streams:
            self.process_all()
            self._save_end()
            return
        self._supervise(self._await_query)
        if self._is_stopping:
            return
        if self._is_draining or all(source.is_bounded for source in self._streams):
            self.end_input()
            self.start()
            self._supervise(self._await_query)
            self._save_end()

    def _save_end(self) -> None:
        """From now on the checkpoint is that of a job that has ended."""
        if not self._is_stopping:
            replace(self._program, has_ended=True).save(self._program_file)

    def _await_query(self) -> None:
        """Wait until a query that ends by itself has ended, or is told to stop."""
        next_tick = self._options.clock() + TICK_MILLIS
        while self._query.isActive and not self._is_stopping and not self._is_draining:
            self._query.awaitTermination(_POLL_SECONDS)
            self._take_batches()
            is_continuous = self._stage_options.needs_clock and self._options.trigger != "availableNow"
            if is_continuous and self._options.clock() >= next_tick:
                next_tick = self._options.clock() + TICK_MILLIS
                self.tick()
        if self._query.isActive:
            if not self._is_stopping:
                self._query.processAllAvailable()
            self._query.stop()
        self._check_query()

    def _persevere(self, action: Callable[[], Any], before_next: Callable[[], None] | None = None) -> Any:
        """The result of an action, tried again where it failed because a worker was slow to start."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return action()
            except Exception as error:
                if attempt == _ATTEMPTS or self._is_stopping or not is_transient(error):
                    raise translate(error, self._folder) from None
                if before_next is not None:
                    before_next()
        raise AssertionError("unreachable")

    def _supervise(self, action: Callable[[], None]) -> None:
        """Do something with the query; if it died of a slow worker, it goes on from its checkpoint.

        A query that was told to stop may say that it failed, since its batch did.
        """
        try:
            self._persevere(action, before_next=self.start)
        except Exception:
            if not self._is_stopping:
                raise

    def end_input(self) -> None:
        """Put the end of all input into the spool."""
        self._tell_everybody(end_item())

    def to_frame(self, tables: list[Table]) -> DataFrame:
        """The results as a streaming DataFrame; its user starts the query, this feeds it as long as the driver runs.

        The settings of the session stay as the query needs them.
        """
        self._refuse_sinks({table.number for table in tables})
        self._stage_options.run_id = uuid.uuid4().hex
        session = get_session(self._options.spark, self._parallelism)
        apply_settings(session, self._parallelism, has_frames=self._has_frames)
        results = ResultColumns(session, tables)
        frame = compile_plan(session, self._stage_options, self.spool, self._keys, results)
        threading.Thread(target=self._keep_fed, name="tidegate feeder", daemon=True).start()
        return frame

    def _refuse_sinks(self, ends: set[int]) -> None:
        for node in self.graph.nodes:
            if isinstance(node, ChainNode) and isinstance(node.spec, SinkSpec) and node.number not in ends:
                raise InvalidValueError(
                    f"to_dataframe: the sink {self.graph.name(node)!r} would get nothing; its query belongs to whoever "
                    "starts it, so take the sink out of the program and use foreachBatch on the DataFrame"
                )

    def _keep_fed(self) -> None:
        feeder = self._create_feeder()
        feeder.start()
        next_tick = self._options.clock()
        while not self._is_stopping:
            if feeder.step() == 0:
                feeder.wake.wait(_POLL_SECONDS)
            if self._stage_options.needs_clock and self._options.clock() >= next_tick:
                next_tick = self._options.clock() + TICK_MILLIS
                self.tick()

    def start(self) -> None:
        """Start the query."""
        self._stage_options.run_id = uuid.uuid4().hex
        if not self._is_open:
            self.sinks.open()
            self._is_open = True
        forget_unstarted(self._folder / "query")
        session = get_session(self._options.spark, self._parallelism)
        with applied_settings(session, self._parallelism, has_frames=self._has_frames):
            writer = (
                compile_plan(session, self._stage_options, self.spool, self._keys)
                .writeStream.queryName(self._name.replace("`", "'"))
                .foreachBatch(self._batch_function(session))
                .option("checkpointLocation", str(self._folder / "query"))
                .trigger(**self._trigger())
            )
            self._query = self._persevere(writer.start)

    def _trigger(self) -> dict[str, Any]:
        ends = bool(self._streams) and (self._is_draining or all(source.is_bounded for source in self._streams))
        if self._options.trigger == "availableNow" or ends:
            return {"availableNow": True}
        return {"processingTime": self._options.trigger}

    def process_all(self) -> None:
        """Wait until everything that is in the spool has been processed."""
        self._supervise(lambda: self._query.processAllAvailable())
        self._take_batches()

    def finish(self) -> None:
        """Stop the query and close the sinks; what a temporary checkpoint held goes."""
        if self._query is not None:
            self._query.stop()
            self._query = None
        # Spark does not wait for the function of a batch that it interrupts.
        with self._writing:
            if self._is_open:
                self.sinks.close()
            self._is_open = False
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop at once: the batch that runs is interrupted, and done again by whoever goes on from the checkpoint."""
        self._is_stopping = True
        if (query := self._query) is not None:
            query.stop()

    def drain(self) -> None:
        self._is_draining = True

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        return self.sinks.metrics()

    def _feed(self, feeder: Feeder) -> None:
        next_tick = self._options.clock() + TICK_MILLIS
        while not self._is_stopping and not feeder.has_ended:
            if self._is_draining:
                feeder.end()
                return
            count = feeder.step()
            now = self._options.clock()
            if self._stage_options.needs_clock and now >= next_tick:
                next_tick = now + TICK_MILLIS
                self.tick()
            self._supervise(self._check_query)
            if count == 0:
                feeder.wake.wait(_POLL_SECONDS)

    def tick(self) -> None:
        """Make a batch in which every subtask of every stage looks at the clock."""
        self._tell_everybody(tick_item())

    def _tell_everybody(self, item: Item) -> None:
        stage = self._stage_options.first_stage
        self.spool.write({(stage, subtask): [item] for subtask in range(self._parallelism)})

    def _check_query(self) -> None:
        error = self._query.exception()
        if error is not None:
            raise error
        self._take_batches()

    def _batch_function(self, session: SparkSession) -> Callable[[DataFrame, int], None]:
        """What Spark calls with each batch. A Connect server cannot call into this process, so it writes files."""
        if not is_remote(session):
            return lambda rows, batch_id: self._write(self._collect(rows, batch_id), batch_id)
        self._batches = BatchFolder(self._folder / "batches")
        self._take_batches()
        return self._batches.writer()

    def _collect(self, rows: DataFrame, batch_id: int) -> list[bytes]:
        """Run the batch. If `stop` interrupts it, Spark hears so in few words.

        Spark knows an interrupt by a pattern in the message, and long messages overflow its stack.
        """
        try:
            return sink_payloads(rows)
        except Exception:
            if not self._is_stopping:
                raise
            raise ClosedError(f"batch {batch_id}: the job has stopped. {_INTERRUPT}") from None

    def _take_batches(self) -> None:
        if self._batches is not None:
            for batch_id, payloads in self._batches.waiting(self._sink_states.last_batch):
                self._write(payloads, batch_id)

    def _write(self, payloads: list[bytes], batch_id: int) -> None:
        with self._writing:
            if not self._is_open:
                raise ClosedError(f"batch {batch_id}: the job has stopped")
            if batch_id <= self._sink_states.last_batch:
                self.sinks.restore(self._sink_states.before(batch_id))
            self.sinks.write(payloads, batch_id)
            self._sink_states.save(batch_id, self.sinks.snapshot())

    @property
    def _program_file(self) -> Path:
        return self._folder / "program.json"

    def _check_program(self) -> ProgramRecord:
        """The program, if the checkpoint can go on with it, with the id of the job."""
        entered = {node.number for entry in self._entries for node in (entry.source, entry.assign)}
        program = ProgramRecord.of(self._plan, self._parallelism, entered)
        if self._program_file.exists():
            saved = ProgramRecord.load(self._program_file)
            check_against(saved, program, str(self._folder))
            program = replace(program, job_id=saved.job_id)
        program.save(self._program_file)
        return program
