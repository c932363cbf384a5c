from __future__ import annotations

from typing import Any

import pytest
from tests.core.conftest import Received

from tidegate.core.function.connect import CoProcessFunction, CoProcessSpec
from tidegate.core.function.identity import IdentitySpec
from tidegate.core.operator.operator import OperatorContext
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.operator.task import Task
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import SnapshotError

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Nothing(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None:
        return None

    process_element2 = process_element1


def task(received: Received, *channels: int) -> Task:
    spec: Any = IdentitySpec() if len(channels) == 1 else CoProcessSpec(Nothing(), is_keyed=False)
    operator = spec.create()
    operator.setup(OperatorContext("task", OperatorOutput((received,)), lambda: 0))
    operator.open()
    return Task(operator, channels)


def test_the_channels_of_one_input_meet_in_a_valve(received: Received) -> None:
    one = task(received, 2)
    one.process_watermark(Watermark(10), 0, 0)
    assert received.take() == []
    assert one.current_input_watermark == MIN_TIME
    one.process_watermark(Watermark(7), 0, 1)
    assert received.take() == [Watermark(7)]
    assert one.current_input_watermark == 7
    one.process_status(IDLE, 0, 1)
    assert received.take() == [Watermark(10)]


def test_the_valves_of_several_inputs_are_combined(received: Received) -> None:
    two = task(received, 2, 1)
    two.process_watermark(Watermark(10), 0, 0)
    two.process_watermark(Watermark(20), 0, 1)
    assert received.take() == []
    two.process_watermark(Watermark(15), 1, 0)
    assert received.take() == [Watermark(10)]
    assert two.current_input_watermark == 10


def test_an_input_is_idle_when_all_its_channels_are(received: Received) -> None:
    two = task(received, 2, 1)
    two.process_watermark(Watermark(15), 1, 0)
    two.process_status(IDLE, 0, 0)
    assert received.take() == []
    two.process_status(IDLE, 0, 1)
    assert received.take() == [Watermark(15)]
    two.process_status(IDLE, 1, 0)
    assert received.take() == [IDLE]
    two.process_status(ACTIVE, 0, 1)
    assert received.take() == [ACTIVE]


def test_a_channel_that_joins_holds_the_watermark_until_it_speaks(received: Received) -> None:
    one = task(received, 1)
    one.process_watermark(Watermark(5), 0, 0)
    assert one.add_channel(0) == 1
    one.process_watermark(Watermark(10), 0, 0)
    assert received.take() == [Watermark(5)]
    one.process_watermark(Watermark(8), 0, 1)
    assert received.take() == [Watermark(8)]


def test_valves_and_combination_survive_a_restart(received: Received) -> None:
    two = task(received, 2, 1)
    two.process_watermark(Watermark(10), 0, 0)
    two.process_status(IDLE, 0, 1)
    again = task(received, 2, 1)
    again.restore(two.snapshot())
    again.process_watermark(Watermark(4), 1, 0)
    assert received.take() == [Watermark(4)]
    again.process_watermark(Watermark(20), 1, 0)
    assert received.take() == [Watermark(10)]


def test_a_snapshot_of_a_program_with_other_inputs_is_refused(received: Received) -> None:
    saved = task(received, 1).snapshot()
    with pytest.raises(SnapshotError, match="task: the snapshot has 1 inputs, the operator has 2: the program"):
        task(received, 1, 1).restore(saved)
