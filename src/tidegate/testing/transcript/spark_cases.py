"""Pipeline cases as real streaming queries on Spark.

Many cases share one query: each is a program of its own in it, and they move in step, a batch of each at a time. A
restart restarts them all, when no case can go on without it. Cases that set the clock or expect an error run alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.engine.job_options import JobOptions, SparkOptions
from tidegate.engine.messages import Message, Order, Target, Tick
from tidegate.errors import TidegateError
from tidegate.spark.query.job import SparkJob
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError
from tidegate.testing.transcript.pipeline import PipelineCase


class _SharedQuery:
    """Cases that share one query."""

    def __init__(self, cases: Sequence[Case], parallelism: int, batches: Batches, spark: Any) -> None:
        self._spark = spark
        env = StreamExecutionEnvironment.get_execution_environment(parallelism=parallelism)
        self.cases: list[PipelineCase] = []
        for case in cases:
            try:
                self.cases.append(PipelineCase(case, env, batches))
            except TranscriptError:
                raise
            except TidegateError as error:
                raise case.error(str(error)) from error
            self.cases[-1].job = self
        self._graph = env._graph()
        self._folder = tempfile.mkdtemp(prefix="tidegate-transcript-")
        self._waiting: set[int] = set()
        self._now = 0
        self._job = self._create_job()

    @property
    def current_order(self) -> Order:
        return self._job.sinks.current_order

    def watermark(self, number: int) -> int:
        return self._job.sinks.watermark(number)

    def metrics(self) -> Mapping[str, Sequence[Mapping[str, int]]]:
        return self._job.metrics()

    def run(self) -> None:
        """Move all cases on, a phase of each at a time."""
        try:
            self._job.start()
            while active := [case for case in self.cases if not case.is_over]:
                moving = [case for case in active if id(case) not in self._waiting]
                if moving:
                    self._batch(moving)
                else:
                    self._restart()
        finally:
            self._job.finish()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _batch(self, moving: list[PipelineCase]) -> None:
        messages: dict[Target, list[Message]] = defaultdict(list)
        for case in moving:
            for target, message in case.messages(self._job.plan):
                messages[target].append(message)
        self._set_clock(moving, messages)
        try:
            self._job.spool.write(messages)
            self._job.process_all()
        except TidegateError as error:
            if len(self.cases) > 1:
                raise
            moving[0].failed(error)
            return
        for case in moving:
            case.check(self._job.plan)
            if case.phase.restarts:
                self._waiting.add(id(case))
            case.advance()

    def _set_clock(self, moving: list[PipelineCase], messages: dict[Target, list[Message]]) -> None:
        """A case that sets the clock runs alone: every subtask is told the time."""
        if not any(case.sets_clock for case in moving):
            return
        times = [now for case in moving if (now := case.new_time()) is not None]
        self._now = times[-1] if times else self._now
        for stage in range(self._job.plan.num_stages):
            for subtask in range(self._job.plan.parallelism):
                messages[Target(stage, subtask)].append(Tick(self._now))

    def _restart(self) -> None:
        self._job.finish()
        self._job = self._create_job()
        self._job.start()
        self._waiting.clear()

    def _create_job(self) -> SparkJob:
        options = SparkOptions(self._spark, self._folder, job=JobOptions(auto_watermark_interval=0))
        return SparkJob(self._graph, options, "transcripts")


def run_spark_cases(cases: Sequence[Case], batches: Batches, spark: Any = None) -> list[Failure | None]:
    """Run pipeline cases on Spark; for each None if all its expectations hold."""
    failures: dict[int, Failure | None] = {}
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        parallelism = 1 if case.fields.get("ordered", False) else 2
        groups[(parallelism, index if _needs_own_query(case) else -1)].append(index)
    for (parallelism, _), indexes in groups.items():
        outcome = _run([cases[i] for i in indexes], parallelism, batches, spark)
        failures.update(zip(indexes, outcome, strict=True))
    return [failures[index] for index in range(len(cases))]


def _run(cases: list[Case], parallelism: int, batches: Batches, spark: Any) -> list[Failure | None]:
    query = _SharedQuery(cases, parallelism, batches, spark)
    try:
        query.run()
    except TidegateError:
        if len(cases) == 1:
            raise
        return [failure for case in cases for failure in _run([case], parallelism, batches, spark)]
    return [case.failure for case in query.cases]


def _needs_own_query(case: Case) -> bool:
    return any("time" in step or "expect_error" in step for step in case.steps)
