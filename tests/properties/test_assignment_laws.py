"""Laws of the operator that assigns timestamps and watermarks, and of the source contexts."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.operator.outputs import ChainedOutput, Output
from tidegate.core.source.source_context import (
    EventTimeContext,
    IngestionTimeContext,
    ProcessingTimeContext,
    SourceContext,
)
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.generators import WatermarkGenerator, WatermarkOutput
from tidegate.core.watermark.legacy_assigners import BoundedOutOfOrdernessTimestampExtractor
from tidegate.core.watermark.records import Progress, Record, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.testing import ManualClock

SKEW = 15


class Received:
    def __init__(self) -> None:
        self.items: list[Record | Progress] = []

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.items.append(Record(value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self.items.append(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.items.append(status)


class EveryThird(WatermarkGenerator):
    """A user's generator that is punctuated and periodic and has something to remember."""

    def __init__(self) -> None:
        self.count = 0
        self.highest = MIN_TIME

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.count += 1
        self.highest = max(self.highest, timestamp)
        if self.count % 3 == 0:
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self.count % 2 == 0:
            output.emit_watermark(Watermark(self.highest))


class Extractor(BoundedOutOfOrdernessTimestampExtractor):
    """The older way; records carry their index and their timestamp here."""

    def extract(self, element: Any) -> int:
        return element[1]  # type: ignore[no-any-return]


BY_HIGHEST = [
    WatermarkStrategy.for_bounded_out_of_orderness("0 ms"),
    WatermarkStrategy.for_bounded_out_of_orderness("7 ms"),
    WatermarkStrategy.for_monotonous_timestamps(),
    WatermarkStrategy.no_watermarks(),
]
"""Those whose sources may be read as columns, with or without idleness; see `tidegate.engine.entries`."""

ALL = [
    *BY_HIGHEST,
    WatermarkStrategy.for_punctuated_timestamps(),
    WatermarkStrategy.for_generator(EveryThird),
    WatermarkStrategy.of(Extractor("7 ms")),
]

EXTREMES = [MIN_TIME, MIN_TIME + 1, MAX_TIME - 1, MAX_TIME]
timestamps = st.sampled_from([*range(-10, 120, 3), *EXTREMES])


def options(
    strategies: list[WatermarkStrategy], skews: tuple[str, ...] = ("none", "keep", "divert")
) -> st.SearchStrategy[WatermarkStrategy]:
    def choose(strategy: WatermarkStrategy, is_idling: bool, skew: str) -> WatermarkStrategy:
        if is_idling:
            strategy = strategy.with_idleness("10 ms")
        if skew != "none":
            strategy = strategy.with_max_future_skew(f"{SKEW} ms", "future" if skew == "divert" else None)
        return strategy

    return st.builds(choose, st.sampled_from(strategies), st.booleans(), st.sampled_from(skews))


by_highest = options(BY_HIGHEST, skews=("none",))


# By the highest timestamp = one by one


class Batch(NamedTuple):
    """A column, and then perhaps a periodic probe some time later."""

    column: list[int]
    wait: int
    is_probed: bool


waits = st.sampled_from([0, 1, 10, 11, 25])
batches = st.lists(
    st.builds(Batch, st.lists(timestamps, max_size=4), waits, st.sampled_from([True, True, False])),
    min_size=6,
    max_size=12,
)


class Channel:
    """An operator with its clock and what it sent."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self.strategy = strategy
        self.received = Received()
        self.output = ChainedOutput(self.received)
        self.clock = ManualClock()
        self.operator = TimestampsAndWatermarksOperator(strategy, self.output, self.clock)
        self.count = 0

    def one_by_one(self, column: list[int]) -> None:
        for timestamp in column:
            self.operator.process_element((self.count, timestamp), timestamp)
            self.count += 1

    def at_once(self, column: list[int]) -> None:
        """What a runtime does with columns: the records travel by themselves, and none send nothing."""
        if column:
            self.operator.process_highest(max(column))

    def wait(self, milliseconds: int, *, is_probed: bool) -> None:
        self.clock.advance(milliseconds)
        if is_probed:
            self.operator.on_periodic_emit()

    def progress(self) -> list[Progress]:
        return [item for item in self.received.items if not isinstance(item, Record)]


@given(strategy=by_highest, script=batches)
@settings(max_examples=150, deadline=None)
def test_the_highest_timestamp_of_a_column_moves_time_exactly_as_its_records_one_by_one(
    strategy: WatermarkStrategy, script: list[Batch]
) -> None:
    slow, fast = Channel(strategy), Channel(strategy)
    for batch in script:
        slow.one_by_one(batch.column)
        fast.at_once(batch.column)
        assert fast.operator.snapshot() == slow.operator.snapshot()
        slow.wait(batch.wait, is_probed=batch.is_probed)
        fast.wait(batch.wait, is_probed=batch.is_probed)
        assert fast.progress() == slow.progress()
    assert fast.operator.snapshot() == slow.operator.snapshot()


@given(
    strategy=by_highest,
    column=st.lists(timestamps, min_size=10, max_size=20),
    cuts=st.sets(st.integers(0, 20), max_size=5),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_column_may_be_cut_anywhere_and_its_parts_come_in_any_order(
    strategy: WatermarkStrategy, column: list[int], cuts: set[int], data: st.DataObject
) -> None:
    whole, cut = Channel(strategy), Channel(strategy)
    # Both are idle by now, if they can be.
    for channel in (whole, cut):
        channel.wait(0, is_probed=True)
        channel.wait(11, is_probed=True)
    whole.at_once(column)
    bounds = [0, *sorted(cuts), len(column)]
    for start, end in data.draw(st.permutations(list(itertools.pairwise(bounds)))):
        cut.at_once(column[start:end])
    whole.wait(10, is_probed=True)
    cut.wait(10, is_probed=True)
    assert cut.progress() == whole.progress()
    assert cut.operator.snapshot() == whole.operator.snapshot()


# Monotone output


class Event(NamedTuple):
    timestamp: int


class Probe(NamedTuple):
    wait: int


class Upstream(NamedTuple):
    watermark: int


STEPS = [
    *(Probe(wait) for wait in (0, 1, 10, 11, 25) for _ in range(10)),
    *(Event(timestamp) for timestamp in range(-10, 120, 3)),
    *(Event(timestamp) for timestamp in EXTREMES),
    Upstream(50),
    Upstream(MAX_TIME),
]
steps = st.binary(min_size=30, max_size=60).map(lambda data: [STEPS[byte % len(STEPS)] for byte in data])


def feed(channel: Channel, step: Event | Probe | Upstream) -> None:
    if isinstance(step, Event):
        channel.one_by_one([step.timestamp])
    elif isinstance(step, Probe):
        channel.wait(step.wait, is_probed=True)
    else:
        channel.operator.process_watermark(Watermark(step.watermark))


@given(strategy=options(ALL), script=steps)
@settings(max_examples=60, deadline=None)
def test_a_channel_never_goes_back_and_announces_each_change_once(
    strategy: WatermarkStrategy, script: list[Event | Probe | Upstream]
) -> None:
    channel = Channel(strategy)
    for step in script:
        feed(channel, step)
    last, status = MIN_TIME, WatermarkStatus.ACTIVE
    for item in channel.received.items:
        if isinstance(item, Watermark):
            assert item.timestamp > last
            assert status is WatermarkStatus.ACTIVE
            last = item.timestamp
        elif isinstance(item, WatermarkStatus):
            assert last < MAX_TIME
            assert item is not status
            status = item


# Restart


def restarted(channel: Channel) -> Channel:
    fresh = Channel(channel.strategy)
    snapshot = channel.operator.snapshot()
    is_plain = channel.strategy.future_output is None
    fresh.operator.restore(json.loads(json.dumps(snapshot)) if is_plain else pickle.loads(pickle.dumps(snapshot)))
    fresh.clock.advance_to(channel.clock())
    fresh.received.items = channel.received.items
    fresh.count = channel.count
    return fresh


@given(strategy=options(ALL), script=steps, cuts=st.sets(st.integers(0, 59), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_restart_at_any_step_changes_neither_records_nor_watermarks(
    strategy: WatermarkStrategy, script: list[Event | Probe | Upstream], cuts: set[int]
) -> None:
    whole, stopped = Channel(strategy), Channel(strategy)
    for number, step in enumerate(script):
        if number in cuts:
            stopped = restarted(stopped)
        feed(whole, step)
        feed(stopped, step)
    expected, got = whole.received.items, stopped.received.items
    if strategy.idle_timeout is not None:
        # The countdown starts anew, so the status may change later; what is said about time stays the same.
        expected = [item for item in expected if not isinstance(item, WatermarkStatus)]
        got = [item for item in got if not isinstance(item, WatermarkStatus)]
    assert got == expected
    assert stopped.operator.num_future_records == whole.operator.num_future_records


CONTEXTS: list[Callable[[Output, ManualClock], SourceContext]] = [
    EventTimeContext,
    lambda output, clock: IngestionTimeContext(output, clock, 10),
    ProcessingTimeContext,
]

CALLS = [
    *(("tick", wait) for wait in (0, 1, 9, 10, 11, 25)),
    *(("collect", 0), ("collect", 0), ("idle", 0), ("idle", 0)),
    *(("stamp", timestamp) for timestamp in (0, 5)),
    *(("wm", timestamp) for timestamp in (MIN_TIME, *range(0, 60, 8), MAX_TIME)),
]
calls = st.binary(min_size=30, max_size=60).map(lambda data: [CALLS[byte % len(CALLS)] for byte in data])


class Source:
    """A context with its clock and what it sent."""

    def __init__(self, create: Callable[[Output, ManualClock], SourceContext]) -> None:
        self.create = create
        self.received = Received()
        self.clock = ManualClock()
        self.output = ChainedOutput(self.received)
        self.context = create(self.output, self.clock)

    def call(self, verb: str, time: int) -> None:
        if verb == "collect":
            self.context.collect("a")
        elif verb == "stamp":
            self.context.collect_with_timestamp("b", time)
        elif verb == "wm":
            self.context.emit_watermark(Watermark(time))
        elif verb == "idle":
            self.context.mark_as_temporarily_idle()
        else:
            self.clock.advance(time)
            self.context.on_periodic_emit()

    def restart(self) -> None:
        saved = json.loads(json.dumps({"context": self.context.snapshot(), "output": self.output.snapshot()}))
        self.output = ChainedOutput(self.received)
        self.output.restore(saved["output"])
        self.context = self.create(self.output, self.clock)
        self.context.restore(saved["context"])


@pytest.mark.parametrize("create", CONTEXTS)
@given(script=calls, cuts=st.sets(st.integers(0, 59), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_source_context_restarted_at_any_step_sends_the_same(
    create: Callable[[Output, ManualClock], SourceContext], script: list[tuple[str, int]], cuts: set[int]
) -> None:
    whole, stopped = Source(create), Source(create)
    for number, (verb, time) in enumerate(script):
        if number in cuts:
            stopped.restart()
        whole.call(verb, time)
        stopped.call(verb, time)
    assert stopped.received.items == whole.received.items
