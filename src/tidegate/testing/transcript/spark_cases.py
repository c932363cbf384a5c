"""Pipeline cases as real streaming queries on Spark.

Many cases share one query: each is a program of its own in it, and they move in step, a batch of each at a time. A
restart restarts them all, when no case can go on without it. Cases that set the clock or expect an error run alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.core.key.hashing import stable_hash
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.watermark.records import Watermark
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.errors import TidegateError
from tidegate.graph.nodes import Node
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.job import SparkJob, SparkOptions
from tidegate.spark.packing import Clock, Item
from tidegate.spark.routing import source_edge
from tidegate.testing.manual_source import ManualSource
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError
from tidegate.testing.transcript.compare import Outcome, matches
from tidegate.testing.transcript.program import build, inputs_of
from tidegate.testing.transcript.script import Act, Expect, Feed, Step, read_script


class _Results(Sink):
    """Remembers results with the step that caused them: the first part of an item's order."""

    def __init__(self, group: _Group, input_number: int | None = None) -> None:
        self._group = group
        self._input_number = input_number
        self.outcomes: list[Outcome] = []

    def write(self, value: Any, context: SinkContext) -> None:
        fields = {**value, "ts": context.timestamp()}
        if self._input_number is not None:
            fields["in"] = self._input_number
        self.outcomes.append(Outcome(self._group.current_step, fields))

    def take(self) -> list[Outcome]:
        taken, self.outcomes = self.outcomes, []
        return taken

    def __reduce__(self) -> Any:
        return object, ()


@dataclass(slots=True)
class _Phase:
    """What a case does between two batches: inputs, then expectations, then perhaps a restart."""

    feeds: list[Step] = field(default_factory=list)
    expects: list[Expect] = field(default_factory=list)
    restarts: bool = False


class _Running:
    """One case in a shared query."""

    def __init__(self, case: Case, env: StreamExecutionEnvironment, group: _Group, batches: Batches) -> None:
        self.case = case
        self.failure: Failure | None = None
        self.is_waiting = False
        inputs = inputs_of(case)
        self._channels = case.whole(case.fields.get("channels", 1), "channels")
        self._is_ordered = bool(case.fields.get("ordered", False))
        streams = [env.add_source(ManualSource(self._channels), f"input {n + 1}") for n in range(inputs)]
        self._sources: list[Node] = [stream._node("case") for stream in streams]
        first = self._sources[0].number
        program = build(case, streams)
        self._results = _Results(group)
        self.sink = program.results.sink_to(self._results)._node
        self._late = {number: _Results(group, number) for number in program.late}
        for number, stream in program.late.items():
            stream.sink_to(self._late[number])
        self._numbers = range(first, self.sink.number + 1)
        script = read_script(case, inputs, self._channels)
        self._phases = list(_phases(script, batches.cuts(script)))
        self._position = 0
        self._sets_clock = any("time" in step for step in case.steps)
        self._now = 0

    @property
    def is_over(self) -> bool:
        return self.failure is not None or self._position >= len(self._phases)

    @property
    def phase(self) -> _Phase:
        return self._phases[self._position]

    def items(self, graph: StreamGraph, parallelism: int, stages: int) -> Iterator[tuple[tuple[int, int], Item]]:
        """What this phase puts into the spool, by stage and subtask."""
        for step in self.phase.feeds:
            if isinstance(step, Feed):
                yield self._placed(step.number, step.input_index, step.channel, step, graph, parallelism)
            elif isinstance(step, Act) and step.action == "end":
                for index in range(len(self._sources)):
                    for channel in range(self._channels):
                        ending = Feed(step.number, index, channel, progress=Watermark.MAX)
                        yield self._placed(step.number, index, channel, ending, graph, parallelism)
            elif isinstance(step, Act) and step.action == "time":
                self._now = step.argument
        if self._sets_clock:
            for stage in range(stages):
                for subtask in range(parallelism):
                    yield (stage, subtask), Item((0, ""), "", "", progress=Clock(self._now))

    def _placed(
        self, number: int, input_index: int, channel: int, feed: Feed, graph: StreamGraph, parallelism: int
    ) -> tuple[tuple[int, int], Item]:
        edge = source_edge(graph.uid(self._sources[input_index]))
        order = (number, "")
        item = Item(order, edge, str(channel), None, feed.value, feed.timestamp, feed.progress)
        return (0, stable_hash(str(channel)) % parallelism), item

    def check(self, job: SparkJob, graph: StreamGraph) -> None:
        for expect in self.phase.expects:
            self.failure = self._check(expect, job, graph)
            if self.failure is not None:
                return

    def advance(self) -> None:
        self.is_waiting = self.phase.restarts
        self._position += 1

    def _check(self, expect: Expect, job: SparkJob, graph: StreamGraph) -> Failure | None:
        if expect.action == "expect_wm":
            got = job.sinks.watermark(self.sink.number)
        elif expect.action == "expect_dropped":
            uids = {graph.uids[number] for number in self._numbers if number in graph.uids}
            got = sum(
                values.get("num_late_records_dropped", 0)
                for uid, subtasks in job.metrics().items()
                if uid in uids
                for values in subtasks
            )
        elif expect.action == "expect_error":
            return Failure(expect.number, "an error", "none")
        else:
            sinks = [self._results] if expect.action == "expect" else list(self._late.values())
            outcomes = sorted((outcome for sink in sinks for outcome in sink.take()), key=lambda o: o.step)
            if matches(expect.expected, outcomes, ordered=self._is_ordered):
                return None
            return Failure(expect.number, expect.expected, [outcome.fields for outcome in outcomes])
        return None if got == expect.expected else Failure(expect.number, expect.expected, got)


class _Group:
    """Cases that share one query."""

    def __init__(self, cases: Sequence[Case], parallelism: int, batches: Batches, spark: Any) -> None:
        self._spark = spark
        self._parallelism = parallelism
        env = StreamExecutionEnvironment.get_execution_environment(parallelism=parallelism)
        self.cases: list[_Running] = []
        for case in cases:
            try:
                self.cases.append(_Running(case, env, self, batches))
            except TranscriptError:
                raise
            except TidegateError as error:
                raise case.error(str(error)) from error
        self._graph = env._graph()
        self._folder = tempfile.mkdtemp(prefix="tidegate-transcript-")
        self._job: SparkJob | None = None

    @property
    def current_step(self) -> int:
        assert self._job is not None
        step: int = self._job.sinks.current_order[0]
        return step

    def run(self) -> None:
        """Move all cases on, a phase of each at a time."""
        try:
            self._start()
            while active := [case for case in self.cases if not case.is_over]:
                moving = [case for case in active if not case.is_waiting]
                if not moving:
                    self._stop()
                    self._start()
                    for case in active:
                        case.is_waiting = False
                    continue
                self._batch(moving)
        finally:
            self._stop()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _batch(self, moving: list[_Running]) -> None:
        assert self._job is not None
        stages = self._job.num_stages
        items: dict[tuple[int, int], list[Item]] = defaultdict(list)
        for case in moving:
            for place, item in case.items(self._graph, self._parallelism, stages):
                items[place].append(item)
        try:
            self._job.spool.write(items)
            self._job.process_all()
        except TidegateError as error:
            self._fail(moving, error)
            return
        for case in moving:
            case.check(self._job, self._graph)
            case.advance()

    def _fail(self, moving: list[_Running], error: TidegateError) -> None:
        if len(self.cases) > 1:
            raise error
        case = moving[0]
        expects = case.phase.expects
        if not (expects and expects[0].action == "expect_error" and expects[0].expected):
            number = expects[0].number if expects else 0
            case.failure = Failure(number, "no error", error)
        while not case.is_over:
            case.advance()

    def _start(self) -> None:
        options = SparkOptions(
            spark=self._spark, parallelism=self._parallelism, checkpoint=self._folder, auto_watermark_interval=0
        )
        self._job = SparkJob(self._graph, options, "transcripts")
        self._job.start()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.finish()
            self._job = None


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
    group = _Group(cases, parallelism, batches, spark)
    try:
        group.run()
    except TidegateError:
        if len(cases) == 1:
            raise
        return [failure for case in cases for failure in _run([case], parallelism, batches, spark)]
    return [case.failure for case in group.cases]


def _needs_own_query(case: Case) -> bool:
    return any("time" in step or "expect_error" in step for step in case.steps)


def _phases(script: Sequence[Step], cuts: set[int]) -> Iterator[_Phase]:
    phase = _Phase()
    for step in script:
        if isinstance(step, Expect):
            phase.expects.append(step)
            continue
        if phase.expects or (phase.feeds and phase.feeds[-1].number in cuts) or phase.restarts:
            yield phase
            phase = _Phase()
        if isinstance(step, Act) and step.action == "restart":
            phase.restarts = True
        else:
            phase.feeds.append(step)
    yield phase
