from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.source.source_context import (
    EventTimeContext,
    IngestionTimeContext,
    ProcessingTimeContext,
    SourceContext,
    create_source_context,
)
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.errors import ClosedError, InvalidTypeError, InvalidValueError, SnapshotError
from tidegate.testing import ManualClock

if TYPE_CHECKING:
    from tests.core.conftest import Received

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


def event_time(received: Received, clock: ManualClock, idle_timeout: int | None = None) -> EventTimeContext:
    return EventTimeContext(ChainedOutput(received), clock, idle_timeout)


def ingestion_time(
    received: Received, clock: ManualClock, interval: int = 100, idle_timeout: int | None = None
) -> IngestionTimeContext:
    return IngestionTimeContext(ChainedOutput(received), clock, interval, idle_timeout)


def tick(context: SourceContext, clock: ManualClock, now: int) -> None:
    clock.advance_to(now)
    context.on_periodic_emit()


@pytest.mark.parametrize(
    ("characteristic", "kind"),
    [
        (TimeCharacteristic.EventTime, EventTimeContext),
        (TimeCharacteristic.IngestionTime, IngestionTimeContext),
        (TimeCharacteristic.ProcessingTime, ProcessingTimeContext),
    ],
)
def test_the_time_of_the_job_chooses_the_context(
    characteristic: TimeCharacteristic, kind: type[SourceContext], received: Received, clock: ManualClock
) -> None:
    context = create_source_context(
        characteristic, ChainedOutput(received), clock, watermark_interval=200, idle_timeout=50
    )
    assert type(context) is kind


# Event time


def test_event_time_passes_timestamps_and_watermarks_unchanged(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    context.collect_with_timestamp("a", 5)
    context.emit_watermark(Watermark(5))
    assert received.take() == [Record("a", 5), Watermark(5)]


def test_event_time_collects_without_timestamp_too(received: Received, clock: ManualClock) -> None:
    event_time(received, clock).collect("a")
    assert received.take() == [Record("a", None)]


def test_event_time_never_goes_back(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    for timestamp in (5, 5, 4, 6):
        context.emit_watermark(Watermark(timestamp))
    assert received.take() == [Watermark(5), Watermark(6)]


def test_event_time_makes_no_watermarks_of_its_own(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    context.collect_with_timestamp("a", 5)
    received.take()
    tick(context, clock, 1_000)
    assert received.take() == []


@pytest.mark.parametrize("timestamp", [1.5, "5", None, True])
def test_event_time_refuses_a_timestamp_that_is_no_integer(
    timestamp: Any, received: Received, clock: ManualClock
) -> None:
    with pytest.raises(
        InvalidTypeError, match="collect_with_timestamp for 'a': a timestamp is an integer in milliseconds, got"
    ):
        event_time(received, clock).collect_with_timestamp("a", timestamp)
    assert received.take() == []


# Ingestion time


def test_ingestion_time_stamps_records_with_the_clock_whatever_they_bring(
    received: Received, clock: ManualClock
) -> None:
    clock.advance_to(50)
    context = ingestion_time(received, clock)
    context.on_periodic_emit()
    received.take()
    clock.advance_to(60)
    context.collect("a")
    context.collect_with_timestamp("b", 999_999)
    assert received.take() == [Record("a", 60), Record("b", 60)]


def test_ingestion_watermarks_are_the_clock_rounded_down_to_the_interval(
    received: Received, clock: ManualClock
) -> None:
    context = ingestion_time(received, clock, 200)
    tick(context, clock, 207)
    assert received.take() == [Watermark(200)]
    tick(context, clock, 1_290)
    assert received.take() == [Watermark(1_200)]


def test_the_first_ingestion_watermark_is_due_strictly_after_zero(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock, 100)
    tick(context, clock, 0)
    assert received.take() == []
    tick(context, clock, 1)
    assert received.take() == [Watermark(0)]


def test_an_ingestion_watermark_is_due_strictly_after_the_last_one_plus_the_interval(
    received: Received, clock: ManualClock
) -> None:
    context = ingestion_time(received, clock, 100)
    tick(context, clock, 100)
    assert received.take() == [Watermark(100)]
    tick(context, clock, 200)
    assert received.take() == []
    tick(context, clock, 201)
    assert received.take() == [Watermark(200)]


def test_an_ingestion_watermark_that_is_due_comes_right_after_a_record(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock, 100)
    clock.advance_to(150)
    context.collect("a")
    context.collect("b")
    assert received.take() == [Record("a", 150), Watermark(100), Record("b", 150)]


def test_an_ingestion_source_may_only_emit_the_end(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock, 100)
    context.emit_watermark(Watermark(500))
    assert received.take() == []
    context.emit_watermark(Watermark.MAX)
    assert received.take() == [Watermark.MAX]


def test_after_the_end_an_ingestion_source_makes_no_more_watermarks(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock, 100, idle_timeout=50)
    context.emit_watermark(Watermark.MAX)
    received.take()
    clock.advance_to(350)
    context.collect("a")
    tick(context, clock, 900)
    context.emit_watermark(Watermark.MAX)
    assert received.take() == [Record("a", 350)]


@pytest.mark.parametrize("interval", [0, -200])
def test_ingestion_time_needs_an_interval(interval: int, received: Received, clock: ManualClock) -> None:
    with pytest.raises(
        InvalidValueError,
        match=f"ingestion time needs an auto-watermark interval of at least 1 ms, got {interval} ms",
    ):
        ingestion_time(received, clock, interval)


# Processing time


def test_processing_time_knows_no_timestamps_watermarks_or_idleness(received: Received, clock: ManualClock) -> None:
    context = ProcessingTimeContext(ChainedOutput(received), clock)
    context.collect("a")
    context.collect_with_timestamp("b", 5)
    context.emit_watermark(Watermark(5))
    context.emit_watermark(Watermark.MAX)
    context.mark_as_temporarily_idle()
    tick(context, clock, 1_000)
    assert received.take() == [Record("a", None), Record("b", None)]


# Idleness


def test_a_source_that_says_it_is_idle_is_idle_until_it_collects(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    context.mark_as_temporarily_idle()
    context.mark_as_temporarily_idle()
    assert received.take() == [IDLE]
    context.collect_with_timestamp("a", 5)
    assert received.take() == [ACTIVE, Record("a", 5)]


def test_an_idle_source_that_emits_a_watermark_is_active_first(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    context.mark_as_temporarily_idle()
    context.emit_watermark(Watermark(5))
    assert received.take() == [IDLE, ACTIVE, Watermark(5)]


def test_an_idle_source_can_end(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock)
    context.mark_as_temporarily_idle()
    context.emit_watermark(Watermark.MAX)
    assert received.take() == [IDLE, ACTIVE, Watermark.MAX]


def test_a_source_is_idle_if_nothing_happened_between_two_checks(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock, idle_timeout=100)
    tick(context, clock, 99)
    assert received.take() == []
    tick(context, clock, 100)
    assert received.take() == [IDLE]
    assert context.is_idle


@pytest.mark.parametrize(
    "act",
    [
        lambda context: context.collect("a"),
        lambda context: context.collect_with_timestamp("a", 5),
        lambda context: context.emit_watermark(Watermark(5)),
    ],
)
def test_any_sign_of_life_keeps_a_source_active_until_the_check_after_the_next(
    act: Callable[[SourceContext], None], received: Received, clock: ManualClock
) -> None:
    context = event_time(received, clock, idle_timeout=100)
    clock.advance_to(10)
    act(context)
    received.take()
    for now in (100, 199):
        tick(context, clock, now)
    assert received.take() == []
    tick(context, clock, 200)
    assert received.take() == [IDLE]


def test_checks_begin_again_when_an_idle_source_returns(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock, idle_timeout=100)
    tick(context, clock, 100)
    clock.advance_to(500)
    context.collect("a")
    received.take()
    tick(context, clock, 599)
    assert received.take() == []
    tick(context, clock, 600)
    assert received.take() == [IDLE]


def test_without_a_timeout_no_source_becomes_idle(received: Received, clock: ManualClock) -> None:
    context = event_time(received, clock)
    tick(context, clock, 1_000_000)
    assert received.take() == []


def test_the_ingestion_timer_finds_a_source_idle_before_the_check_does(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock, 100, idle_timeout=250)
    clock.advance_to(100)
    context.collect("a")
    for now in (210, 350):
        tick(context, clock, now)
    assert received.take() == [Record("a", 100), Watermark(100), Watermark(200), Watermark(300)]
    tick(context, clock, 351)
    assert received.take() == [IDLE]


def test_an_idle_ingestion_source_makes_no_watermarks_until_its_next_record(
    received: Received, clock: ManualClock
) -> None:
    context = ingestion_time(received, clock, 100)
    context.mark_as_temporarily_idle()
    tick(context, clock, 220)
    assert received.take() == [IDLE]
    clock.advance_to(330)
    context.collect("a")
    assert received.take() == [ACTIVE, Record("a", 330), Watermark(300)]


@pytest.mark.parametrize("timeout", [0, -1])
@pytest.mark.parametrize("create", [event_time, lambda *args: ingestion_time(args[0], args[1], 100, args[2])])
def test_a_timeout_that_is_not_positive_is_refused(
    create: Callable[[Received, ManualClock, int], SourceContext],
    timeout: int,
    received: Received,
    clock: ManualClock,
) -> None:
    with pytest.raises(InvalidValueError, match=f"idle timeout must be longer than 0 ms, got {timeout} ms"):
        create(received, clock, timeout)


# The end of a context

CONTEXTS: list[Callable[[Received, ManualClock], SourceContext]] = [
    event_time,
    ingestion_time,
    lambda received, clock: ProcessingTimeContext(ChainedOutput(received), clock),
]


@pytest.mark.parametrize("create", CONTEXTS)
@pytest.mark.parametrize(
    "act",
    [
        lambda context: context.collect("a"),
        lambda context: context.collect_with_timestamp("a", 5),
        lambda context: context.emit_watermark(Watermark(5)),
        lambda context: context.mark_as_temporarily_idle(),
        lambda context: context.on_periodic_emit(),
    ],
)
def test_after_close_every_call_is_an_error(
    create: Callable[[Received, ManualClock], SourceContext],
    act: Callable[[SourceContext], None],
    received: Received,
    clock: ManualClock,
) -> None:
    context = create(received, clock)
    context.close()
    with pytest.raises(ClosedError, match="the source context is closed: the source was cancelled or has finished"):
        act(context)
    assert received.take() == []


@pytest.mark.parametrize("create", CONTEXTS)
def test_the_end_of_the_input_is_announced_whatever_the_time(
    create: Callable[[Received, ManualClock], SourceContext], received: Received, clock: ManualClock
) -> None:
    create(received, clock).end()
    assert received.take() == [Watermark.MAX]


@pytest.mark.parametrize("create", [event_time, ingestion_time])
def test_a_source_that_was_idle_when_its_input_ended_is_active_first(
    create: Callable[[Received, ManualClock], SourceContext], received: Received, clock: ManualClock
) -> None:
    context = create(received, clock)
    context.mark_as_temporarily_idle()
    context.end()
    assert received.take() == [IDLE, ACTIVE, Watermark.MAX]


def test_an_ingestion_source_makes_no_watermarks_after_its_input_ended(received: Received, clock: ManualClock) -> None:
    context = ingestion_time(received, clock)
    context.end()
    tick(context, clock, 500)
    assert received.take() == [Watermark.MAX]


@pytest.mark.parametrize("create", [event_time, ingestion_time])
@pytest.mark.parametrize("watermark", [5, None])
def test_what_is_no_watermark_is_refused(
    create: Callable[[Received, ManualClock], SourceContext], watermark: Any, received: Received, clock: ManualClock
) -> None:
    with pytest.raises(InvalidTypeError, match=f"emit_watermark takes a Watermark, got {watermark}"):
        create(received, clock).emit_watermark(watermark)


# Restart


def restored(context: SourceContext, fresh: SourceContext) -> None:
    fresh.restore(json.loads(json.dumps(context.snapshot())))


def test_an_event_time_context_keeps_its_watermark(received: Received, clock: ManualClock) -> None:
    before, after = event_time(received, clock), event_time(received, clock)
    before.emit_watermark(Watermark(5))
    received.take()
    restored(before, after)
    after.emit_watermark(Watermark(5))
    assert received.take() == []
    after.emit_watermark(Watermark(6))
    assert received.take() == [Watermark(6)]


def test_an_ingestion_context_keeps_its_watermark(received: Received, clock: ManualClock) -> None:
    before, after = ingestion_time(received, clock), ingestion_time(received, clock)
    tick(before, clock, 150)
    received.take()
    restored(before, after)
    tick(after, clock, 200)
    assert received.take() == []
    tick(after, clock, 201)
    assert received.take() == [Watermark(200)]


def test_an_ingestion_context_that_ended_makes_no_watermarks_after_a_restart(
    received: Received, clock: ManualClock
) -> None:
    before, after = ingestion_time(received, clock), ingestion_time(received, clock)
    before.emit_watermark(Watermark.MAX)
    received.take()
    restored(before, after)
    tick(after, clock, 500)
    assert received.take() == []


@pytest.mark.parametrize("create", [event_time, ingestion_time])
def test_a_source_that_was_idle_announces_active_after_a_restart(
    create: Callable[[Received, ManualClock], SourceContext], received: Received, clock: ManualClock
) -> None:
    before, after = create(received, clock), create(received, clock)
    before.mark_as_temporarily_idle()
    received.take()
    restored(before, after)
    assert received.take() == []
    after.collect_with_timestamp("a", 5)
    assert received.take()[0] is ACTIVE


@pytest.mark.parametrize("create", [event_time, lambda *args: ingestion_time(args[0], args[1], 1_000_000, args[2])])
def test_after_a_restart_the_idle_countdown_of_a_source_starts_anew(
    create: Callable[[Received, ManualClock, int], SourceContext], received: Received, clock: ManualClock
) -> None:
    before, after = create(received, clock, 100), create(received, clock, 100)
    clock.advance_to(50)
    before.collect("a")
    received.take()
    clock.advance_to(5_000)
    restored(before, after)
    for now in (5_010, 5_099):
        tick(after, clock, now)
    assert [item for item in received.take() if isinstance(item, WatermarkStatus)] == []
    tick(after, clock, 5_100)
    assert [item for item in received.take() if isinstance(item, WatermarkStatus)] == [IDLE]


def test_a_processing_time_context_has_nothing_to_restore(received: Received, clock: ManualClock) -> None:
    before, after = CONTEXTS[2](received, clock), CONTEXTS[2](received, clock)
    restored(before, after)
    after.collect("a")
    assert received.take() == [Record("a", None)]


def test_a_snapshot_of_another_context_is_refused(received: Received, clock: ManualClock) -> None:
    with pytest.raises(
        SnapshotError, match="expected a snapshot of 'event_time_context', got one of 'ingestion_time_context'"
    ):
        event_time(received, clock).restore(ingestion_time(received, clock).snapshot())
