"""Operators of one stage in one subtask: lanes that come with their channels, tasks, and what is sent where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.common import Types, WatermarkStrategy
from tidegate.core.operator.operator import Operator
from tidegate.core.watermark.records import Watermark
from tidegate.datastream import CollectSink, OutputTag, StreamExecutionEnvironment
from tidegate.datastream.functions import MapFunction, ProcessFunction, RuntimeContext
from tidegate.engine.functions import SubtaskFunctions
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Element, Joined, Message, Moved, Order, Target
from tidegate.engine.plan import SINKS, PhysicalPlan
from tidegate.engine.state import MemoryState
from tidegate.engine.wiring import BatchTime, Surroundings, Wiring
from tidegate.errors import TidegateError
from tidegate.testing import ManualSource

SIDE = OutputTag("side")


class Life(MapFunction):
    """Counts in a metric, and writes down when it is opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[int, int]] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        where = runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()
        self.opened.append(where)
        self._counter = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> Any:
        self._counter.inc()
        return value


class Splits(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.output(SIDE, 10 * value)
        yield value


class Sent:
    """A subtask that sends."""

    def __init__(self) -> None:
        self._number = 0
        self._messages: list[tuple[Target, Any]] = []

    def next_order(self) -> Order:
        self._number += 1
        return (self._number, "")

    def send(self, target: Target, message: Message) -> None:
        self._messages.append((target, message))

    def take(self) -> list[tuple[Target, Any]]:
        messages, self._messages = self._messages, []
        return messages


class Wired:
    """One stage of a program in one subtask."""

    def __init__(
        self,
        build: Callable[[StreamExecutionEnvironment], Any],
        *,
        stage: int = 0,
        subtask: int = 0,
        parallelism: int = 2,
        configure: Callable[[Operator], None] | None = None,
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
        build(env)
        self.plan: PhysicalPlan = lower(env._graph(), PlanOptions(0, reads_columns=False))
        self.sent = Sent()
        self._place = (stage, subtask)
        self._surroundings = Surroundings(BatchTime(), configure=configure)
        self.wiring = self.start(None)

    def start(self, saved: Any) -> Wiring:
        """Build it anew, from a snapshot or from nothing."""
        functions = SubtaskFunctions(self._place[1], BatchTime(), makes_copies=False)
        wiring = Wiring(self.plan, *self._place, functions, MemoryState(), self.sent, self._surroundings)
        wiring.build(saved)
        self.wiring = wiring
        return wiring

    def restart(self) -> None:
        self.start(cloudpickle.loads(cloudpickle.dumps(self.wiring.snapshot())))

    def source(self, channel: str = "0", uid: str = "in") -> Any:
        node: Any = self.plan.by_uid[uid]
        return self.wiring.join_source(node, channel)

    def edge(self, uid: str) -> int:
        """The number of the only edge into an operator."""
        (number,) = [edge.number for edge in self.plan.edges if self.plan.target(edge).uid == uid]
        return number


def manual(env: StreamExecutionEnvironment, uid: str = "in") -> Any:
    return env.add_source(ManualSource(2), uid).uid(uid)


def chain(function: Life) -> Callable[[StreamExecutionEnvironment], Any]:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = manual(env).map(function).name("life").uid("life")
        stream.key_by(lambda value: value).reduce(max).uid("sums").sink_to(CollectSink()).uid("out")

    return build


def test_a_channel_that_is_new_is_announced_to_every_subtask_behind_it_once() -> None:
    wired = Wired(chain(Life()))
    assert wired.sent.take() == []
    wired.source("0")
    joins = wired.sent.take()
    assert [(target, message.port, message.channel) for target, message in joins] == [
        (Target(1, subtask), wired.edge("sums"), "in/0") for subtask in range(2)
    ]
    assert all(isinstance(message, Joined) for _, message in joins)
    wired.source("0")
    assert wired.sent.take() == []


def test_a_channel_before_a_sink_is_announced_to_the_subtask_of_the_same_number() -> None:
    wired = Wired(lambda env: manual(env).map(str).sink_to(CollectSink()).uid("out"), subtask=1)
    wired.source("0")
    ((target, message),) = wired.sent.take()
    assert (target, message.channel) == (Target(SINKS, 1), "in/0")


def test_an_element_of_a_source_runs_through_its_chain_and_leaves_with_its_channel() -> None:
    wired = Wired(
        lambda env: manual(env).map(lambda value: value + 1).map(str).sink_to(CollectSink()).uid("out"), subtask=1
    )
    source = wired.source("1")
    wired.sent.take()
    source.collect(4, 9)
    source.emit(Watermark(9))
    edge = wired.edge("out")
    assert [(target, message._replace(order=())) for target, message in wired.sent.take()] == [
        (Target(SINKS, 1), Element((), edge, "in/1", None, "5", 9)),
        (Target(SINKS, 1), Moved((), edge, "in/1", Watermark(9))),
    ]


def test_a_lane_is_the_same_whenever_its_channel_is_asked_for() -> None:
    wired = Wired(chain(Life()))
    node: Any = wired.plan.by_uid["life"]
    lane = wired.wiring.join_lane(node, "in/0")
    assert wired.wiring.join_lane(node, "in/0") is lane
    assert wired.wiring.join_lane(node, "in/1") is not lane


def test_lanes_of_all_channels_share_their_function_which_is_opened_once() -> None:
    life = Life()
    wired = Wired(chain(life), subtask=1)
    for channel in "01":
        wired.source(channel).collect(1, None)
    assert life.opened == [(1, 2)]
    assert len(wired.wiring.lanes) == 1
    ((number, lanes),) = wired.wiring.lanes.items()
    assert wired.plan.by_number[number].uid == "life"
    assert list(lanes) == ["in/0", "in/1"]
    assert wired.wiring.metrics()["life"]["seen"] == 2


def test_each_lane_has_watermarks_of_its_own() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()

    def build(env: StreamExecutionEnvironment) -> None:
        manual(env).assign_timestamps_and_watermarks(strategy).uid("stamp").sink_to(CollectSink()).uid("out")

    wired = Wired(build)
    wired.source("0").collect("x", 10)
    wired.source("1").collect("x", 5)
    for _, operator in wired.wiring.operators():
        operator.on_periodic_emit()
    marks = [
        (message.channel, message.progress.timestamp)
        for _, message in wired.sent.take()
        if isinstance(message, Moved) and isinstance(message.progress, Watermark)
    ]
    assert marks == [("in/0", 9), ("in/1", 4)]


def test_people_see_a_channel_as_its_source_calls_it() -> None:
    channels: list[str] = []
    wired = Wired(chain(Life()), configure=lambda operator: channels.append(operator.context.channel))
    wired.source("1")
    assert channels == ["1"]


def test_people_see_the_source_too_where_several_are_united() -> None:
    channels: list[str] = []

    def build(env: StreamExecutionEnvironment) -> None:
        manual(env).union(manual(env, "too")).map(str).sink_to(CollectSink())

    wired = Wired(build, configure=lambda operator: channels.append(operator.context.channel))
    wired.source("1")
    wired.source("1", "too")
    assert channels == ["in/1", "too/1"]


def test_a_task_is_there_from_the_beginning_with_the_channels_that_are_expected() -> None:
    wired = Wired(chain(Life()), stage=1)
    (task,) = wired.wiring.tasks.values()
    assert list(task.valves[0].names) == ["0:in/0", "0:in/1"]
    assert [node.uid for node, _ in wired.wiring.operators()] == ["sums"]


def test_a_subtask_beyond_the_parallelism_of_an_operator_has_none() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        manual(env).key_by(lambda value: value).reduce(max).set_parallelism(1).sink_to(CollectSink())

    assert len(Wired(build, stage=1, subtask=0).wiring.tasks) == 1
    assert len(Wired(build, stage=1, subtask=1).wiring.tasks) == 0


def test_side_outputs_go_only_to_those_who_read_them_and_time_to_all() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        split = manual(env).process(Splits()).uid("split")
        split.sink_to(CollectSink()).uid("main")
        split.get_side_output(SIDE).map(lambda value: -value).sink_to(CollectSink()).uid("side")

    wired = Wired(build)
    source = wired.source()
    wired.sent.take()
    source.collect(7, None)
    source.emit(Watermark(3))
    sent = [(message.port, getattr(message, "value", None)) for _, message in wired.sent.take()]
    main, side = wired.edge("main"), wired.edge("side")
    assert sorted(sent, key=str) == sorted([(main, 7), (side, -70), (main, None), (side, None)], key=str)


def test_elements_are_checked_against_the_declared_type_where_they_leave() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        manual(env).map(lambda value: value, Types.INT()).name("typed").sink_to(CollectSink())

    source = Wired(build).source()
    source.collect(1, None)
    with pytest.raises(TidegateError, match="typed"):
        source.collect("one", None)


def rebalanced(env: StreamExecutionEnvironment) -> None:
    manual(env).rebalance().map(str).uid("texts").sink_to(CollectSink())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("01"), st.booleans()), max_size=15))
def test_turns_go_on_where_they_were_after_a_restart_at_any_place(steps: list[tuple[str, bool]]) -> None:
    straight, cut = Wired(rebalanced, parallelism=3), Wired(rebalanced, parallelism=3)
    for wired in (straight, cut):
        for channel in "01":
            wired.source(channel)
        wired.sent.take()
    for channel, is_cut in steps:
        if is_cut:
            cut.restart()
        for wired in (straight, cut):
            wired.source(channel).collect("x", None)
        assert [target for target, _ in cut.sent.take()] == [target for target, _ in straight.sent.take()]


def test_what_is_restored_has_its_channels_already_and_announces_nothing() -> None:
    wired = Wired(chain(Life()))
    wired.source("0").collect(1, None)
    wired.source("0").emit(Watermark(5))
    wired.sent.take()
    wired.restart()
    source = wired.source("0")
    assert wired.sent.take() == []
    assert source.current_watermark == 5
    assert wired.wiring.metrics()["life"]["seen"] == 1
    source.collect(2, None)
    assert wired.wiring.metrics()["life"]["seen"] == 2


def test_lanes_of_operators_that_a_program_no_longer_has_are_left_out() -> None:
    old = Wired(chain(Life()))
    old.source("0")
    saved = old.wiring.snapshot()
    new = Wired(lambda env: manual(env).map(str).uid("other").sink_to(CollectSink()))
    new.start(saved)
    assert list(new.wiring.lanes) == [new.plan.by_uid["other"].number]


def test_the_clock_of_a_batch_stands_still_until_it_is_set() -> None:
    clock = BatchTime(5)
    assert (clock(), clock()) == (5, 5)
    clock.now = 9
    assert clock() == 9
