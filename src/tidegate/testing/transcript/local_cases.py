"""Pipeline cases on the local runtime."""

from __future__ import annotations

from typing import Any

import cloudpickle

from tidegate.core.function.async_io import AsyncWaitOperator
from tidegate.core.operator.operator import Operator
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.watermark.records import Watermark
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.errors import TidegateError
from tidegate.graph.nodes import Node
from tidegate.graph.stream_graph import StreamGraph
from tidegate.local.topology import Topology
from tidegate.testing.clock import ManualClock
from tidegate.testing.manual_source import ManualSource
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError
from tidegate.testing.transcript.compare import Outcome, matches
from tidegate.testing.transcript.program import Program, build, inputs_of
from tidegate.testing.transcript.script import Act, Expect, Feed, read_script


class _Results(Sink):
    """Remembers results, and watermarks where the case lists them, with the step that caused them."""

    def __init__(self, run: _Run, *, input_number: int | None = None, with_watermarks: bool = False) -> None:
        self._run = run
        self._input_number = input_number
        self._with_watermarks = with_watermarks
        self.outcomes: list[Outcome] = []

    def write(self, value: Any, context: SinkContext) -> None:
        fields = {**value, "ts": context.timestamp()}
        if self._input_number is not None:
            fields["in"] = self._input_number
        self.outcomes.append(Outcome(self._run.current_step, fields))

    def write_watermark(self, watermark: Watermark) -> None:
        if self._with_watermarks:
            self.outcomes.append(Outcome(self._run.current_step, {"wm": watermark.timestamp}))

    def take(self) -> list[Outcome]:
        taken, self.outcomes = self.outcomes, []
        return taken

    def __reduce__(self) -> Any:
        return object, ()


class _Run:
    """One case on its way."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._inputs = inputs_of(case)
        self._channels = case.whole(case.fields.get("channels", 1), "channels")
        self._is_ordered = bool(case.fields.get("ordered", False))
        self.current_step = 0
        self._clock = ManualClock()
        self._sources: list[Node] = []
        self._program, self._graph = self._build()
        self._topology = self._start()
        self._error: TidegateError | None = None

    @property
    def is_async(self) -> bool:
        return self._program.answers is not None

    def run(self, batches: Batches) -> Failure | None:
        script = read_script(self._case, self._inputs, self._channels)
        cuts = batches.cuts(script)
        for step in script:
            self.current_step = step.number
            if isinstance(step, Expect):
                failure = self._check(step)
            else:
                failure = self._unexpected_error(step.number)
                if failure is None:
                    self._do(step)
                    if step.number in cuts and not self.is_async and self._error is None:
                        self._restart()
            if failure is not None:
                return failure
        return self._unexpected_error(len(script))

    def _build(self) -> tuple[Program, StreamGraph]:
        env = StreamExecutionEnvironment.get_execution_environment(
            runtime="local", parallelism=1 if self._is_ordered else 2
        )
        inputs = [env.add_source(ManualSource(self._channels), f"input {n + 1}") for n in range(self._inputs)]
        self._sources = [stream._node("case") for stream in inputs]
        try:
            program = build(self._case, inputs)
        except TranscriptError:
            raise
        except TidegateError as error:
            raise self._case.error(str(error)) from error
        self._results = _Results(self, with_watermarks=program.answers is not None)
        program.results.sink_to(self._results)
        self._late = {number: _Results(self, input_number=number) for number in program.late}
        for number, stream in program.late.items():
            stream.sink_to(self._late[number])
        self._last = program.results._node("case")
        return program, env._graph()

    def _start(self, snapshot: Any = None) -> Topology:
        topology = Topology(self._graph, self._clock, configure=_never_block)
        if snapshot is not None:
            topology.restore(snapshot)
        topology.open()
        return topology

    def _restart(self) -> None:
        """Stop, and continue from the saved state; what is saved is what a file would hold."""
        snapshot = cloudpickle.loads(cloudpickle.dumps(self._topology.snapshot()))
        self._topology.close()
        self._topology = self._start(snapshot)

    def _do(self, step: Feed | Act) -> None:
        try:
            if isinstance(step, Feed):
                self._feed(step)
            else:
                self._act(step)
        except TranscriptError:
            raise
        except TidegateError as error:
            self._error = error

    def _feed(self, step: Feed) -> None:
        output = self._topology.source_output(self._sources[step.input_index], step.channel)
        if step.progress is not None:
            output.emit(step.progress)
        else:
            output.collect(step.value, step.timestamp)

    def _act(self, step: Act) -> None:
        if step.action == "restart":
            self._restart()
        elif step.action == "time":
            self._clock.advance_to(step.argument)
            for operator in self._topology.operators():
                operator.on_clock()
        elif step.action == "end":
            for node in self._sources:
                for channel in range(self._channels):
                    self._topology.source_output(node, channel).emit(Watermark.MAX)
        else:
            self._answer(step)

    def _answer(self, step: Act) -> None:
        answers = self._program.answers
        if answers is None:
            raise self._case.error(f"step {step.number}: {step.action} is for asynchronous operators")
        if step.action == "complete":
            answers.complete(step.argument["id"], step.argument.get("v"))
        else:
            answers.fail(step.argument)
        for operator in self._topology.operators():
            operator.poll()

    def _check(self, step: Expect) -> Failure | None:
        if step.action == "expect_error":
            error, self._error = self._error, None
            if (error is not None) != step.expected:
                return Failure(step.number, "an error" if step.expected else "no error", error)
            return None
        if failure := self._unexpected_error(step.number):
            return failure
        if step.action == "expect_wm":
            outputs = self._topology.vertices[self._last.number].outputs
            got = min(output.current_watermark for output in outputs)
            return None if got == step.expected else Failure(step.number, step.expected, got)
        if step.action == "expect_dropped":
            dropped = self._dropped()
            return None if dropped == step.expected else Failure(step.number, step.expected, dropped)
        if step.action == "expect":
            outcomes = self._results.take()
        else:
            outcomes = sorted(
                (outcome for sink in self._late.values() for outcome in sink.take()), key=lambda o: o.step
            )
        if matches(step.expected, outcomes, ordered=self._is_ordered or self.is_async):
            return None
        return Failure(step.number, step.expected, [outcome.fields for outcome in outcomes])

    def _dropped(self) -> int:
        return sum(
            values.get("num_late_records_dropped", 0)
            for subtasks in self._topology.metrics().values()
            for values in subtasks
        )

    def _unexpected_error(self, number: int) -> Failure | None:
        return None if self._error is None else Failure(number, "no error", self._error)

    def close(self) -> None:
        self._topology.close()


def run_local_case(case: Case, batches: Batches) -> Failure | None:
    """Run a pipeline case in process; None if all its expectations hold."""
    run = _Run(case)
    try:
        return run.run(batches)
    finally:
        run.close()


def _never_block(operator: Operator) -> None:
    if isinstance(operator, AsyncWaitOperator):
        operator.is_blocking = False
