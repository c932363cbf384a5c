from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.legacy_assigners import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)
from tidegate.core.watermark.records import Record, Watermark
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.testing import ManualClock

if TYPE_CHECKING:
    from tests.core.conftest import Received


class Seed000(AssignerWithPeriodicWatermarks):
    """The assigner of the oldest programs: timestamp and watermark from one object."""

    def __init__(self) -> None:
        self.current = 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        timestamp = int(value)
        self.current = max(self.current, timestamp)
        return timestamp

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.current - 10)


class Silent(Seed000):
    def get_current_watermark(self) -> Any:
        return None


class Nested(Seed000):
    """Keeps what it has seen in a collection, which it changes in place."""

    def __init__(self) -> None:
        self.seen = [0]

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self.seen.append(int(value))
        return int(value)

    def get_current_watermark(self) -> Watermark:
        return Watermark(max(self.seen) - 10)


class WithSlots(AssignerWithPeriodicWatermarks):
    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self.current = max(self.current, int(value))
        return int(value)

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.current - 10)


class AsNumber(Seed000):
    def get_current_watermark(self) -> Any:
        return self.current


class Wrong(Seed000):
    def get_current_watermark(self) -> Any:
        return "soon"


class OnMarker(AssignerWithPunctuatedWatermarks):
    """A watermark follows records that carry a marker."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["ts"])

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark | None:
        return Watermark(extracted_timestamp) if last_element.get("marker") else None


class WrongMarker(OnMarker):
    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Any:
        return True


class Extractor(BoundedOutOfOrdernessTimestampExtractor):
    def extract(self, element: Any) -> int:
        return element  # type: ignore[no-any-return]


def operator_of(assigner: Any, received: Received, clock: ManualClock) -> TimestampsAndWatermarksOperator:
    return TimestampsAndWatermarksOperator(WatermarkStrategy.of(assigner), ChainedOutput(received), clock)


def test_a_periodic_assigner_stamps_at_once_and_emits_when_asked(received: Received, clock: ManualClock) -> None:
    operator = operator_of(Seed000(), received, clock)
    operator.process_element("100", None)
    assert received.take() == [Record("100", 100)]
    operator.on_periodic_emit()
    assert received.take() == [Watermark(90)]


def test_a_periodic_assigner_without_news_is_silent(received: Received, clock: ManualClock) -> None:
    operator = operator_of(Silent(), received, clock)
    operator.on_periodic_emit()
    assert received.take() == []


def test_a_watermark_may_be_a_plain_integer(received: Received, clock: ManualClock) -> None:
    operator = operator_of(AsNumber(), received, clock)
    operator.process_element("7", None)
    operator.on_periodic_emit()
    assert received.take() == [Record("7", 7), Watermark(7)]


def test_a_punctuated_watermark_follows_its_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(OnMarker(), received, clock)
    operator.process_element({"ts": 5}, None)
    assert received.take() == [Record({"ts": 5}, 5)]
    marked = {"ts": 6, "marker": True}
    operator.process_element(marked, None)
    assert received.take() == [Record(marked, 6), Watermark(6)]


def test_a_punctuated_assigner_is_silent_when_asked_periodically(received: Received, clock: ManualClock) -> None:
    operator = operator_of(OnMarker(), received, clock)
    operator.on_periodic_emit()
    assert received.take() == []


def test_the_older_extractor_emits_without_the_one_millisecond_less(received: Received, clock: ManualClock) -> None:
    operator = operator_of(Extractor("10 ms"), received, clock)
    operator.on_periodic_emit()
    assert received.take() == []
    operator.process_element(100, None)
    operator.process_element(95, None)
    operator.on_periodic_emit()
    assert received.take() == [Record(100, 100), Record(95, 95), Watermark(90)]


@pytest.mark.parametrize("bound", ["0 ms", "10 ms", f"{MAX_TIME} ms"])
def test_the_older_extractor_starts_at_the_lowest_time(bound: str) -> None:
    assert Extractor(bound).get_current_watermark() == Watermark.MIN


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(
        InvalidValueError, match="BoundedOutOfOrdernessTimestampExtractor: bound must not be negative, got -1 ms"
    ):
        Extractor("-1 ms")


def test_channels_do_not_share_the_assigner(received: Received, clock: ManualClock) -> None:
    template = Seed000()
    strategy = WatermarkStrategy.of(template)
    first = TimestampsAndWatermarksOperator(strategy, ChainedOutput(received), clock)
    second = TimestampsAndWatermarksOperator(strategy, ChainedOutput(received), clock)
    first.process_element("100", None)
    received.take()
    second.on_periodic_emit()
    assert received.take() == [Watermark(-10)]
    assert template.current == 0


@pytest.mark.parametrize(
    ("assigner", "value", "method", "got"),
    [
        (Wrong(), "5", "get_current_watermark", "'soon'"),
        (WrongMarker(), {"ts": 5}, "check_and_get_next_watermark", "True"),
    ],
)
def test_a_watermark_of_another_type_is_refused(
    assigner: Any, value: Any, method: str, got: str, received: Received, clock: ManualClock
) -> None:
    operator = operator_of(assigner, received, clock)
    message = f"{method} must return a Watermark, an integer or None, got {got}"
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        _feed_and_probe(operator, value)


def _feed_and_probe(operator: TimestampsAndWatermarksOperator, value: Any) -> None:
    operator.process_element(value, None)
    operator.on_periodic_emit()


@pytest.mark.parametrize(
    "assigner", [Seed000(), Nested(), WithSlots(), Extractor("10 ms")], ids=lambda a: type(a).__name__
)
def test_what_an_assigner_remembers_survives_a_restart(assigner: Any, clock: ManualClock, received: Received) -> None:
    before = operator_of(assigner, received, clock)
    before.process_element(100, None)
    received.take()
    after = operator_of(assigner, received, clock)
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.on_periodic_emit()
    assert received.take() == [Watermark(90)]


def test_numpy_timestamps_leave_the_snapshot_plain(received: Received, clock: ManualClock) -> None:
    operator = operator_of(Extractor("10 ms"), received, clock)
    operator.process_element(np.int64(100), None)
    snapshot = operator.snapshot()
    assert json.loads(json.dumps(snapshot)) == snapshot


def test_a_record_too_far_ahead_does_not_move_the_watermark_of_an_older_extractor(
    received: Received, clock: ManualClock
) -> None:
    strategy = WatermarkStrategy.of(Extractor("10 ms")).with_max_future_skew("1 s")
    operator = TimestampsAndWatermarksOperator(strategy, ChainedOutput(received), clock)
    operator.process_element(500, None)
    operator.process_element(50_000, None)
    operator.on_periodic_emit()
    assert received.take() == [Record(500, 500), Record(50_000, 50_000), Watermark(490)]


@pytest.mark.parametrize("assigner", [Seed000(), Nested(), WithSlots()], ids=lambda a: type(a).__name__)
def test_a_record_too_far_ahead_does_not_move_the_watermark_of_an_older_periodic_assigner(
    assigner: Any, received: Received, clock: ManualClock
) -> None:
    strategy = WatermarkStrategy.of(assigner).with_max_future_skew("1 s")
    operator = TimestampsAndWatermarksOperator(strategy, ChainedOutput(received), clock)
    operator.process_element("500", None)
    operator.process_element("50000", None)
    operator.on_periodic_emit()
    assert received.take() == [Record("500", 500), Record("50000", 50_000), Watermark(490)]


@pytest.mark.parametrize("method", ["with_timestamp_assigner", "with_timestamp_column"])
def test_an_older_assigner_is_the_only_one_that_stamps(method: str) -> None:
    strategy = WatermarkStrategy.of(Seed000())
    with pytest.raises(InvalidValueError, match="Seed000 extracts the timestamps itself; use a WatermarkStrategy"):
        getattr(strategy, method)("ts")
