"""Transcripts of programs on subtasks as Spark's workers run them, with all that they store in a dict. No JVM."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cloudpickle

from tidegate.core.state.blobs import MemoryBlobs
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Message, Order, Target, Tick
from tidegate.engine.sinks import Sinks
from tidegate.errors import TidegateError
from tidegate.spark.state.residents import Residents, RunOfJob
from tidegate.testing.clock import ManualClock
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError
from tidegate.testing.transcript.pipeline import PipelineCase


class Stored(NamedTuple):
    """A job between two batches: what is in the state store, what the sinks know, and what comes next."""

    blobs: dict[tuple[int, int], dict[str, bytes]]
    sinks: dict[str, Any]
    position: int
    now: int


class ResidentRun:
    """One case on its way, from its beginning or from what was stored."""

    def __init__(self, case: Case, stored: Stored | None = None) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(
            runtime="local", parallelism=1 if case.fields.get("ordered", False) else 2
        )
        self._case = PipelineCase(case, env, Batches.parse("each"))
        self._case.job = self
        self._clock = ManualClock()
        self._plan = lower(env._graph(), PlanOptions(0, reads_columns=False))
        plan = cloudpickle.dumps(self._plan.for_workers())
        self._run = RunOfJob("job", "first" if stored is None else "second", plan)
        self._residents = Residents()
        self._blobs: dict[tuple[int, int], dict[str, bytes]] = defaultdict(dict)
        self._sinks = Sinks(self._plan, self._clock)
        if stored is not None:
            self._blobs.update(stored.blobs)
            self._sinks.restore(stored.sinks)
            self._clock.advance_to(stored.now)
            for _ in range(stored.position):
                self._case.advance()
        self._position = 0 if stored is None else stored.position
        self._sinks.open()

    @property
    def current_order(self) -> Order:
        return self._sinks.current_order

    def watermark(self, number: int) -> int:
        return self._sinks.watermark(number)

    def metrics(self) -> Mapping[str, Sequence[Mapping[str, int]]]:
        return self._sinks.metrics()

    @property
    def is_over(self) -> bool:
        return self._case.is_over

    @property
    def has_told_all(self) -> bool:
        """Whether everything that has come out was expected by now: a run from here misses nothing."""
        return not any(sink._outcomes for sink in (self._case._results, *self._case._late.values()))

    @property
    def num_steps(self) -> int:
        return len(self._case._phases)

    def stored(self) -> Stored:
        return Stored(dict(self._blobs), self._sinks.snapshot(), self._position, self._clock())

    def run(self) -> Failure | None:
        while not self._case.is_over:
            self.step()
        return self._case.failure

    def step(self) -> None:
        """One batch, and what is expected behind it."""
        try:
            self._batch()
        except TranscriptError:
            raise
        except TidegateError as error:
            self._case.failed(error)
            return
        self._case.check(self._plan)
        self._case.advance()
        self._position += 1

    def _batch(self) -> None:
        now = self._case.new_time()
        if now is not None:
            self._clock.advance_to(now)
        inbox: dict[Target, list[Message]] = defaultdict(list)
        for target, message in self._case.messages(self._plan):
            inbox[target].append(message)
        for place in itertools.product(range(self._plan.num_stages), range(self._plan.parallelism)):
            target = Target(*place)
            blobs = MemoryBlobs()
            blobs.restore(self._blobs[place])
            messages = [*inbox.pop(target, []), Tick(self._clock())]
            sent = self._residents.run_batch(self._run, *place, blobs, messages, self._clock())
            self._blobs[place] = blobs.snapshot()
            for receiver, given in sent.items():
                inbox[receiver] += given
        self._sinks.process([(target, message) for target, given in inbox.items() for message in given])
