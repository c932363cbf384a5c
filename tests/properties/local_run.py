"""Runs random programs on the local runtime, step by step, with restarts where asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import cloudpickle
from tests.properties.cases import Counts, Feed, Mark, Outcome, Program, Run, Script, Step
from tests.properties.programs import Built, build, stage_uid

from tidegate.datastream import DataStream, Sink, StreamExecutionEnvironment
from tidegate.datastream.functions import SinkContext
from tidegate.datastream.window import Trigger
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Element, Message, Moved, Order, Target
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.engine.rescaling import Rescaling
from tidegate.engine.runner import InProcessRunner
from tidegate.testing import ManualClock, ManualSource, Watermark, WatermarkStatus


class Tape(Sink):
    """Keeps what came since it was last taken: values with their timestamps, and watermarks."""

    def __init__(self) -> None:
        self.items: list[tuple[Any, int | None] | Watermark] = []

    def write(self, value: Any, context: SinkContext) -> None:
        self.items.append((value, context.timestamp()))

    def write_watermark(self, watermark: Watermark) -> None:
        self.items.append(watermark)

    def take(self) -> list[tuple[Any, int | None] | Watermark]:
        items, self.items = self.items, []
        return items


class LocalProgram:
    """A live program on manual sources. `describe` builds it and names the streams to record."""

    def __init__(
        self,
        describe: Callable[[list[DataStream]], dict[str, DataStream]],
        *,
        inputs: int = 1,
        channels: int = 1,
        parallelism: int = 1,
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
        streams = [env.add_source(ManualSource(channels), f"input {number}") for number in range(inputs)]
        self._sources = [stream._node("test").number for stream in streams]
        self.tapes: dict[str, Tape] = {}
        for name, stream in describe(streams).items():
            self.tapes[name] = Tape()
            stream.sink_to(self.tapes[name])
        self._graph = env._graph()
        self._plan = self._lowered(parallelism)
        self.clock = ManualClock()
        self._number = 0
        self._runner = self._start(None)

    def feed(self, value: Any, timestamp: int | None, channel: int = 0, input_index: int = 0) -> None:
        self._run(lambda order, port: Element(order, port, str(channel), None, value, timestamp), channel, input_index)

    def mark(self, timestamp: int, channel: int = 0, input_index: int = 0) -> None:
        self._move(Watermark(timestamp), channel, input_index)

    def status(self, *, is_idle: bool, channel: int = 0, input_index: int = 0) -> None:
        self._move(WatermarkStatus.IDLE if is_idle else WatermarkStatus.ACTIVE, channel, input_index)

    def restart(self, parallelism: int | None = None) -> None:
        """Stop, and go on from what a file would hold, with another parallelism if one is given."""
        saved: Any = cloudpickle.loads(cloudpickle.dumps(self._runner.snapshot()))
        self.close()
        if parallelism is not None:
            before, self._plan = self._plan, self._lowered(parallelism)
            saved = Rescaling(before, self._plan).runner(saved)
        self._runner = self._start(saved)

    def metric(self, uid: str, name: str) -> int:
        """A metric of an operator, over all its subtasks."""
        return sum(values.get(name, 0) for values in self._runner.metrics()[uid])

    def close(self) -> None:
        self._runner.close()
        self._runner.sinks.close()

    def _lowered(self, parallelism: int) -> PhysicalPlan:
        options = PlanOptions(0, reads_columns=False, has_micro_batches=False)
        return lower(replace(self._graph, default_parallelism=parallelism), options)

    def _start(self, saved: Any) -> InProcessRunner:
        runner = InProcessRunner(self._plan, self.clock, saved)
        runner.sinks.open()
        return runner

    def _move(self, progress: Watermark | WatermarkStatus, channel: int, input_index: int) -> None:
        self._run(lambda order, port: Moved(order, port, str(channel), progress), channel, input_index)

    def _run(self, make: Callable[[Order, str], Message], channel: int, input_index: int) -> None:
        """One message as a batch of its own."""
        self._number += 1
        source = self._plan.by_number[self._sources[input_index]]
        assert isinstance(source, PlannedSource)
        target = Target(0, subtask_of_channel(source, str(channel)))
        self._runner.run_batch({target: [make((self._number, ""), source.uid)]})


def run(
    program: Program, script: Script, cuts: Collection[int] | Mapping[int, int] = (), trigger: Trigger | None = None
) -> Run:
    """Run a program; it is restarted before each step that `cuts` names, with the parallelism that is given there."""

    def describe(inputs: list[DataStream]) -> dict[str, DataStream]:
        built: Built = build(program, inputs[0], trigger)
        return {"results": built.results, **{f"late {number}": late for number, late in built.late.items()}}

    live = LocalProgram(describe, channels=program.channels, parallelism=program.parallelism)
    outcomes = []
    for number, step in enumerate(script):
        if number in cuts:
            live.restart(cuts[number] if isinstance(cuts, Mapping) else None)
        do(live, step)
        outcomes.append(_outcome(live.tapes))
    counts = [
        Counts(*(live.metric(stage_uid(number), name) for name in _COUNTERS)) for number in range(len(program.stages))
    ]
    live.close()
    return Run(outcomes, counts)


_COUNTERS = ("num_late_records_to_side_output", "num_late_records_dropped", "num_records_in_no_window")


def do(live: LocalProgram, step: Step, input_index: int = 0) -> None:
    if isinstance(step, Feed):
        live.feed(step.element, step.timestamp, step.channel, input_index)
    elif isinstance(step, Mark):
        live.mark(step.timestamp, step.channel, input_index)
    else:
        live.status(is_idle=step.is_idle, channel=step.channel, input_index=input_index)


def _outcome(tapes: dict[str, Tape]) -> Outcome:
    outcome = Outcome()
    for name, tape in tapes.items():
        for item in tape.take():
            if isinstance(item, Watermark):
                if name == "results":
                    outcome.watermarks.append(item.timestamp)
                    outcome.ends_with_watermark = True
            elif name == "results":
                outcome.ends_with_watermark = False
                assert item[0].timestamp == item[1]
                outcome.results.append(item[0])
            else:
                outcome.late.append(item[0])
    return outcome
