"""The random programs of the property tests give the same on Spark as on the local runtime.

A handful by default; `TIDEGATE_PROGRAMS=300` runs more, with `TIDEGATE_SEED` for others.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.properties import programs
from tests.properties.cases import Feed, Late, Mark, Program, Result, Script, Step
from tests.properties.local_run import run as run_locally

from tidegate.datastream import Sink, StreamExecutionEnvironment
from tidegate.datastream.functions import SinkContext
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.job_options import SparkOptions
from tidegate.engine.messages import Element, Message, Moved, Target
from tidegate.engine.plan import PlannedSource
from tidegate.spark.query.job import SparkJob
from tidegate.testing import ManualSource, Watermark, WatermarkStatus

pytestmark = pytest.mark.spark

PARALLELISM = 2
COUNT = int(os.environ.get("TIDEGATE_PROGRAMS", "20"))
SEED = int(os.environ.get("TIDEGATE_SEED", "2026"))


class ByStep(Sink):
    """Keeps values by the step that caused them."""

    def __init__(self, jobs: list[SparkJob]) -> None:
        self._jobs = jobs
        self.values: dict[int, list[Any]] = defaultdict(list)

    def write(self, value: Any, context: SinkContext) -> None:
        self.values[self._jobs[-1].sinks.current_order[0]].append(value)

    def __reduce__(self) -> Any:
        return object, ()


class Running:
    """One program among many in a query."""

    def __init__(self, env: StreamExecutionEnvironment, program: Program, script: Script, jobs: list[SparkJob]) -> None:
        self.program, self.script = program, script
        stream = env.add_source(ManualSource(program.channels), "input")
        self._source = stream._node("test").number
        built = programs.build(program, stream)
        self.results, self.late = ByStep(jobs), ByStep(jobs)
        built.results.sink_to(self.results)
        for late in built.late.values():
            late.sink_to(self.late)

    def message(self, number: int, job: SparkJob) -> tuple[Target, Message]:
        step: Step = self.script[number]
        source = job.plan.by_number[self._source]
        assert isinstance(source, PlannedSource)
        channel = str(step.channel)
        target = Target(0, subtask_of_channel(source, channel))
        order = (number, "")
        if isinstance(step, Feed):
            return target, Element(order, source.uid, channel, None, step.element, step.timestamp)
        if isinstance(step, Mark):
            return target, Moved(order, source.uid, channel, Watermark(step.timestamp))
        status = WatermarkStatus.IDLE if step.is_idle else WatermarkStatus.ACTIVE
        return target, Moved(order, source.uid, channel, status)


def draw(count: int) -> list[tuple[Program, Script]]:
    """So many programs with their inputs, always the same for a seed."""
    drawn: list[tuple[Program, Script]] = []

    @seed(SEED)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs.programs_with_scripts(ends=True))
    def collect(pair: tuple[Program, Script]) -> None:
        drawn.append(pair)

    collect()
    return drawn[:count]


def test_random_programs_give_the_same_on_spark_as_on_the_local_runtime(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=PARALLELISM)
    jobs: list[SparkJob] = []
    running: list[Running] = []
    for index, (program, script) in enumerate(draw(COUNT)):
        monkeypatch.setattr(programs, "stage_uid", lambda number, index=index: f"program-{index}-stage-{number}")
        running.append(Running(env, program, script, jobs))
    monkeypatch.undo()
    jobs.append(SparkJob(env._graph(), SparkOptions(spark, str(tmp_path)), "random programs"))
    feed_in_random_batches(jobs[0], running)
    for number, live in enumerate(running):
        expected = run_locally(live.program, live.script)
        for step, outcome in enumerate(expected.outcomes):
            where = f"seed {SEED}, program {number} {live.program}, step {step}"
            results: list[Result] = live.results.values[step]
            late: list[Late] = live.late.values[step]
            assert sorted(results, key=repr) == sorted(outcome.results, key=repr), where
            assert sorted(late, key=repr) == sorted(outcome.late, key=repr), where


def feed_in_random_batches(job: SparkJob, running: list[Running]) -> None:
    chooser = random.Random(SEED)
    positions = [0] * len(running)
    job.start()
    try:
        while any(position < len(live.script) for position, live in zip(positions, running, strict=True)):
            messages: dict[Target, list[Message]] = defaultdict(list)
            for index, live in enumerate(running):
                until = min(positions[index] + chooser.randint(1, 15), len(live.script))
                for number in range(positions[index], until):
                    target, message = live.message(number, job)
                    messages[target].append(message)
                positions[index] = until
            job.spool.write(messages)
            job.process_all()
    finally:
        job.finish()
