"""`StreamExecutionEnvironment`: where a program begins, and how it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidegate.common.configuration import Configuration
from tidegate.common.ddl import columns_ddl
from tidegate.common.job_execution_result import JobExecutionResult
from tidegate.common.row import row_maker
from tidegate.common.typeinfo import DeclaredType, as_type
from tidegate.core.source.column_source import ColumnSource
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.source.source import Source
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.core.watermark.strategy import NoWatermarks, WatermarkStrategy
from tidegate.core.watermark.timestamps import RecordTimestampAssigner
from tidegate.datastream.closeable_iterator import CloseableIterator
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.environment_settings import EnvironmentSettings, Runtime, choose_runtime
from tidegate.datastream.running_job import RunningJob
from tidegate.datastream.sinks import CollectSink
from tidegate.datastream.sources import CollectionSource, FunctionSource, NumberSequenceSource, SocketTextSource
from tidegate.engine import describe
from tidegate.engine.clocks import wall_clock
from tidegate.engine.job_options import JobOptions, SparkOptions
from tidegate.engine.lowering import lower
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.result_table import ResultTable
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.graph.builder import ProgramBuilder
from tidegate.graph.stream_graph import StreamGraph


class StreamExecutionEnvironment(EnvironmentSettings):
    """Get one with `get_execution_environment()`, build streams from it, then `execute()`."""

    def __init__(
        self,
        spark: Any = None,
        *,
        runtime: Runtime | None = None,
        parallelism: int | None = None,
        checkpoint: str | None = None,
        trigger: str = "0 seconds",
        clock: Any = None,
    ) -> None:
        super().__init__()
        self._spark = spark
        self._runtime: Runtime = choose_runtime(runtime, spark)
        self._checkpoint = checkpoint or os.environ.get("TIDEGATE_CHECKPOINT")
        self._trigger = trigger
        self._clock = clock
        self._program = ProgramBuilder()
        self._last_graph: StreamGraph | None = None
        self.set_parallelism(1 if parallelism is None else parallelism)

    @staticmethod
    def get_execution_environment(
        spark: Any = None,
        configuration: Configuration | None = None,
        *,
        runtime: Runtime | None = None,
        parallelism: int | None = None,
        checkpoint: str | None = None,
        trigger: str = "0 seconds",
        clock: Any = None,
    ) -> StreamExecutionEnvironment:
        """A new environment: on `spark`, or a local Spark of its own, or with `runtime="local"` in this process.

        Without `runtime` and without `spark` the environment variable `TIDEGATE_RUNTIME` chooses, "spark" or "local";
        Spark if it is not set. `configuration` is PyFlink's, which may also stand first; `parallelism` counts more.
        `clock` replaces processing time on the local runtime, for tests.
        """
        if isinstance(spark, Configuration):
            spark, configuration = None, spark
        env = StreamExecutionEnvironment(spark, runtime=runtime, checkpoint=checkpoint, trigger=trigger, clock=clock)
        if configuration is not None:
            env.configure(configuration)
        if parallelism is not None:
            env.set_parallelism(parallelism)
        return env

    # Sources

    def from_collection(self, collection: Iterable[Any], type_info: Any = None) -> DataStream:
        """The elements of a list."""
        source = CollectionSource(collection)
        declared = as_type(type_info, "from_collection")
        if declared is not None:
            source = source.converted(declared)
        stream = self._source(source, "collection", None)
        return DataStream(self, stream._connections, declared)

    def from_elements(self, *elements: Any) -> DataStream:
        return self.from_collection(elements)

    def from_range(self, start: int, end: int, channels: int = 1) -> DataStream:
        """The integers from `start` to `end`, both included; for tests and demos."""
        return self._source(NumberSequenceSource(start, end, channels), "range", None)

    from_sequence = from_range

    def socket_text_stream(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> DataStream:
        """Lines of text from a server. The input ends when the connection does."""
        return self._source(SocketTextSource(hostname, port, delimiter, max_retry), "socket", None)

    def add_source(self, source_func: Any, source_name: str = "Custom Source", type_info: Any = None) -> DataStream:
        """A `SourceFunction`; the time that the job runs on chooses its context."""
        source = source_func if isinstance(source_func, Source) else FunctionSource(source_func)
        return self._source(source, "source", type_info, may_have_timestamps=True).name(source_name)

    def from_source(self, source: Any, watermark_strategy: Any, source_name: str, type_info: Any = None) -> DataStream:
        """A source with its watermarks, made for each of its channels."""
        if not isinstance(source, Source):
            raise InvalidTypeError(
                f"from_source: expected a Source such as NumberSequenceSource(1, 10), got {source!r}"
            )
        strategy = WatermarkStrategy.of(watermark_strategy)
        has_timestamps = source.has_timestamps
        stream = self._source(source, "source", type_info, may_have_timestamps=has_timestamps).name(source_name)
        if type_info is None and isinstance(source, ColumnSource) and source.schema is not None:
            from tidegate.spark.sources.schemas import struct_of

            stream = DataStream(self, stream._connections, as_type(struct_of(source.schema), "from_source"))
        if isinstance(strategy.generator, NoWatermarks) and isinstance(
            strategy.timestamp_assigner, RecordTimestampAssigner
        ):
            return stream
        stamped = stream.assign_timestamps_and_watermarks(strategy)
        # Name, uid and parallelism are those of the source, as in Flink, where the strategy is a part of it.
        stamped._labelled = stream._node("from_source")
        return stamped

    def from_dataframe(
        self,
        df: Any,
        channel: str | Sequence[str] | None = None,
        sequence: str | None = None,
        channels: Sequence[Any] | None = None,
        *,
        ordered_across_channels: bool = False,
        bounded: bool = False,
    ) -> DataStream:
        """Any streaming DataFrame; its columns are the fields of the elements.

        `channel` names the partition each row came from (one column or several), `sequence` its order there; Kafka's
        are found by themselves. Without a channel all rows are one, with one watermark. A row where they are null fails
        the job. `channels` are those that are expected: they hold the watermark until they speak or go idle.
        `bounded=True` says that the input ends.
        """
        if self._runtime != "spark":
            raise InvalidValueError("from_dataframe needs runtime='spark'; on the local runtime use from_collection")
        from tidegate.spark.sources.schemas import arrow_schema_of

        source = DataFrameSource(
            df,
            channel,
            sequence,
            channels,
            ordered_across_channels=ordered_across_channels,
            bounded=bounded,
            schema=arrow_schema_of(df),
            make_rows=row_maker,
        )
        stream = self._source(source, "dataframe", None)
        return DataStream(self, stream._connections, as_type(df.schema, "from_dataframe"))

    def to_dataframe(self, *, checkpoint: str | None = None, **streams: DataStream) -> Any:
        """Streams of this program as one streaming DataFrame; start a query on it with `writeStream`.

        One stream gives its columns; several give a column `stream` and a struct column for each. With `checkpoint`
        (or that of the environment) everything of the query is kept in that one folder, and `checkpointLocation` is
        not to be given. Without it the program may read DataFrames only, and not wait for the clock.
        """
        if self._runtime != "spark":
            raise InvalidValueError("to_dataframe needs runtime='spark'; on the local runtime use execute_and_collect")
        if not streams:
            raise InvalidValueError("to_dataframe needs at least one stream, for example to_dataframe(main=out)")
        tables = []
        for name, stream in streams.items():
            self._check_own(stream, "to_dataframe")
            end = stream._sink("to_dataframe", CollectSink())._node
            tables.append(ResultTable(name, end.number, columns_ddl(stream.get_type(), f"to_dataframe({name}=...)")))
        if checkpoint is not None and self._checkpoint not in (None, checkpoint):
            raise InvalidValueError(
                f"to_dataframe: checkpoint={checkpoint!r}, but the environment has {self._checkpoint!r}; name one of "
                "them only"
            )
        return self._frame(self._take_graph(), tables, checkpoint or self._checkpoint)

    # Running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run to the end, or until stopped."""
        result: JobExecutionResult = self._client(self._take_graph(), job_name).run()
        return result

    def execute_async(self, job_name: str = "Tidegate Streaming Job") -> Any:
        """Start, and return the running job."""
        job = self._client(self._take_graph(), job_name)
        job.tells_failure = True
        return job.start()

    def explain(self) -> str:
        """The stages that the program compiles to, as text."""
        return describe.as_text(self.get_plan())

    def get_execution_plan(self) -> str:
        """The stages as JSON."""
        return describe.as_json(self.get_plan())

    def get_plan(self) -> PhysicalPlan:
        """The plan that runs: of what was built since the last run, else of that run."""
        if not self._program.has_ends and self._last_graph is not None:
            return self._lower(self._last_graph)
        return self._lower(self._program.build_unfinished(self._parallelism))

    def close(self) -> None:
        """Nothing to do: a job ends by itself or is stopped."""

    def _source(self, source: Source, kind: str, type_info: Any, *, may_have_timestamps: bool = False) -> DataStream:
        declared = as_type(type_info, kind)
        stamps = may_have_timestamps or self._time is TimeCharacteristic.IngestionTime
        output_type = None if declared is None else DeclaredType(declared, "change type_info or what the source gives")
        stream = self._program.source(source, kind, may_have_timestamps=stamps, output_type=output_type)
        return DataStream(self, [stream], declared)

    def _check_own(self, stream: DataStream, where: str) -> None:
        """Refuse a stream of another environment: its nodes have numbers that mean others here."""
        if stream._env is not self:
            raise InvalidValueError(
                f"{where}: the streams are of two environments; call get_execution_environment() once, and make all "
                "streams of a program from what it gives"
            )

    def _lower(self, graph: StreamGraph) -> PhysicalPlan:
        return lower(graph, self._job_options().plan_options(has_workers=self._runtime == "spark"))

    def _graph(self) -> StreamGraph:
        return self._program.build(self._parallelism)

    def _take_graph(self) -> StreamGraph:
        """The graph of the program so far; it runs once, as in Flink."""
        if not self._program.has_ends and self._last_graph is not None:
            raise InvalidValueError(
                "everything that was built has run already; build streams with sinks again before the next execute()"
            )
        graph = self._last_graph = self._graph()
        self._program.forget_ends()
        return graph

    def _frame(self, graph: StreamGraph, tables: Sequence[ResultTable], checkpoint: str | None) -> Any:
        from tidegate.spark.query.frame_job import FrameJob

        return FrameJob(graph, self._spark_options(checkpoint), tables).frame()

    def _client(self, graph: StreamGraph, job_name: str | None, on_end: Any = None) -> Any:
        if self._runtime == "spark":
            return self._spark_client(graph, job_name, on_end)
        from tidegate.local.checkpoint import Checkpoint
        from tidegate.local.job import LocalJob

        checkpoint = Checkpoint(self._checkpoint)
        with checkpoint.released_on_error():
            job = LocalJob(
                graph,
                self._job_options(),
                checkpoint.load(),
                f"checkpoint {self._checkpoint}",
                is_kept=self._checkpoint is not None,
            )

        def end() -> None:
            checkpoint.release()
            if on_end is not None:
                on_end()

        # Only what ended well is saved: after a failure the checkpoint before it counts.
        return RunningJob(job, job_name or "job", end, on_success=lambda: checkpoint.save(job.snapshot))

    def _spark_client(self, graph: StreamGraph, job_name: str | None, on_end: Any) -> RunningJob:
        from tidegate.spark.query.job import SparkJob

        job = SparkJob(graph, self._spark_options(self._checkpoint), job_name or "tidegate")
        return RunningJob(job, job_name or "job", on_end, take_savepoint=self._take_savepoint)

    def _take_savepoint(self, directory: str | None) -> str:
        from tidegate.spark.query.savepoint import take_savepoint

        folder = directory or self._savepoints
        if self._checkpoint is None or folder is None:
            missing = "a checkpoint folder" if self._checkpoint is None else "a folder for its savepoints"
            raise InvalidValueError(
                f"trigger_savepoint: the job has not got {missing}; give get_execution_environment(checkpoint=DIR) and "
                "trigger_savepoint(DIR)"
            )
        return take_savepoint(Path(self._checkpoint), Path(folder)).path

    def _job_options(self) -> JobOptions:
        return JobOptions(
            clock=self._clock or wall_clock,
            auto_watermark_interval=self._config.get_auto_watermark_interval(),
            time_characteristic=self._time,
            job_parameters=self._config.get_global_job_parameters(),
            max_parallelism=self._max_parallelism(),
        )

    def _spark_options(self, checkpoint: str | None) -> SparkOptions:
        return SparkOptions(self._spark, checkpoint, self._trigger, self._job_options())

    def _execute_and_collect(self, stream: DataStream, job_name: str | None, limit: int | None) -> Any:
        results = CloseableIterator()
        end = stream._sink("collect", CollectSink(results.put))
        try:
            graph = self._graph()
        finally:
            self._program.forget_end(end._node)
        job = self._client(graph, job_name, results.finish)
        results.attach(job)
        job.start()
        if limit is None:
            return results
        with results:
            return [value for _, value in zip(range(limit), results, strict=False)]
