"""Channels by name: valves that learn of them, and the names that they have behind sources and tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import cloudpickle
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.engine.channels import (
    ChannelValve,
    channel_name,
    expected_channels,
    expected_channels_in,
    source_channel,
    subtask_channel,
    subtask_of_channel,
)
from tidegate.engine.lowering import lower
from tidegate.engine.plan import PhysicalPlan, PlannedSink, PlannedSource, PlannedTask
from tidegate.testing import ManualSource

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE
NAMES = "abcd"

moves = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.one_of(
            st.integers(-5, 40).map(Watermark), st.just(Watermark.MAX), st.sampled_from([ACTIVE, IDLE]), st.none()
        ),
    ),
    max_size=30,
)
Moves = list[tuple[str, Progress | None]]


def apply(valve: ChannelValve, name: str, progress: Progress | None) -> list[Progress]:
    """None stands for a channel of which only its name is known."""
    return valve.join(name) if progress is None else valve.move(name, progress)


@settings(deadline=None)
@given(moves)
def test_a_valve_over_names_does_what_one_over_numbers_does(steps: Moves) -> None:
    named, numbered = ChannelValve(NAMES), StatusWatermarkValve(len(NAMES))
    for name, progress in steps:
        channel = NAMES.index(name)
        expected: list[Progress] = []
        if isinstance(progress, Watermark):
            expected = numbered.input_watermark(progress, channel)
        elif progress is not None:
            expected = numbered.input_status(progress, channel)
        assert apply(named, name, progress) == expected
        assert named.last_output == numbered.last_output


@settings(deadline=None)
@given(moves)
def test_a_channel_joins_with_its_first_sign_as_if_it_had_been_announced(steps: Moves) -> None:
    announced, silent = ChannelValve("a"), ChannelValve("a")
    for name, progress in steps:
        before = announced.join(name)
        assert apply(silent, name, progress) == before + apply(announced, name, progress)
    assert silent.names == announced.names


@settings(deadline=None)
@given(moves, st.integers(0, 30))
def test_a_valve_that_is_restored_goes_on_as_it_would_have(steps: Moves, cut: int) -> None:
    straight, restored = ChannelValve("a"), ChannelValve("a")
    for number, (name, progress) in enumerate(steps):
        if number == cut:
            saved = cloudpickle.loads(cloudpickle.dumps(restored.snapshot()))
            restored = ChannelValve()
            restored.restore(saved)
        assert apply(restored, name, progress) == apply(straight, name, progress)
    assert restored.names == straight.names


def test_a_channel_that_joins_holds_the_output_until_it_speaks() -> None:
    valve = ChannelValve("a")
    assert valve.move("a", Watermark(5)) == [Watermark(5)]
    assert valve.join("b") == []
    assert valve.move("a", Watermark(9)) == []
    assert valve.move("b", Watermark(7)) == [Watermark(7)]
    assert valve.join("b") == []
    assert valve.names == {"a": 0, "b": 1}


def test_a_channel_that_joins_an_idle_input_wakes_it() -> None:
    valve = ChannelValve("a")
    assert valve.move("a", IDLE) == [IDLE]
    assert valve.join("b") == [ACTIVE]


def test_a_valve_without_channels_is_silent() -> None:
    valve = ChannelValve()
    assert valve.last_output == MIN_TIME
    assert valve.names == {}


# Names in a plan


class Rest(ManualSource):
    """A source that expects only some of its channels."""

    def expected_channels(self) -> Sequence[str]:
        return self.channels()[:1]


def plan_of(build: Any, parallelism: int = 2) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    build(env)
    return lower(env._graph())


def united(env: StreamExecutionEnvironment) -> None:
    left = env.add_source(ManualSource(2), "left").uid("left").map(str).uid("map")
    right = env.add_source(Rest(2), "right").uid("right")
    sums = left.union(right).key_by(lambda value: value).reduce(max).uid("sums")
    sums.map(str).uid("texts").sink_to(CollectSink()).uid("out")
    left.rebalance().sink_to(CollectSink()).uid("moved")


def test_an_input_expects_the_channels_of_all_streams_before_it() -> None:
    plan = plan_of(united)
    sums = plan.by_uid["sums"]
    assert isinstance(sums, PlannedTask)
    assert expected_channels(sums.inputs[0], plan) == ["0:left/0", "0:left/1", "1:right/0"]


def test_behind_a_task_there_is_a_channel_for_each_of_its_subtasks() -> None:
    plan = plan_of(united)
    out, sums = plan.by_uid["out"], plan.by_uid["sums"]
    assert isinstance(out, PlannedSink)
    assert isinstance(sums, PlannedTask)
    assert expected_channels(out.inputs[0], plan) == ["0:sums/0", "0:sums/1"]
    assert [subtask_channel(sums, subtask) for subtask in range(2)] == ["sums/0", "sums/1"]


def test_a_subtask_of_a_sink_expects_what_is_carried_to_it_and_all_that_is_exchanged() -> None:
    plan = plan_of(united)
    out, moved = plan.by_uid["out"], plan.by_uid["moved"]
    assert isinstance(out, PlannedSink)
    assert isinstance(moved, PlannedSink)
    assert [expected_channels_in(out.inputs[0], plan, subtask) for subtask in range(2)] == [["0:sums/0"], ["0:sums/1"]]
    assert [expected_channels_in(moved.inputs[0], plan, subtask) for subtask in range(2)] == [
        ["0:left/0", "0:left/1"],
        ["0:left/0", "0:left/1"],
    ]


def test_channels_of_two_streams_and_of_two_sources_have_different_names() -> None:
    plan = plan_of(united)
    left, right = plan.sources
    first, second = plan.by_uid["sums"].inputs[0]  # type: ignore[union-attr]
    names = {
        channel_name(edge, source_channel(source, channel))
        for edge in (first, second)
        for source in (left, right)
        for channel in "01"
    }
    assert len(names) == 8


@settings(deadline=None)
@given(st.integers(1, 6), st.lists(st.text(max_size=8), unique=True))
def test_every_channel_of_a_source_is_held_by_one_subtask(parallelism: int, channels: list[str]) -> None:
    source = PlannedSource(0, "in", "in", "source", None, 0, parallelism, ManualSource(1), None)  # type: ignore[arg-type]
    held = [subtask_of_channel(source, channel) for channel in channels]
    assert all(0 <= subtask < parallelism for subtask in held)
    assert held == [subtask_of_channel(source, channel) for channel in channels]


def test_the_channels_of_a_source_are_spread_over_its_subtasks() -> None:
    (source, _) = plan_of(united).sources
    counts = Counter(subtask_of_channel(source, str(channel)) for channel in range(100))
    assert sorted(counts) == [0, 1]
    assert min(counts.values()) > 25
