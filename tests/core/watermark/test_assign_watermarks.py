from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.generators import WatermarkGenerator, WatermarkOutput
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError, UserCodeError
from tidegate.testing import ManualClock

if TYPE_CHECKING:
    from tests.core.conftest import Received

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE
ASCENDING = WatermarkStrategy.for_monotonous_timestamps()
PUNCTUATED = WatermarkStrategy.for_punctuated_timestamps()


def operator_of(strategy: WatermarkStrategy, received: Received, clock: ManualClock) -> TimestampsAndWatermarksOperator:
    return TimestampsAndWatermarksOperator(strategy, ChainedOutput(received), clock, name="clicks")


def probe(operator: TimestampsAndWatermarksOperator, clock: ManualClock, now: int) -> None:
    clock.advance_to(now)
    operator.on_periodic_emit()


class OnMarker(WatermarkGenerator):
    """A user's punctuated generator, which looks at the record; it can also say that it is idle."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event == "idle":
            output.mark_idle()
        elif event == "active":
            output.mark_active()
        elif event == "marker":
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Counting(WatermarkGenerator):
    """A user's periodic generator: emits how many records it has seen."""

    def __init__(self) -> None:
        self.count = 0

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.count += 1

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.count))


class Broken(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        raise ZeroDivisionError("oops")

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        raise ZeroDivisionError("oops")


class EmitsNumbers(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


# Timestamps


def test_the_assigner_gets_the_lowest_time_for_a_record_without_timestamp(
    received: Received, clock: ManualClock
) -> None:
    seen: list[tuple[Any, int]] = []

    def assign(value: Any, earlier: int) -> int:
        seen.append((value, earlier))
        return 5

    operator = operator_of(ASCENDING.with_timestamp_assigner(assign), received, clock)
    operator.process_element("a", None)
    operator.process_element("b", 3)
    assert seen == [("a", MIN_TIME), ("b", 3)]
    assert received.take() == [Record("a", 5), Record("b", 5)]


def test_a_column_stamps_records(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_timestamp_column("ts"), received, clock)
    operator.process_element({"ts": 5}, 1)
    assert received.take() == [Record({"ts": 5}, 5)]


@pytest.mark.parametrize("timestamp", [1.5, "5", None, True])
def test_a_timestamp_that_is_no_integer_is_refused_with_its_record(
    timestamp: Any, received: Received, clock: ManualClock
) -> None:
    operator = operator_of(ASCENDING.with_timestamp_assigner(lambda value, _: value["ts"]), received, clock)
    value = {"ts": timestamp}
    message = f"clicks: timestamp of the record {value!r}: a timestamp is an integer in milliseconds, got"
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        operator.process_element(value, None)
    assert received.take() == []


def test_a_timestamp_beyond_64_bits_is_refused_with_its_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_timestamp_assigner(lambda value, _: 2**63), received, clock)
    message = "clicks: timestamp of the record 'a': the timestamp 9223372036854775808 does not fit into 64 bits"
    with pytest.raises(InvalidValueError, match=message):
        operator.process_element("a", None)


def test_an_assigner_that_raises_is_named_with_its_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_timestamp_assigner(lambda value, _: int(value)), received, clock)
    with pytest.raises(UserCodeError, match=r"clicks: the timestamp assigner raised ValueError.* for the record 'x'"):
        operator.process_element("x", None)
    assert received.take() == []


def test_a_missing_column_is_reported_as_such(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_timestamp_column("ts"), received, clock)
    with pytest.raises(InvalidValueError, match="with_timestamp_column: the record 'x' has no field 'ts'"):
        operator.process_element("x", None)


# Generators


def test_a_periodic_watermark_comes_when_it_is_asked_for(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_bounded_out_of_orderness("25 ms"), received, clock)
    operator.process_element("a", 1_000)
    assert received.take() == [Record("a", 1_000)]
    operator.on_periodic_emit()
    assert received.take() == [Watermark(974)]
    operator.on_periodic_emit()
    assert received.take() == []


def test_a_punctuated_watermark_follows_its_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(PUNCTUATED, received, clock)
    operator.process_element("a", 5)
    operator.process_element("b", 3)
    operator.process_element("c", 7)
    assert received.take() == [Record("a", 5), Watermark(5), Record("b", 3), Record("c", 7), Watermark(7)]


def test_a_users_punctuated_generator_sees_the_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(OnMarker), received, clock)
    operator.process_element("a", 5)
    operator.process_element("marker", 6)
    assert received.take() == [Record("a", 5), Record("marker", 6), Watermark(6)]


def test_a_users_periodic_generator_is_asked(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(Counting), received, clock)
    operator.process_element("a", 5)
    operator.process_element("b", 5)
    received.take()
    operator.on_periodic_emit()
    assert received.take() == [Watermark(2)]


def test_a_users_generator_can_say_that_its_channel_is_idle(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(OnMarker), received, clock)
    operator.process_element("idle", 5)
    assert received.take() == [Record("idle", 5), IDLE]
    operator.process_element("active", 5)
    assert received.take() == [Record("active", 5), ACTIVE]


def test_a_record_does_not_wake_a_channel_that_its_generator_called_idle(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(OnMarker), received, clock)
    operator.process_element("idle", 5)
    received.take()
    operator.process_element("a", 6)
    assert received.take() == [Record("a", 6)]
    operator.process_element("marker", 7)
    assert received.take() == [Record("marker", 7), ACTIVE, Watermark(7)]


def test_a_generator_is_asked_once_more_when_the_operator_ends(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING, received, clock)
    operator.process_element("a", 5)
    received.take()
    operator.finish()
    assert received.take() == [Watermark(4)]


def test_a_generator_that_is_asked_behind_the_end_emits_nothing(received: Received, clock: ManualClock) -> None:
    class Counts(WatermarkGenerator):
        calls = 0

        def on_event(self, event: Any, timestamp: int, output: Any) -> None:
            pass

        def on_periodic_emit(self, output: Any) -> None:
            Counts.calls += 1
            output.emit_watermark(Watermark(4))

    operator = operator_of(WatermarkStrategy.for_generator(Counts), received, clock)
    operator.process_watermark(Watermark.MAX)
    operator.finish()
    assert (received.take(), Counts.calls) == ([Watermark.MAX], 1)


def test_a_generator_that_raises_on_an_event_is_named_with_the_record(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(Broken), received, clock)
    message = "clicks: Broken.on_event raised ZeroDivisionError('oops') for the record 'a' at 5"
    with pytest.raises(UserCodeError, match=re.escape(message)) as caught:
        operator.process_element("a", 5)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_generator_that_raises_when_asked_is_named(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(Broken), received, clock)
    message = "clicks: Broken.on_periodic_emit raised ZeroDivisionError('oops')"
    with pytest.raises(UserCodeError, match=re.escape(message)):
        operator.on_periodic_emit()


def test_a_generator_that_emits_a_number_is_told_what_to_emit(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.for_generator(EmitsNumbers), received, clock)
    with pytest.raises(InvalidTypeError, match="emit_watermark takes a Watermark, got 5"):
        operator.process_element("a", 5)


# Upstream


def test_watermarks_from_upstream_are_swallowed(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING, received, clock)
    operator.process_watermark(Watermark(42))
    assert received.take() == []
    assert operator.current_watermark == MIN_TIME


@pytest.mark.parametrize("status", [IDLE, ACTIVE])
def test_statuses_from_upstream_are_swallowed(status: WatermarkStatus, received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING, received, clock)
    operator.process_status(status)
    assert received.take() == []


def test_the_end_is_passed_on_even_without_watermarks(received: Received, clock: ManualClock) -> None:
    operator = operator_of(WatermarkStrategy.no_watermarks(), received, clock)
    operator.process_watermark(Watermark.MAX)
    assert received.take() == [Watermark.MAX]


def test_the_end_ends_all_emission_while_records_still_pass(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    operator.process_watermark(Watermark.MAX)
    received.take()
    operator.process_element("a", 5)
    for now in (100, 200, 300, 400):
        probe(operator, clock, now)
    operator.process_watermark(Watermark.MAX)
    assert received.take() == [Record("a", 5)]


def test_the_end_of_an_idle_channel_is_announced_active_first(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    probe(operator, clock, 0)
    probe(operator, clock, 11)
    operator.process_watermark(Watermark.MAX)
    assert received.take() == [IDLE, ACTIVE, Watermark.MAX]


# Idleness


def test_a_quiet_channel_is_marked_idle_once(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_idleness("100 ms"), received, clock)
    for now in (50, 150):
        probe(operator, clock, now)
    assert received.take() == []
    for now in (151, 200, 300):
        probe(operator, clock, now)
    assert received.take() == [IDLE]
    assert operator.is_idle


def test_an_idle_channel_is_active_at_its_next_event_whatever_its_watermark(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    operator.process_element("a", 100)
    for now in (0, 1, 12):
        probe(operator, clock, now)
    received.take()
    operator.process_element("late", 3)
    assert received.take() == [Record("late", 3), ACTIVE]


def test_an_idle_channels_periodic_emission_is_suppressed(received: Received, clock: ManualClock) -> None:
    class Ticking(Counting):
        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            self.count += 1
            super().on_periodic_emit(output)

    operator = operator_of(WatermarkStrategy.for_generator(Ticking).with_idleness("10 ms"), received, clock)
    for now in (0, 11, 20, 30):
        probe(operator, clock, now)
    assert received.take() == [Watermark(1), IDLE]


def test_the_idle_clock_stands_still_while_the_channel_is_not_read(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_idleness("100 ms"), received, clock)
    probe(operator, clock, 0)
    clock.advance_to(60)
    operator.pause()
    probe(operator, clock, 10_000)
    operator.resume()
    probe(operator, clock, 10_040)
    assert received.take() == []
    probe(operator, clock, 10_041)
    assert received.take() == [IDLE]


def test_pause_and_resume_need_no_idleness(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING, received, clock)
    operator.pause()
    operator.resume()
    operator.on_periodic_emit()
    assert received.take() == []


def test_a_timeout_that_is_not_positive_is_refused(received: Received, clock: ManualClock) -> None:
    strategy = WatermarkStrategy(ASCENDING.generator, idle_timeout=-5)
    with pytest.raises(InvalidValueError, match="idle timeout must be longer than 0 ms, got -5 ms"):
        operator_of(strategy, received, clock)


# Records too far ahead of processing time


def test_a_record_too_far_ahead_is_counted_and_does_not_move_the_watermark(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(PUNCTUATED.with_max_future_skew("50 ms"), received, clock)
    clock.advance_to(1_000)
    operator.process_element("just", 1_050)
    operator.process_element("too far", 1_051)
    assert received.take() == [Record("just", 1_050), Watermark(1_050), Record("too far", 1_051)]
    assert operator.num_future_records == 1
    assert operator.future_records == []


def test_a_record_too_far_ahead_is_diverted_if_a_side_output_is_set(received: Received, clock: ManualClock) -> None:
    operator = operator_of(PUNCTUATED.with_max_future_skew("50 ms", "future"), received, clock)
    operator.process_element("too far", 51)
    assert received.take() == []
    assert operator.future_records == [Record("too far", 51)]
    assert operator.num_future_records == 1


def test_a_record_too_far_ahead_is_a_sign_of_life(received: Received, clock: ManualClock) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms").with_max_future_skew("0 ms"), received, clock)
    for now in (0, 11):
        probe(operator, clock, now)
    received.take()
    operator.process_element("too far", 1_000)
    assert received.take() == [Record("too far", 1_000), ACTIVE]


def test_the_skew_does_not_overflow(received: Received, clock: ManualClock) -> None:
    operator = operator_of(PUNCTUATED.with_max_future_skew(f"{2**63 - 1} ms"), received, clock)
    clock.advance_to(1_000)
    operator.process_element("a", 2**63 - 2)
    assert received.take() == [Record("a", 2**63 - 2), Watermark(2**63 - 2)]


def test_diverted_records_that_were_not_taken_yet_survive_a_restart(received: Received, clock: ManualClock) -> None:
    strategy = PUNCTUATED.with_max_future_skew("50 ms", "future")
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    before.process_element("too far", 51)
    after.restore(before.snapshot())
    assert after.future_records == [Record("too far", 51)]


# Many records at once, by their highest timestamp


def test_the_highest_timestamp_of_many_records_moves_the_watermark_at_the_next_probe(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(ASCENDING, received, clock)
    operator.process_highest(7)
    operator.process_highest(5)
    assert received.take() == []
    operator.on_periodic_emit()
    assert received.take() == [Watermark(6)]
    assert operator.current_watermark == 6


def test_the_highest_timestamp_of_many_records_wakes_an_idle_channel_at_once(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    for now in (0, 11):
        probe(operator, clock, now)
    received.take()
    operator.process_highest(5)
    assert received.take() == [ACTIVE]


def test_the_highest_timestamp_of_many_records_counts_as_activity_until_the_next_probe(
    received: Received, clock: ManualClock
) -> None:
    operator = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    probe(operator, clock, 0)
    operator.process_highest(5)
    for now in (11, 12, 22):
        probe(operator, clock, now)
    assert received.take() == [Watermark(4)]
    probe(operator, clock, 23)
    assert received.take() == [IDLE]


@pytest.mark.parametrize(
    ("strategy", "generator"),
    [(PUNCTUATED, "PerEventWatermarks"), (WatermarkStrategy.for_generator(Counting), "Counting")],
)
def test_a_generator_that_needs_every_record_refuses_their_highest_timestamp(
    strategy: WatermarkStrategy, generator: str, received: Received, clock: ManualClock
) -> None:
    operator = operator_of(strategy, received, clock)
    with pytest.raises(InvalidTypeError, match=f"clicks: {generator} must see the records one by one"):
        operator.process_highest(5)


# Restart


def test_a_restart_keeps_the_watermark(received: Received, clock: ManualClock) -> None:
    before, after = operator_of(PUNCTUATED, received, clock), operator_of(PUNCTUATED, received, clock)
    before.process_element("a", 5)
    received.take()
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.process_element("b", 5)
    assert received.take() == [Record("b", 5)]
    assert after.current_watermark == 5


def test_a_restart_keeps_the_status_and_says_nothing(received: Received, clock: ManualClock) -> None:
    strategy = ASCENDING.with_idleness("10 ms")
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    for now in (0, 11):
        probe(before, clock, now)
    received.take()
    after.restore(json.loads(json.dumps(before.snapshot())))
    probe(after, clock, 5_000)
    assert received.take() == []
    after.process_element("a", 5)
    assert received.take() == [Record("a", 5), ACTIVE]


def test_after_a_restart_the_idle_countdown_starts_anew(received: Received, clock: ManualClock) -> None:
    strategy = ASCENDING.with_idleness("10 ms")
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    probe(before, clock, 0)
    after.restore(before.snapshot())
    for now in (5_000, 5_010):
        probe(after, clock, now)
    assert received.take() == []
    probe(after, clock, 5_011)
    assert received.take() == [IDLE]


def test_a_restart_keeps_the_status_that_a_users_generator_announced(received: Received, clock: ManualClock) -> None:
    strategy = WatermarkStrategy.for_generator(OnMarker)
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    before.process_element("idle", 5)
    received.take()
    after.restore(before.snapshot())
    assert received.take() == []
    assert after.is_idle


def test_an_idle_channel_wakes_up_when_the_program_no_longer_asks_for_idleness(
    received: Received, clock: ManualClock
) -> None:
    before = operator_of(ASCENDING.with_idleness("10 ms"), received, clock)
    for now in (0, 11):
        probe(before, clock, now)
    received.take()
    after = operator_of(ASCENDING, received, clock)
    after.restore(before.snapshot())
    after.process_element("a", 5)
    after.on_periodic_emit()
    assert [item for item in received.take() if not isinstance(item, Record)] == [ACTIVE, Watermark(4)]


def test_a_program_may_ask_for_idleness_after_a_restart(received: Received, clock: ManualClock) -> None:
    before, after = (
        operator_of(ASCENDING, received, clock),
        operator_of(ASCENDING.with_idleness("10 ms"), received, clock),
    )
    after.restore(before.snapshot())
    for now in (0, 11):
        probe(after, clock, now)
    assert received.take() == [IDLE]


def test_a_restart_keeps_the_count_of_records_too_far_ahead(received: Received, clock: ManualClock) -> None:
    strategy = PUNCTUATED.with_max_future_skew("50 ms")
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    before.process_element("too far", 51)
    after.restore(before.snapshot())
    assert after.num_future_records == 1


def test_a_restart_keeps_what_a_users_generator_remembers(received: Received, clock: ManualClock) -> None:
    strategy = WatermarkStrategy.for_generator(Counting)
    before, after = operator_of(strategy, received, clock), operator_of(strategy, received, clock)
    before.process_element("a", 5)
    received.take()
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.on_periodic_emit()
    assert received.take() == [Watermark(1)]


def test_a_snapshot_of_another_generator_is_refused(received: Received, clock: ManualClock) -> None:
    snapshot = operator_of(ASCENDING, received, clock).snapshot()
    with pytest.raises(SnapshotError, match="expected a snapshot of 'per_event', got one of 'bounded'"):
        operator_of(PUNCTUATED, received, clock).restore(snapshot)
