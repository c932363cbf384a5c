"""Pipeline cases in process, on the runner that the local runtime uses."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import cloudpickle

from tidegate.core.function.async_io import AsyncWaitOperator
from tidegate.core.operator.operator import Operator
from tidegate.core.state.snapshot import Snapshot
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Message, Order, Target
from tidegate.engine.plan import PhysicalPlan
from tidegate.engine.rescaling import Rescaling
from tidegate.engine.runner import InProcessRunner
from tidegate.errors import TidegateError
from tidegate.testing.clock import ManualClock
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError
from tidegate.testing.transcript.pipeline import PipelineCase


class _LocalRun:
    """One case on its way. After each batch it goes on from what was saved, as from a file.

    It does so with one parallelism after the other of those given, and begins again with the first.
    """

    def __init__(self, case: Case, batches: Batches, parallelisms: Sequence[int]) -> None:
        self._parallelisms = itertools.cycle((1,) if case.fields.get("ordered", False) else parallelisms)
        parallelism = next(self._parallelisms)
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
        try:
            self._case = PipelineCase(case, env, batches)
        except TranscriptError:
            raise
        except TidegateError as error:
            raise case.error(str(error)) from error
        self._case.job = self
        self._clock = ManualClock()
        self._graph = env._graph()
        self._plan = self._lowered(parallelism)
        self._runner = self._start(None)

    @property
    def current_order(self) -> Order:
        return self._runner.sinks.current_order

    def watermark(self, number: int) -> int:
        return self._runner.sinks.watermark(number)

    def metrics(self) -> Mapping[str, Sequence[Mapping[str, int]]]:
        return self._runner.metrics()

    def run(self) -> Failure | None:
        case = self._case
        while not case.is_over:
            try:
                self._batch()
            except TranscriptError:
                raise
            except TidegateError as error:
                case.failed(error)
                continue
            case.check(self._plan)
            if case.phase.restarts or not case.is_async:
                self._restart()
            case.advance()
        return case.failure

    def close(self) -> None:
        self._runner.close()
        self._runner.sinks.close()

    def _batch(self) -> None:
        now = self._case.new_time()
        if now is not None:
            self._clock.advance_to(now)
        messages: dict[Target, list[Message]] = defaultdict(list)
        for target, message in self._case.messages(self._plan):
            messages[target].append(message)
        self._case.answer()
        self._runner.run_batch(messages)

    def _lowered(self, parallelism: int) -> PhysicalPlan:
        options = PlanOptions(0, reads_columns=False, has_micro_batches=False)
        return lower(replace(self._graph, default_parallelism=parallelism), options)

    def _start(self, saved: Snapshot | None) -> InProcessRunner:
        runner = InProcessRunner(self._plan, self._clock, saved, configure=_never_block)
        runner.sinks.open()
        return runner

    def _restart(self) -> None:
        """Stop, and continue from the saved state; what is saved is what a file would hold."""
        saved: Snapshot = cloudpickle.loads(cloudpickle.dumps(self._runner.snapshot()))
        self.close()
        before, self._plan = self._plan, self._lowered(next(self._parallelisms))
        if before.parallelism != self._plan.parallelism:
            saved = cloudpickle.loads(cloudpickle.dumps(Rescaling(before, self._plan).runner(saved)))
        self._runner = self._start(saved)


def run_local_case(case: Case, batches: Batches, parallelisms: Sequence[int] = (2,)) -> Failure | None:
    """Run a pipeline case in process; None if all its expectations hold."""
    run = _LocalRun(case, batches, parallelisms)
    try:
        return run.run()
    finally:
        run.close()


def _never_block(operator: Operator) -> None:
    if isinstance(operator, AsyncWaitOperator):
        operator.is_blocking = False
