"""What the driver reads itself: channels in turn, one order over all, snapshots behind what was taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.in_process import Frame

from tidegate.core.source.source import Source
from tidegate.core.source.source_context import ProcessingTimeContext
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.core.watermark.records import Watermark
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.functions import ParallelSourceFunction, SourceFunction
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.feeder import Feeder
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Element, Message, Moved, Target
from tidegate.engine.plan import PhysicalPlan
from tidegate.errors import UserCodeError
from tidegate.testing import ManualClock


class Lists(Source):
    """A list for each channel. Elements are what is in them; an error is raised instead."""

    def __init__(self, *lists: Sequence[Any]) -> None:
        self._lists = lists

    def channels(self) -> Sequence[str]:
        return tuple(map(str, range(len(self._lists))))

    def read(self, channel: str) -> Iterator[Any]:
        for value in self._lists[int(channel)]:
            if isinstance(value, Exception):
                raise value
            yield value


class Timed(Lists):
    """Elements with their timestamps."""

    has_timestamps = True


def plan_of(*sources: Any, parallelism: int = 2, interval: int = 0) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    for number, source in enumerate(sources):
        env.add_source(source, f"input {number}").uid(f"in {number}").sink_to(CollectSink())
    return lower(env._graph(), PlanOptions(interval, reads_columns=False, has_micro_batches=False))


def feeder(*sources: Any, saved: Any = None, **options: Any) -> Feeder:
    return Feeder(plan_of(*sources, **options), ManualClock(), saved=saved)


def in_order(taken: dict[Target, list[Message]]) -> list[Any]:
    """Messages of all subtasks by their order."""
    ordered: list[Any] = [message for messages in taken.values() for message in messages]
    return sorted(ordered, key=lambda message: message.order)


def values(taken: dict[Target, list[Message]]) -> list[Any]:
    return [message.value for message in in_order(taken) if isinstance(message, Element)]


def ended(taken: dict[Target, list[Message]]) -> list[tuple[Any, str]]:
    return [
        (message.port, message.channel)
        for message in in_order(taken)
        if isinstance(message, Moved) and message.progress == Watermark.MAX
    ]


def test_channels_are_read_in_turn_an_element_each() -> None:
    one = feeder(Lists("abc", "xy"), Lists("1"))
    one.read()
    taken = one.take()
    assert values(taken) == ["a", "x", "1", "b", "y", "c"]
    assert set(ended(taken)) == {("in 0", "0"), ("in 0", "1"), ("in 1", "0")}
    assert one.has_ended


def test_no_more_is_read_than_was_asked_for_but_for_the_turn() -> None:
    one = feeder(Lists("abcdef"))
    assert one.read(4) == 4
    assert values(one.take()) == list("abcd")
    assert not one.has_ended
    assert one.read(4) == 2
    assert values(one.take()) == list("ef")
    assert one.has_ended


def test_what_was_taken_is_not_given_again() -> None:
    one = feeder(Lists("ab"))
    one.read(1)
    assert values(one.take()) == ["a"]
    assert one.take() == {}


def test_messages_go_to_the_subtask_that_holds_their_channel_and_enter_by_the_source() -> None:
    plan = plan_of(Lists(*("ab" for _ in range(6))), parallelism=3)
    one = Feeder(plan, ManualClock())
    one.read()
    (source,) = plan.sources
    taken = one.take()
    assert len(taken) > 1
    for target, messages in taken.items():
        for message in messages:
            assert isinstance(message, Element | Moved)
            assert target == Target(0, subtask_of_channel(source, message.channel))
            assert message.port == "in 0"


def test_elements_have_the_timestamps_of_their_source() -> None:
    one = feeder(Timed([("a", 5), ("b", None)]))
    one.read()
    elements = [message for message in in_order(one.take()) if isinstance(message, Element)]
    assert [(element.value, element.timestamp) for element in elements] == [("a", 5), ("b", None)]


def test_an_error_waits_until_what_came_before_it_was_taken() -> None:
    one = feeder(Lists(["a", ValueError("broken"), "b"]))
    assert one.read() == 1
    assert values(one.take()) == ["a"]
    with pytest.raises(UserCodeError, match="input 0, channel 0: the source raised ValueError: broken"):
        one.read()


def test_an_error_before_anything_is_raised_at_once() -> None:
    with pytest.raises(UserCodeError, match="broken"):
        feeder(Lists([ValueError("broken")])).read()


def test_a_channel_that_may_not_be_read_waits() -> None:
    closed = {"1"}
    plan = plan_of(Lists("ab", "xy"))
    one = Feeder(plan, ManualClock(), may_read=lambda source, channel: channel not in closed)
    one.read()
    assert values(one.take()) == ["a", "b"]
    assert not one.has_ended
    closed.clear()
    one.read()
    assert values(one.take()) == ["x", "y"]
    assert one.has_ended


def test_the_end_comes_behind_what_has_been_read() -> None:
    one = feeder(Lists("abc"))
    one.read(2)
    one.end()
    taken = in_order(one.take())
    assert [getattr(message, "value", None) for message in taken] == ["a", "b", None]
    assert taken[-1].progress == Watermark.MAX
    assert one.has_ended
    one.end()
    assert one.take() == {}


def test_a_stop_does_not_end_time() -> None:
    one = feeder(Lists("abc"))
    one.read(2)
    one.stop()
    assert ended(one.take()) == []
    assert not one.has_ended


def test_sources_that_workers_read_are_left_alone() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
    env.from_dataframe(Frame(pa.schema([("part", pa.string())])), channel="part", channels=["x"]).sink_to(CollectSink())
    one = Feeder(lower(env._graph()), ManualClock())
    assert one.read() == 0
    assert one.snapshot()["channels"] == {}
    assert one.has_ended


lists = st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=3)


@settings(max_examples=100, deadline=None)
@given(lists, st.lists(st.integers(1, 4), min_size=1, max_size=5), st.sets(st.integers(0, 12)))
def test_a_feeder_that_goes_on_from_a_snapshot_reads_exactly_what_is_left(
    given: list[list[int]], sizes: list[int], cuts: set[int]
) -> None:
    """Also the order goes on: a batch may hold messages from before and after."""
    straight, cut = feeder(Lists(*given)), feeder(Lists(*given))
    expected: list[Any] = []
    found: list[Any] = []
    for step in range(40):
        if step in cuts:
            saved = cut.snapshot()
            cut = feeder(Lists(*given), saved=cloudpickle.loads(cloudpickle.dumps(saved)))
            assert cut.snapshot() == saved
        straight.read(sizes[step % len(sizes)])
        cut.read(sizes[step % len(sizes)])
        expected += in_order(straight.take())
        found += in_order(cut.take())
    assert found == expected
    assert straight.has_ended
    assert cut.has_ended
    assert [message.order for message in found] == [(number, "") for number in range(1, len(found) + 1)]
    for channel, of_channel in enumerate(given):
        mine = [message for message in found if message.channel == str(channel)]
        assert [message.value for message in mine[:-1]] == of_channel
        assert mine[-1].progress == Watermark.MAX


# Time


class Probes:
    """A feeder in processing time whose contexts write down when they were asked to look at the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, interval: int) -> None:
        self._clock = ManualClock()
        self._times: list[int] = []
        monkeypatch.setattr(ProcessingTimeContext, "on_periodic_emit", lambda _: self._times.append(self._clock()))
        plan = plan_of(Lists("a", "abc"), interval=interval)
        self.feeder = Feeder(plan, self._clock, TimeCharacteristic.ProcessingTime)

    def at(self, *times: int) -> list[int]:
        """Let the feeder keep time at these; when contexts were asked."""
        for now in times:
            self._clock.advance_to(now)
            self.feeder.keep_time()
        taken, self._times = self._times, []
        return taken


def test_contexts_look_at_the_clock_once_in_every_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = Probes(monkeypatch, 100)
    assert probes.at(50, 99, 100, 150, 199, 200, 450, 549, 550) == [100, 100, 200, 200, 450, 450, 550, 550]


def test_a_channel_that_has_ended_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = Probes(monkeypatch, 100)
    probes.feeder.read(4)
    assert probes.at(100) == [100]


def test_without_an_interval_nobody_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Probes(monkeypatch, 0).at(0, 1, 1_000) == []


# Source functions


class Push(SourceFunction):
    """Pushes its number and the number of instances, and then waits to be cancelled."""

    def __init__(self) -> None:
        self._is_cancelled = False

    def open(self, runtime_context: Any) -> None:
        self._where = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
        )

    def run(self, ctx: Any) -> None:
        # Long enough for another instance to be opened.
        time.sleep(0.02)
        ctx.collect(self._where)
        while not self._is_cancelled:
            time.sleep(0.001)

    def cancel(self) -> None:
        self._is_cancelled = True


class ParallelPush(Push, ParallelSourceFunction):
    pass


@pytest.mark.parametrize(("function", "expected"), [(Push(), [(0, 1)]), (ParallelPush(), [(0, 2), (1, 2)])])
def test_a_source_function_runs_in_threads_an_instance_for_each_channel(
    function: SourceFunction, expected: list[Any]
) -> None:
    one = feeder(function)
    one.start()
    found: list[Any] = []
    while len(found) < len(expected):
        assert one.wake.wait(5)
        one.read()
        found += values(one.take())
    assert sorted(found) == expected
    one.end()
    assert len(ended(one.take())) == len(expected)
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("tidegate input 0") for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the thread of a source was not cancelled"
        time.sleep(0.001)


class Slow(Lists):
    def read(self, channel: str) -> Iterator[Any]:
        for value in super().read(channel):
            time.sleep(0.01)
            yield value


def test_reading_for_a_time_gives_what_a_slow_source_has_by_then() -> None:
    one = feeder(Slow(range(1_000)))
    assert 0 < one.read(seconds=0.05) < 100
    assert len(values(one.take())) < 100
