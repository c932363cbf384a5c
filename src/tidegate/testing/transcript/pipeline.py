"""Pipeline cases on any runtime: a case as batches of messages, and what must come out between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.watermark.records import Watermark
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.messages import Element, Message, Moved, Order, Target
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.testing.manual_source import ManualSource
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure
from tidegate.testing.transcript.compare import Outcome, matches
from tidegate.testing.transcript.program import build, inputs_of
from tidegate.testing.transcript.script import Act, Expect, Feed, Step, read_script


class Job(Protocol):
    """What a case asks of the job that runs it."""

    @property
    def current_order(self) -> Order:
        """The order of the message that a sink is being given: its first part is the step that caused it."""

    def watermark(self, number: int) -> int:
        """The watermark that a sink has seen."""

    def metrics(self) -> Mapping[str, Sequence[Mapping[str, int]]]: ...


class Results(Sink):
    """Remembers results, and watermarks where the case lists them, with the step that caused them."""

    def __init__(self, case: PipelineCase, input_number: int | None = None) -> None:
        self._case = case
        self._input_number = input_number
        self._outcomes: list[Outcome] = []

    def write(self, value: Any, context: SinkContext) -> None:
        fields = {**value, "ts": context.timestamp()}
        if self._input_number is not None:
            fields["in"] = self._input_number
        self._outcomes.append(Outcome(self._case.current_step, fields))

    def write_watermark(self, watermark: Watermark) -> None:
        if self._case.is_async and self._input_number is None:
            self._outcomes.append(Outcome(self._case.current_step, {"wm": watermark.timestamp}))

    def take(self) -> list[Outcome]:
        taken, self._outcomes = self._outcomes, []
        return taken

    def __reduce__(self) -> Any:
        # Workers never write results.
        return object, ()


@dataclass(slots=True)
class Phase:
    """What a case does between two batches: inputs, then expectations, then perhaps a restart."""

    steps: list[Feed | Act] = field(default_factory=list)
    expects: list[Expect] = field(default_factory=list)
    restarts: bool = False


class PipelineCase:
    """One case as a program in an environment, on its way through its script.

    Its job is set by whoever runs it; several cases may share one.
    """

    def __init__(self, case: Case, env: StreamExecutionEnvironment, batches: Batches) -> None:
        self.case = case
        self.failure: Failure | None = None
        self.job: Job | None = None
        inputs = inputs_of(case)
        self._channels = case.whole(case.fields.get("channels", 1), "channels")
        self._is_ordered = bool(case.fields.get("ordered", False))
        streams = [env.add_source(ManualSource(self._channels), f"input {n + 1}") for n in range(inputs)]
        self._sources = [stream._node("case").number for stream in streams]
        program = build(case, streams)
        self.answers = program.answers
        self._results = Results(self)
        sinks = [program.results.sink_to(self._results)]
        self._late = {number: Results(self, number) for number in program.late}
        sinks += [stream.sink_to(self._late[number]) for number, stream in program.late.items()]
        self._sink = sinks[0]._node.number
        self._numbers = range(self._sources[0], sinks[-1]._node.number + 1)
        script = read_script(case, inputs, self._channels)
        self._phases = list(_phases(script, batches.cuts(script), is_async=self.is_async))
        self._position = 0

    @property
    def is_async(self) -> bool:
        return self.answers is not None

    @property
    def is_over(self) -> bool:
        return self.failure is not None or self._position >= len(self._phases)

    @property
    def phase(self) -> Phase:
        return self._phases[self._position]

    @property
    def current_step(self) -> int:
        assert self.job is not None
        step: int = self.job.current_order[0]
        return step

    @property
    def sets_clock(self) -> bool:
        return any("time" in step for step in self.case.steps)

    def advance(self) -> None:
        self._position += 1

    def messages(self, plan: PhysicalPlan) -> Iterator[tuple[Target, Message]]:
        """What this phase feeds to the sources."""
        for step in self.phase.steps:
            if isinstance(step, Feed):
                yield self._fed(step.input_index, step, plan)
            elif step.action == "end":
                for index in range(len(self._sources)):
                    for channel in range(self._channels):
                        yield self._fed(index, Feed(step.number, index, channel, progress=Watermark.MAX), plan)

    def new_time(self) -> int | None:
        """The time that this phase sets the clock to."""
        times = [step.argument for step in self.phase.steps if isinstance(step, Act) and step.action == "time"]
        return times[-1] if times else None

    def answer(self) -> None:
        """Answer the requests that this phase answers."""
        for step in self.phase.steps:
            if isinstance(step, Act) and step.action in ("complete", "fail"):
                if self.answers is None:
                    raise self.case.error(f"step {step.number}: {step.action} is for asynchronous operators")
                if step.action == "complete":
                    self.answers.complete(step.argument["id"], step.argument.get("v"))
                else:
                    self.answers.fail(step.argument)

    def check(self, plan: PhysicalPlan) -> None:
        """Check what this phase expects, after its batch."""
        for expect in self.phase.expects:
            self.failure = self._check(expect, plan)
            if self.failure is not None:
                return

    def failed(self, error: Exception) -> None:
        """The batch of this phase failed: that is the end of the case, as it should be or not."""
        expects = self.phase.expects
        if not (expects and expects[0].action == "expect_error" and expects[0].expected):
            number = expects[0].number if expects else self.phase.steps[-1].number
            self.failure = Failure(number, "no error", error)
        self._position = len(self._phases)

    def _fed(self, input_index: int, feed: Feed, plan: PhysicalPlan) -> tuple[Target, Message]:
        source = plan.by_number[self._sources[input_index]]
        assert isinstance(source, PlannedSource)
        channel = str(feed.channel)
        order = (feed.number, "")
        target = Target(0, subtask_of_channel(source, channel))
        if feed.progress is not None:
            return target, Moved(order, source.uid, channel, feed.progress)
        return target, Element(order, source.uid, channel, None, feed.value, feed.timestamp)

    def _check(self, expect: Expect, plan: PhysicalPlan) -> Failure | None:
        assert self.job is not None
        if expect.action == "expect_error":
            return Failure(expect.number, "an error", "none") if expect.expected else None
        if expect.action == "expect_wm":
            got = self.job.watermark(self._sink)
        elif expect.action == "expect_dropped":
            got = self._dropped(plan)
        else:
            sinks = [self._results] if expect.action == "expect" else list(self._late.values())
            outcomes = sorted((outcome for sink in sinks for outcome in sink.take()), key=lambda o: o.step)
            if matches(expect.expected, outcomes, ordered=self._is_ordered or self.is_async):
                return None
            return Failure(expect.number, expect.expected, [outcome.fields for outcome in outcomes])
        return None if got == expect.expected else Failure(expect.number, expect.expected, got)

    def _dropped(self, plan: PhysicalPlan) -> int:
        assert self.job is not None
        uids = {plan.by_number[number].uid for number in self._numbers if number in plan.by_number}
        return sum(
            values.get("num_late_records_dropped", 0)
            for uid, subtasks in self.job.metrics().items()
            if uid in uids
            for values in subtasks
        )


def _phases(script: Sequence[Step], cuts: set[int], *, is_async: bool) -> Iterator[Phase]:
    """The batches of a script. What happens between requests and their answers is a batch each."""
    phase = Phase()
    for step in script:
        if isinstance(step, Expect):
            phase.expects.append(step)
            continue
        is_cut = bool(phase.steps) and (is_async or phase.steps[-1].number in cuts)
        if phase.expects or is_cut or phase.restarts:
            yield phase
            phase = Phase()
        if isinstance(step, Act) and step.action == "restart":
            phase.restarts = True
        else:
            phase.steps.append(step)
    yield phase
