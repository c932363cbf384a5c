"""A stage without Spark: what one subtask does from batch to batch."""

from __future__ import annotations

from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.core.columnar.pane_log import MemoryBlobs
from tidegate.core.columnar.table_cache import TableCache
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.graph.plan import Plan
from tidegate.spark.packing import Clock, Item
from tidegate.spark.routing import source_edge
from tidegate.spark.stage import Stage
from tidegate.spark.stage_options import StageOptions
from tidegate.testing import ManualSource, WatermarkStatus


class Batches:
    """One stamped source with an idle timeout of 100 ms, driven batch by batch."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(parallelism=1)
        stream = env.add_source(ManualSource(1), "input")
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness("100 ms")
        stream.assign_timestamps_and_watermarks(strategy).sink_to(CollectSink())
        plan = Plan.of(env._graph())
        self._edge = source_edge(plan.graph.uid(stream._node("test")))
        self.options = StageOptions(plan, 1, run_id="first run")
        self._blobs = MemoryBlobs()

    def at(self, now: int, *timestamps: int) -> list[Any]:
        """One batch at `now` with these elements; the statuses that it sent."""
        items = [Item((0, ""), "", "", progress=Clock(now))]
        items += [Item((n, ""), self._edge, "0", None, "x", t) for n, t in enumerate(timestamps)]
        sent = Stage(self.options, 0, 0, self._blobs, TableCache()).process(items, now)
        return [item.progress for _, out in sent for item in out if isinstance(item.progress, WatermarkStatus)]


def test_the_idle_countdown_goes_on_from_batch_to_batch() -> None:
    batches = Batches()
    assert batches.at(0, 5) == []
    assert [batches.at(now) for now in (50, 100, 150, 151)] == [[], [], [], [WatermarkStatus.IDLE]]
    assert batches.at(200, 6) == [WatermarkStatus.ACTIVE]


def test_a_channel_that_never_spoke_goes_idle_too() -> None:
    batches = Batches()
    assert [batches.at(now) for now in (0, 100, 101)] == [[], [], [WatermarkStatus.IDLE]]


def test_after_a_restart_the_idle_countdown_starts_anew() -> None:
    batches = Batches()
    batches.at(0, 5)
    batches.at(50)
    batches.options.run_id = "second run"
    assert [batches.at(now) for now in (5_000, 5_100, 5_101)] == [[], [], [WatermarkStatus.IDLE]]
