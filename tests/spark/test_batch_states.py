"""The sinks' state in the driver, and sinks whose batch comes again; no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.errors import SnapshotError
from tidegate.graph.plan import Plan
from tidegate.spark.batch_states import BatchStates
from tidegate.spark.packing import Item, pack
from tidegate.spark.routing import edge_name
from tidegate.spark.sinks import DriverSinks


def test_a_batch_that_comes_again_starts_from_the_state_before_it(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "s", "start")
    for batch_id in range(3):
        states.save(batch_id, f"after {batch_id}")
    restarted = BatchStates(tmp_path / "s", "start")
    assert (restarted.last_batch, restarted.last) == (2, "after 2")
    assert restarted.before(3) == "after 2"
    assert restarted.before(2) == "after 1"
    restarted.save(2, "again")
    assert BatchStates(tmp_path / "s", "start").before(2) == "after 1"
    assert BatchStates(tmp_path / "s", "start").last == "again"


def test_the_first_batch_starts_from_the_beginning_again(tmp_path: Path) -> None:
    BatchStates(tmp_path / "s", "start").save(0, "after 0")
    assert BatchStates(tmp_path / "s", "other").before(0) == "start"


def test_a_batch_from_before_the_known_states_is_refused(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "s", "start")
    for batch_id in range(3):
        states.save(batch_id, None)
    with pytest.raises(SnapshotError, match="knows the sinks after batch 1, but batch 1 comes again"):
        states.before(1)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"half")
    with pytest.raises(SnapshotError, match=r"s cannot be read .* choose another checkpoint folder"):
        BatchStates(tmp_path / "s", None)


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
        nodes = [stream.sink_to(diary).uid(uid)._node for diary, uid in zip(self.diaries, "ab", strict=True)]
        self._edges = [edge_name(node, 0, 0) for node in nodes]
        self.sinks = DriverSinks(Plan.of(env._graph()), lambda: 0, "job")
        self.sinks.open()

    def write(self, batch_id: int, value: str, watermark: int) -> None:
        items = [Item((1, "0"), edge, "0", value=value) for edge in self._edges]
        items += [Item((2, "0"), edge, "0", progress=Watermark(watermark)) for edge in self._edges]
        self.sinks.write(list(pack(items)), batch_id)


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
