from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tidegate.core.operator.outputs import ChainedOutput, OperatorOutput, TypedReceiver
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus

if TYPE_CHECKING:
    from tests.core.conftest import Received

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


@pytest.fixture
def chained(received: Received) -> ChainedOutput:
    return ChainedOutput(received)


def test_a_chain_hands_elements_on_in_order(chained: ChainedOutput, received: Received) -> None:
    chained.collect("a", 5)
    chained.emit_watermark(Watermark(5))
    chained.collect("b", None)
    assert received.take() == [Record("a", 5), Watermark(5), Record("b", None)]


def test_no_watermark_passes_while_the_announced_status_is_idle(chained: ChainedOutput, received: Received) -> None:
    chained.emit_status(IDLE)
    received.take()
    chained.emit_watermark(Watermark(5))
    assert received.take() == []


def test_the_end_passes_an_idle_output_too(chained: ChainedOutput, received: Received) -> None:
    chained.emit_status(IDLE)
    received.take()
    chained.emit_watermark(Watermark.MAX)
    assert received.take() == [Watermark.MAX]


def test_watermarks_pass_again_once_active_was_announced(chained: ChainedOutput, received: Received) -> None:
    chained.emit_status(IDLE)
    chained.emit_status(ACTIVE)
    chained.emit_watermark(Watermark(5))
    assert received.take() == [IDLE, ACTIVE, Watermark(5)]


def test_records_pass_an_idle_output_and_do_not_wake_it(chained: ChainedOutput, received: Received) -> None:
    chained.emit_status(IDLE)
    received.take()
    chained.collect("a", 5)
    assert received.take() == [Record("a", 5)]
    assert chained.status is IDLE


def test_a_status_is_announced_once_per_change(chained: ChainedOutput, received: Received) -> None:
    for status in (ACTIVE, IDLE, IDLE, ACTIVE, ACTIVE):
        chained.emit_status(status)
    assert received.take() == [IDLE, ACTIVE]


def test_the_gauge_shows_the_watermark_last_sent(chained: ChainedOutput) -> None:
    gauge = [chained.current_watermark]
    chained.emit_watermark(Watermark(5))
    gauge.append(chained.current_watermark)
    assert gauge == [MIN_TIME, 5]


def test_the_gauge_moves_while_the_output_is_idle(chained: ChainedOutput, received: Received) -> None:
    chained.emit_status(IDLE)
    received.take()
    chained.emit_watermark(Watermark(5))
    assert (received.take(), chained.current_watermark) == ([], 5)


def test_progress_of_either_kind_can_be_emitted(chained: ChainedOutput, received: Received) -> None:
    chained.emit(Watermark(5))
    chained.emit(IDLE)
    assert received.take() == [Watermark(5), IDLE]


def test_a_restored_output_knows_what_it_announced(chained: ChainedOutput, received: Received) -> None:
    chained.emit_watermark(Watermark(5))
    chained.emit_status(IDLE)
    received.take()
    restored = ChainedOutput(received)
    restored.restore(json.loads(json.dumps(chained.snapshot())))
    assert (restored.status, restored.current_watermark) == (IDLE, 5)
    restored.emit_status(IDLE)
    restored.emit_watermark(Watermark(6))
    assert received.take() == []


# The output of an operator in a program


def test_an_operator_sends_a_record_to_every_consumer_of_its_main_output(
    received: Received, others: tuple[Received, Received]
) -> None:
    output = OperatorOutput(others, {"late": [received]})
    output.collect("a", 5)
    assert [receiver.take() for receiver in (*others, received)] == [[Record("a", 5)], [Record("a", 5)], []]


def test_an_operator_sends_a_side_record_to_the_consumers_of_that_side_only(
    received: Received, others: tuple[Received, Received]
) -> None:
    output = OperatorOutput([received], {"late": [others[0]], "future": [others[1]]})
    output.collect_side("late", "a", 5)
    assert [receiver.take() for receiver in (received, *others)] == [[], [Record("a", 5)], []]


def test_a_side_record_that_nobody_consumes_is_dropped(received: Received) -> None:
    output = OperatorOutput([received])
    output.collect_side("late", "a", 5)
    assert received.take() == []


def test_an_operator_sends_progress_to_every_consumer_of_any_output(
    received: Received, others: tuple[Received, Received]
) -> None:
    output = OperatorOutput([received], {"late": [others[0]], "future": [others[1]]})
    output.emit(Watermark(5))
    output.emit(IDLE)
    assert [receiver.take() for receiver in (received, *others)] == [[Watermark(5), IDLE]] * 3


def test_an_operator_without_consumers_still_has_its_gauge() -> None:
    output = OperatorOutput()
    output.collect("a", 5)
    output.emit_watermark(Watermark(5))
    assert output.current_watermark == 5


def test_values_are_converted_to_the_declared_type_on_their_way_and_progress_is_not(received: Received) -> None:
    class Doubled:
        def convert(self, value: int, where: str) -> tuple[int, str]:
            return 2 * value, where

    typed = TypedReceiver(received, Doubled(), "map")
    typed.process_element(3, 5)
    typed.process_watermark(Watermark(5))
    typed.process_status(IDLE)
    assert received.take() == [Record((6, "map"), 5), Watermark(5), IDLE]
