"""The in-process runner: stages in order, one clock for a batch, snapshots, ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.operator.operator import Operator
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.watermark.records import Watermark
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.functions import KeyedProcessFunction, RuntimeContext
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Element, Message, Moved, Target, Tick
from tidegate.engine.runner import InProcessRunner
from tidegate.errors import SnapshotError, UserCodeError
from tidegate.testing import ManualClock, ManualSource


class Written(Sink):
    def __init__(self) -> None:
        self.values: list[Any] = []
        self.watermarks: list[int] = []

    def write(self, value: Any, context: SinkContext) -> None:
        self.values.append(value)
        self.watermarks.append(context.current_watermark)

    def take(self) -> list[Any]:
        values, self.values = self.values, []
        return values


class Counting(KeyedProcessFunction):
    """Numbers the elements of a key, says the time, and says that a key is over when time has passed 100."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))
        self._log.append("open")

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        if value == "fail":
            raise ValueError("told to")
        number = (self._count.value() or 0) + 1
        self._count.update(number)
        ctx.timer_service().register_event_time_timer(100)
        yield value, number, ctx.timer_service().current_processing_time()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ctx.get_current_key(), "over"

    def close(self) -> None:
        self._log.append("close")


def last(old: Any, new: Any) -> Any:
    return new


class Job:
    """A keyed count and a second keyed stage behind it, fed by hand."""

    def __init__(self, parallelism: int = 2, log: list[str] | None = None) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
        self.sink, self.side = Written(), Written()
        stream = env.add_source(ManualSource(2), "in").uid("in")
        # The first subtask has the function that the user gave, so its list is the one here.
        counted = stream.key_by(lambda value: value).process(Counting([] if log is None else log)).uid("count")
        counted.sink_to(self.sink)
        counted.key_by(lambda value: value[0]).reduce(last).uid("onward").sink_to(self.side)
        self.plan = lower(env._graph(), PlanOptions(0, reads_columns=False, has_micro_batches=False))
        self.clock = ManualClock()
        self.number = 0

    def start(self, saved: Any = None, **options: Any) -> InProcessRunner:
        runner = InProcessRunner(self.plan, self.clock, saved, **options)
        runner.sinks.open()
        return runner

    def messages(self, *steps: Any) -> dict[Target, list[Message]]:
        """Texts are elements of the first channel; numbers are watermarks of both."""
        (source,) = self.plan.sources
        inbox: dict[Target, list[Message]] = {}
        for step in steps:
            for channel in ("0",) if isinstance(step, str) else ("0", "1"):
                self.number += 1
                order = (self.number, "")
                message: Message = (
                    Element(order, "in", channel, None, step, None)
                    if isinstance(step, str)
                    else Moved(order, "in", channel, Watermark(step))
                )
                inbox.setdefault(Target(0, subtask_of_channel(source, channel)), []).append(message)
        return inbox


def test_one_batch_goes_through_all_stages_to_the_sinks() -> None:
    job = Job()
    runner = job.start()
    runner.run_batch(job.messages("a", "b", "a"))
    assert job.sink.take() == [("a", 1, 0), ("b", 1, 0), ("a", 2, 0)]
    assert job.side.take() == [("a", 1, 0), ("b", 1, 0), ("a", 2, 0)]
    runner.run_batch(job.messages("b"))
    assert job.sink.take() == [("b", 2, 0)]


def test_the_messages_that_a_batch_was_given_stay_as_they_are() -> None:
    job = Job()
    messages = job.messages("a", 5)
    messages[Target(1, 0)] = [Tick()]
    before = {target: list(given) for target, given in messages.items()}
    job.start().run_batch(messages)
    assert messages == before


class Ticking:
    """A clock that moves whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


def test_the_clock_is_read_once_for_a_batch() -> None:
    job = Job()
    runner = InProcessRunner(job.plan, Ticking())
    runner.sinks.open()
    runner.run_batch(job.messages("a", "b", "c", "d"))
    first = {time for _, _, time in job.sink.take()}
    runner.run_batch(job.messages("a", "b", "c", "d"))
    second = {time for _, _, time in job.sink.take()}
    assert len(first) == len(second) == 1
    assert first.isdisjoint(second)


steps = st.lists(st.lists(st.sampled_from(["a", "b", "c", 5, 40, 99, 100]), max_size=5), max_size=6)


@settings(max_examples=80, deadline=None)
@given(steps, st.sets(st.integers(0, 5)), st.integers(1, 3))
def test_a_runner_built_from_a_snapshot_goes_on_as_the_old_one_would_have(
    batches: list[list[Any]], cuts: set[int], parallelism: int
) -> None:
    whole, cut = Job(parallelism), Job(parallelism)
    runner, restarted = whole.start(), cut.start()
    for number, batch in enumerate(batches):
        if number in cuts:
            restarted = cut.start(cloudpickle.loads(cloudpickle.dumps(restarted.snapshot())))
        runner.run_batch(whole.messages(*batch))
        restarted.run_batch(cut.messages(*batch))
        assert cut.sink.take() == whole.sink.take()
        assert cut.side.take() == whole.side.take()
    assert cut.sink.watermarks == whole.sink.watermarks
    assert restarted.metrics().keys() == runner.metrics().keys()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.lists(st.integers(1, 5), min_size=1), st.integers(1, 4))
def test_neither_the_cut_into_batches_nor_the_number_of_subtasks_changes_the_results(
    values: list[str], sizes: list[int], parallelism: int
) -> None:
    one, many = Job(1), Job(parallelism)
    alone, cut = one.start(), many.start()
    alone.run_batch(one.messages(*values))
    rest = list(values)
    while rest:
        size = sizes[len(rest) % len(sizes)]
        cut.run_batch(many.messages(*rest[:size]))
        rest = rest[size:]
    assert many.sink.take() == one.sink.take()
    for job, runner in ((one, alone), (many, cut)):
        runner.run_batch(job.messages(100))
    assert sorted(many.sink.take()) == sorted(one.sink.take()) == sorted((key, "over") for key in set(values))


def test_a_snapshot_of_fewer_subtasks_is_refused() -> None:
    narrow, wide = Job(1), Job(2)
    with pytest.raises(SnapshotError, match="the checkpoint has no subtask 1 of stage 0"):
        wide.start(narrow.start().snapshot())


def test_operators_are_those_of_all_stages_upstream_first() -> None:
    job = Job()
    runner = job.start()
    assert [operator.name for operator in runner.operators()] == ["process Counting"] * 2 + ["reduce last"] * 2


def test_every_operator_is_configured_before_it_is_opened() -> None:
    log: list[str] = []
    configured: list[str] = []

    def configure(operator: Operator) -> None:
        configured.append(operator.name)
        if operator.name.endswith("Counting"):
            log.append("configure")

    Job(1, log).start(configure=configure)
    assert configured == ["process Counting", "reduce last"]
    assert log == ["configure", "open"]


def test_metrics_are_a_dict_for_each_subtask_by_uid() -> None:
    job = Job()
    runner = job.start()
    runner.run_batch(job.messages("a", "b", 7))
    metrics = runner.metrics()
    assert [values["current_input_watermark"] for values in metrics["count"]] == [7, 7]
    assert len(metrics["onward"]) == 2
    sinks = {node.uid for node in job.plan.sinks}
    assert set(metrics) == {"count", "onward", *sinks}


def test_functions_are_closed_once_when_the_run_ends() -> None:
    log: list[str] = []
    runner = Job(1, log).start()
    assert log == ["open"]
    runner.close()
    runner.close()
    assert log == ["open", "close"]


def test_a_run_that_failed_closes_what_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    job = Job(1, log)
    runner = job.start()
    with pytest.raises(UserCodeError, match=r"process Counting: .*told to"):
        runner.run_batch(job.messages("fail"))
    closed: list[str] = []

    def refuse(operator: Operator) -> None:
        closed.append(operator.name)
        raise ValueError("cannot close")

    for operator in runner.operators():
        monkeypatch.setattr(operator, "close", lambda operator=operator: refuse(operator))
    runner.abandon()
    assert closed == ["process Counting", "reduce last"]
