"""Source functions on the three source contexts, and watermark alignment."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.local.jobs import WAIT, Lists, Tape, collect, local

from tidegate.common import JobStatus, Time, Watermark, WatermarkStrategy
from tidegate.core.time.millis import MAX_TIME
from tidegate.datastream import CoMapFunction, MapFunction, SourceFunction, TimeCharacteristic
from tidegate.datastream.functions import SourceContext
from tidegate.errors import UserCodeError
from tidegate.testing import ManualClock


class Script(SourceFunction):
    """Does everything that a source may do, once."""

    def run(self, ctx: SourceContext) -> None:
        ctx.collect_with_timestamp("a", 1)
        ctx.emit_watermark(Watermark(5))
        ctx.collect("b")
        ctx.mark_as_temporarily_idle()
        ctx.collect_with_timestamp("c", 12)

    def cancel(self) -> None:
        pass


def run(function: SourceFunction, time: TimeCharacteristic, **options: Any) -> Tape:
    env = local(**options)
    env.set_stream_time_characteristic(time)
    tape = Tape()
    env.add_source(function, "script").sink_to(tape)
    env.execute()
    return tape


def test_by_event_time_the_source_gives_timestamps_and_watermarks() -> None:
    tape = run(Script(), TimeCharacteristic.EventTime)
    assert tape.items == [("a", 1), Watermark(5), ("b", None), ("c", 12), Watermark(MAX_TIME)]


def test_by_ingestion_time_the_clock_does() -> None:
    tape = run(Script(), TimeCharacteristic.IngestionTime, clock=ManualClock(1_234))
    assert tape.items[:2] == [("a", 1_234), Watermark(1_200)]
    assert tape.values == ["a", "b", "c"]
    assert tape.watermarks == [1_200, MAX_TIME]


def test_by_processing_time_nobody_does() -> None:
    tape = run(Script(), TimeCharacteristic.ProcessingTime)
    assert tape.items == [("a", None), ("b", None), ("c", None), Watermark(MAX_TIME)]


def test_records_of_a_source_function_can_be_windowed_by_its_timestamps() -> None:
    class Stamps(Script):
        def run(self, ctx: SourceContext) -> None:
            for timestamp in (1, 4, 12):
                ctx.collect_with_timestamp(("a", timestamp), timestamp)
                ctx.emit_watermark(Watermark(timestamp))

    stream = local().add_source(Stamps())
    assert collect(stream.key_by(0).time_window(Time.milliseconds(10)).sum(1)) == [("a", 5), ("a", 12)]


@pytest.mark.usefixtures("one_at_a_time")
def test_an_ingestion_time_job_needs_no_assigner() -> None:
    clock = ManualClock(1_000)

    class Passes(MapFunction):
        def map(self, value: Any) -> Any:
            clock.advance(100)
            return value

    env = local(clock=clock)
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    stream = env.from_collection([("a", 1), ("a", 2), ("a", 4)]).map(Passes())
    assert collect(stream.key_by(0).time_window(Time.milliseconds(200)).sum(1)) == [("a", 3), ("a", 4)]


# Its life


class UntilCancelled(SourceFunction):
    """Counts until it is cancelled."""

    cancelled = threading.Event()

    def run(self, ctx: SourceContext) -> None:
        number = 0
        while not self.cancelled.wait(0.001):
            ctx.collect_with_timestamp(number, number)
            number += 1

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.mark.parametrize("how", ["stop", "drain"])
def test_a_source_function_is_cancelled_when_the_job_ends(how: str) -> None:
    UntilCancelled.cancelled.clear()
    env = local()
    tape = Tape()
    env.add_source(UntilCancelled()).sink_to(tape)
    job = env.execute_async()
    tape.wait_for(5)
    getattr(job, how)()
    job.wait(WAIT)
    assert UntilCancelled.cancelled.is_set()
    assert job.status() is (JobStatus.CANCELED if how == "stop" else JobStatus.FINISHED)
    assert (tape.watermarks == [MAX_TIME]) is (how == "drain")


def test_an_error_of_a_source_function_names_it() -> None:
    class Fails(Script):
        def run(self, ctx: SourceContext) -> None:
            ctx.collect("a")
            raise OSError("unplugged")

    env = local()
    tape = Tape()
    env.add_source(Fails(), "script").uid("script").sink_to(tape)
    with pytest.raises(UserCodeError, match="script, channel 0: the source raised OSError: unplugged") as caught:
        env.execute()
    assert isinstance(caught.value.__cause__, OSError)
    assert tape.values == ["a"]


def test_a_wrong_call_of_a_source_function_fails_the_job() -> None:
    class Wrong(Script):
        def run(self, ctx: SourceContext) -> None:
            ctx.emit_watermark(5)  # type: ignore[arg-type]

    env = local()
    env.add_source(Wrong()).sink_to(Tape())
    with pytest.raises(TypeError, match="emit_watermark takes a Watermark, got 5"):
        env.execute()


def test_a_source_function_that_closes_its_context_has_ended() -> None:
    class Closes(Script):
        def run(self, ctx: SourceContext) -> None:
            ctx.collect("a")
            ctx.close()

    env = local()
    tape = Tape()
    env.add_source(Closes()).sink_to(tape)
    job = env.execute_async()
    try:
        job.wait(2)
    finally:
        job.stop()
    assert tape.values == ["a"]


class Burst(SourceFunction):
    """Collects much at once, and then waits."""

    collected = threading.Event()
    released = threading.Event()

    def run(self, ctx: SourceContext) -> None:
        for number in range(3_000):
            ctx.collect(number)
        self.collected.set()
        self.released.wait(WAIT)

    def cancel(self) -> None:
        self.released.set()


class Slow(MapFunction):
    """Lets nothing pass before the source has collected everything and the job is told to drain."""

    go = threading.Event()

    def map(self, value: Any) -> Any:
        self.go.wait(WAIT)
        return value


def test_what_a_source_function_has_collected_is_not_lost_when_the_job_is_drained() -> None:
    for event in (Burst.collected, Burst.released, Slow.go):
        event.clear()
    env = local()
    tape = Tape()
    env.add_source(Burst()).map(Slow()).sink_to(tape)
    job = env.execute_async()
    assert Burst.collected.wait(WAIT)
    job.drain()
    Slow.go.set()
    job.wait(WAIT)
    assert tape.values == list(range(3_000))


def test_a_source_function_waits_while_the_job_is_behind() -> None:
    class Many(Script):
        def run(self, ctx: SourceContext) -> None:
            for number in range(30_000):
                ctx.collect(number)

    tape = run(Many(), TimeCharacteristic.EventTime)
    assert tape.values == list(range(30_000))


# Alignment


def test_alignment_holds_back_the_channel_that_is_too_far_ahead() -> None:
    # The first channel moves by 1 with each element, the second by 100.
    env = local()
    strategy = (
        WatermarkStrategy.for_punctuated_timestamps()
        .with_timestamp_assigner(lambda value, _: value[1])
        .with_watermark_alignment("group", "1 second", "1 ms")
    )
    tape = Tape()
    source = Lists([("slow", n) for n in range(6_000)], [("fast", n * 100) for n in range(3_000)])
    env.from_source(source, strategy, "both").sink_to(tape)
    env.execute()
    values = tape.values
    assert len(values) == 9_000
    halfway = values.index(("slow", 3_000))
    fast = sum(1 for name, _ in values[:halfway] if name == "fast")
    # Unaligned it would be as far as the slow one; one batch may pass before the limit is known.
    assert fast <= 600


def test_without_alignment_channels_are_read_evenly() -> None:
    env = local()
    tape = Tape()
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    source = Lists([("slow", n) for n in range(2_000)], [("fast", n * 100) for n in range(2_000)])
    env.from_source(source, strategy, "both").sink_to(tape)
    env.execute()
    halfway = tape.values.index(("slow", 1_000))
    assert sum(1 for name, _ in tape.values[:halfway] if name == "fast") == 1_000


# Silence


def test_a_channel_without_elements_has_ended_and_holds_nobody_back() -> None:
    strategy = WatermarkStrategy.for_punctuated_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = local().from_source(Lists(range(100), []), strategy, "half")
    found = collect(stream.key_by(lambda value: 0).time_window(Time.milliseconds(50)).sum())
    assert found == [sum(range(50)), sum(range(50, 100))]


@pytest.mark.parametrize("together", ["union", "connect"])
def test_a_silent_source_holds_the_others_until_it_is_idle(together: str) -> None:
    UntilCancelled.cancelled.clear()

    class SilentUntilCancelled(UntilCancelled):
        def run(self, ctx: SourceContext) -> None:
            self.cancelled.wait(WAIT)

    env = local()
    env.get_config().set_auto_watermark_interval(5)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    silent = env.add_source(SilentUntilCancelled(), "silent")
    silent = silent.assign_timestamps_and_watermarks(strategy.with_idleness("20 ms"))
    speaking = env.add_source(UntilCancelled(), "speaking").assign_timestamps_and_watermarks(strategy)
    both: Any = speaking.union(silent) if together == "union" else speaking.connect(silent)
    if together == "connect":
        both = both.map(Same())
    tape = Tape()
    both.key_by(lambda value: 0).time_window(Time.milliseconds(10)).sum().sink_to(tape)
    job = env.execute_async()
    tape.wait_for(3)
    job.stop()
    job.wait(WAIT)
    assert tape.values[0] == sum(range(10))


class Same(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1
