"""Sinks: whole batches in order, one watermark over all channels, an object for all subtasks or one for each."""

from __future__ import annotations

from typing import Any

from tidegate.core.operator.sink import BatchId, Sink, SinkContext
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.engine.lowering import lower
from tidegate.engine.messages import Element, Moved, Target
from tidegate.engine.plan import SINKS
from tidegate.engine.sinks import Arrived, Sinks


class Diary(Sink):
    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.unique_id = ""

    def open(self, runtime_context: Any) -> None:
        self.unique_id = runtime_context.get_operator_unique_id()

    def begin_batch(self, batch_id: int) -> None:
        self.lines.append(f"begin {batch_id}")

    def write(self, value: Any, context: SinkContext) -> None:
        self.lines.append((value, context.current_watermark))

    def commit_batch(self, batch_id: int) -> None:
        self.lines.append(f"commit {batch_id}")

    def close(self) -> None:
        self.lines.append("close")


class Driver:
    """Two sinks behind one source, as after a restart."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
        stream = env.from_collection([1])
        self.diaries = (Diary(), Diary())
        stream.uid("in")
        for diary, uid in zip(self.diaries, "ab", strict=True):
            stream.sink_to(diary).uid(uid)
        self._plan = lower(env._graph())
        self.sinks = Sinks(self._plan, lambda: 0, "job")
        self.sinks.open()

    def write(self, batch_id: int, value: str, watermark: int) -> None:
        self.sinks.begin_batch(BatchId(batch_id))
        arrived: list[Arrived] = []
        for edge in self._plan.edges:
            arrived.append((Target(SINKS, 0), Moved((2, "0"), edge.number, "in/0", Watermark(watermark))))
            arrived.append((Target(SINKS, 0), Element((1, "0"), edge.number, "in/0", None, value, None)))
        self.sinks.process(arrived)
        self.sinks.commit_batch(BatchId(batch_id))


def test_every_sink_sees_whole_batches_with_their_id() -> None:
    driver = Driver()
    driver.write(4, "x", 10)
    driver.write(5, "y", 20)
    driver.sinks.close()
    for diary in driver.diaries:
        assert diary.lines == ["begin 4", ("x", MIN_TIME), "commit 4", "begin 5", ("y", 10), "commit 5", "close"]


def test_sinks_have_ids_that_a_restart_keeps() -> None:
    first, second = Driver(), Driver()
    assert [diary.unique_id for diary in first.diaries] == [diary.unique_id for diary in second.diaries]
    assert first.diaries[0].unique_id != first.diaries[1].unique_id


def test_a_repeated_batch_sees_the_watermark_from_before_it() -> None:
    driver = Driver()
    driver.write(0, "x", 10)
    before = driver.sinks.snapshot()
    driver.write(1, "y", 20)
    restarted = Driver()
    restarted.sinks.restore(before)
    restarted.write(1, "y", 20)
    for diary in restarted.diaries:
        assert diary.lines == ["begin 1", ("y", 10), "commit 1"]
