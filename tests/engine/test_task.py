from __future__ import annotations

from typing import Any

import pytest
from tests.core.conftest import Received

from tidegate.core.function.connect import CoProcessFunction, CoProcessSpec
from tidegate.core.function.process import KeyedProcessFunction, KeyedProcessSpec
from tidegate.core.function.stateless import MapSpec
from tidegate.core.operator.operator import OperatorContext
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.engine.task import Task
from tidegate.errors import SnapshotError

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Nothing(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None:
        return None

    process_element2 = process_element1


def task(received: Received, *channels: int) -> Task:
    spec: Any = MapSpec(str) if len(channels) == 1 else CoProcessSpec(Nothing(), is_keyed=False)
    operator = spec.create()
    operator.setup(OperatorContext("task", OperatorOutput((received,)), lambda: 0))
    task = Task(operator, [map(str, range(count)) for count in channels])
    task.open()
    return task


def test_the_channels_of_one_input_meet_in_a_valve(received: Received) -> None:
    one = task(received, 2)
    one.move(0, "0", Watermark(10))
    assert received.take() == []
    assert one.current_input_watermark == MIN_TIME
    one.move(0, "1", Watermark(7))
    assert received.take() == [Watermark(7)]
    assert one.current_input_watermark == 7
    one.move(0, "1", IDLE)
    assert received.take() == [Watermark(10)]


def test_the_valves_of_several_inputs_are_combined(received: Received) -> None:
    two = task(received, 2, 1)
    two.move(0, "0", Watermark(10))
    two.move(0, "1", Watermark(20))
    assert received.take() == []
    two.move(1, "0", Watermark(15))
    assert received.take() == [Watermark(10)]
    assert two.current_input_watermark == 10


def test_an_input_is_idle_when_all_its_channels_are(received: Received) -> None:
    two = task(received, 2, 1)
    two.move(1, "0", Watermark(15))
    two.move(0, "0", IDLE)
    assert received.take() == []
    two.move(0, "1", IDLE)
    assert received.take() == [Watermark(15)]
    two.move(1, "0", IDLE)
    assert received.take() == [IDLE]
    two.move(0, "1", ACTIVE)
    assert received.take() == [ACTIVE]


def test_a_channel_that_joins_holds_the_watermark_until_it_speaks(received: Received) -> None:
    one = task(received, 1)
    one.move(0, "0", Watermark(5))
    one.join(0, "1")
    one.move(0, "0", Watermark(10))
    assert received.take() == [Watermark(5)]
    one.move(0, "1", Watermark(8))
    assert received.take() == [Watermark(8)]


def test_valves_and_combination_survive_a_restart(received: Received) -> None:
    two = task(received, 2, 1)
    two.move(0, "0", Watermark(10))
    two.move(0, "1", IDLE)
    again = task(received, 2, 1)
    again.restore(two.snapshot())
    again.move(1, "0", Watermark(4))
    assert received.take() == [Watermark(4)]
    again.move(1, "0", Watermark(20))
    assert received.take() == [Watermark(10)]


def test_a_snapshot_of_a_program_with_other_inputs_is_refused(received: Received) -> None:
    saved = task(received, 1).snapshot()
    with pytest.raises(SnapshotError, match="task: the snapshot has 1 inputs, the operator has 2: the program"):
        task(received, 1, 1).restore(saved)


def test_a_channel_that_is_not_known_joins_with_its_first_watermark(received: Received) -> None:
    one = task(received, 1)
    one.move(0, "0", Watermark(5))
    one.move(0, "new", Watermark(8))
    one.move(0, "0", Watermark(10))
    assert received.take() == [Watermark(5), Watermark(8)]


class Timers(KeyedProcessFunction):
    """Sets a timer at each element's timestamp; what fires is the timestamp."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def keyed_task(received: Received, should_stop: Any) -> Task:
    operator = KeyedProcessSpec(Timers()).create()
    operator.setup(OperatorContext("task", OperatorOutput((received,)), lambda: 0, should_stop=should_stop))
    task = Task(operator, [["0"]])
    task.open()
    return task


def test_an_advance_is_interrupted_between_timers_and_taken_up_again_by_a_restored_task(received: Received) -> None:
    stopping = keyed_task(received, lambda: True)
    for timestamp in (1, 2, 3):
        stopping.accept(0)("key", None, timestamp)
    stopping.move(0, "0", Watermark(5))
    assert received.take() == [Record(1, 1)]
    stopping.move(0, "0", IDLE)
    assert received.take() == [Record(2, 2)]
    again = keyed_task(received, None)
    again.restore(stopping.snapshot())
    assert again.resume()
    assert received.take() == [Record(3, 3), Watermark(5), IDLE]
