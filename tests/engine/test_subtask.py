"""What one subtask does from batch to batch."""

from __future__ import annotations

from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.engine.functions import SubtaskFunctions
from tidegate.engine.lowering import lower
from tidegate.engine.messages import Element, Moved
from tidegate.engine.state import MemoryState
from tidegate.engine.subtask import Subtask
from tidegate.engine.wiring import BatchTime, Surroundings
from tidegate.testing import ManualSource, WatermarkStatus


class Batches:
    """One stamped source with an idle timeout of 100 ms, driven batch by batch."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(parallelism=1)
        stream = env.add_source(ManualSource(1), "input").uid("in")
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness("100 ms")
        stream.assign_timestamps_and_watermarks(strategy).sink_to(CollectSink())
        self._plan = lower(env._graph())
        self._time = BatchTime()
        self._subtask = self._create(None, is_restart=False)

    def at(self, now: int, *timestamps: int) -> list[Any]:
        """One batch at `now` with these elements; the statuses that it sent."""
        self._time.now = now
        elements = [Element((n, ""), "in", "0", None, "x", t) for n, t in enumerate(timestamps)]
        sent = [message for messages in self._subtask.run(elements).values() for message in messages]
        moved = [message.progress for message in sent if isinstance(message, Moved)]
        return [progress for progress in moved if isinstance(progress, WatermarkStatus)]

    def rebuild(self, *, is_restart: bool) -> None:
        """Go on from a snapshot: in another worker, or after a restart."""
        self._subtask = self._create(self._subtask.snapshot(), is_restart=is_restart)

    def _create(self, saved: Any, *, is_restart: bool) -> Subtask:
        functions = SubtaskFunctions(0, self._time, makes_copies=False)
        surroundings = Surroundings(self._time, is_restart=is_restart)
        return Subtask(self._plan, 0, 0, functions, MemoryState(), surroundings, saved)


def test_the_idle_countdown_goes_on_from_batch_to_batch() -> None:
    batches = Batches()
    assert batches.at(0, 5) == []
    assert [batches.at(now) for now in (50, 100, 150, 151)] == [[], [], [], [WatermarkStatus.IDLE]]
    assert batches.at(200, 6) == [WatermarkStatus.ACTIVE]


def test_the_idle_countdown_goes_on_in_another_worker() -> None:
    batches = Batches()
    batches.at(0, 5)
    batches.at(50)
    batches.rebuild(is_restart=False)
    assert [batches.at(now) for now in (100, 150, 151)] == [[], [], [WatermarkStatus.IDLE]]


def test_a_channel_that_never_spoke_goes_idle_too() -> None:
    batches = Batches()
    assert [batches.at(now) for now in (0, 100, 101)] == [[], [], [WatermarkStatus.IDLE]]


def test_after_a_restart_the_idle_countdown_starts_anew() -> None:
    batches = Batches()
    batches.at(0, 5)
    batches.at(50)
    batches.rebuild(is_restart=True)
    assert [batches.at(now) for now in (5_000, 5_100, 5_101)] == [[], [], [WatermarkStatus.IDLE]]
