from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tidegate.core.time.duration import Duration
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    PerEventWatermarks,
    WatermarkGenerator,
    WatermarkOutput,
)
from tidegate.core.watermark.legacy_assigners import AssignerWithPunctuatedWatermarks
from tidegate.core.watermark.strategy import Bounded, Legacy, WatermarkStrategy
from tidegate.core.watermark.timestamps import (
    ColumnTimestampAssigner,
    FunctionTimestampAssigner,
    RecordTimestampAssigner,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError


def stamp(value: Any, record_timestamp: int) -> int:
    return int(value)


class Mine(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Older(AssignerWithPunctuatedWatermarks):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> None:
        return None


Builder = Callable[[WatermarkStrategy], WatermarkStrategy]

BUILDERS: list[Builder] = [
    lambda strategy: strategy.with_timestamp_assigner(stamp),
    lambda strategy: strategy.with_idleness("1 minute"),
    lambda strategy: strategy.with_watermark_alignment("group", "20 s", "5 s"),
    lambda strategy: strategy.with_max_future_skew("1 h", "future"),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(BUILDERS)))))
def test_builders_keep_every_option_in_any_order(order: tuple[int, ...]) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    for index in order:
        strategy = BUILDERS[index](strategy)
    assert strategy == WatermarkStrategy(
        generator=Bounded(10_000),
        timestamp_assigner=FunctionTimestampAssigner(stamp),
        idle_timeout=60_000,
        alignment=AlignmentParameters("group", 20_000, 5_000),
        max_future_skew=3_600_000,
        future_output="future",
    )


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_builder_leaves_the_strategy_it_was_called_on_alone(builder: Builder) -> None:
    base = WatermarkStrategy.for_monotonous_timestamps()
    assert builder(base) != base
    assert base == WatermarkStrategy.for_monotonous_timestamps()


def test_a_strategy_is_frozen() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    with pytest.raises(FrozenInstanceError):
        strategy.idle_timeout = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    "strategy",
    [
        WatermarkStrategy.for_bounded_out_of_orderness("10 s"),
        WatermarkStrategy.for_monotonous_timestamps(),
        WatermarkStrategy.no_watermarks(),
        WatermarkStrategy.for_punctuated_timestamps(),
        WatermarkStrategy.for_generator(Mine),
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(stamp)
        .with_idleness("1 s")
        .with_watermark_alignment("group", "20 s")
        .with_max_future_skew("1 s", "future"),
        WatermarkStrategy.no_watermarks().with_timestamp_column("ts"),
    ],
)
def test_a_strategy_is_picklable(strategy: WatermarkStrategy) -> None:
    assert pickle.loads(pickle.dumps(strategy)) == strategy


def test_a_strategy_of_an_older_assigner_is_picklable() -> None:
    strategy = pickle.loads(pickle.dumps(WatermarkStrategy.of(Older()).with_idleness("1 s")))
    assert isinstance(strategy.generator.assigner, Older)
    assert strategy.idle_timeout == 1_000


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        (WatermarkStrategy.for_bounded_out_of_orderness("10 s"), BoundedOutOfOrdernessWatermarks),
        (WatermarkStrategy.for_monotonous_timestamps(), AscendingTimestampsWatermarks),
        (WatermarkStrategy.no_watermarks(), NoWatermarksGenerator),
        (WatermarkStrategy.for_punctuated_timestamps(), PerEventWatermarks),
        (WatermarkStrategy.for_generator(Mine), Mine),
        (WatermarkStrategy.for_generator(lambda: Mine()), Mine),
    ],
)
def test_every_channel_gets_a_generator_of_its_own(strategy: WatermarkStrategy, kind: type[WatermarkGenerator]) -> None:
    first, second = strategy.create_generator(), strategy.create_generator()
    assert type(first) is kind
    assert type(second) is kind
    assert first is not second


def test_records_keep_their_timestamps_unless_an_assigner_is_given() -> None:
    assert WatermarkStrategy.no_watermarks().timestamp_assigner == RecordTimestampAssigner()


def test_a_column_is_an_assigner_that_can_be_recognised() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_column("ts")
    assert strategy.timestamp_assigner == ColumnTimestampAssigner("ts")


def test_the_later_of_two_assigners_counts() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(stamp).with_timestamp_column("ts")
    assert strategy.timestamp_assigner == ColumnTimestampAssigner("ts")


def test_alignment_updates_every_second_unless_told_otherwise() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment("group", "0 ms")
    assert strategy.alignment == AlignmentParameters("group", 0, 1_000)


def test_a_strategy_is_taken_as_it_is_where_an_older_assigner_may_stand() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    assert WatermarkStrategy.of(strategy) is strategy
    assert isinstance(WatermarkStrategy.of(Older()).generator, Legacy)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda base: base.for_bounded_out_of_orderness("-1 ms"),
            "for_bounded_out_of_orderness: bound must not be negative, got -1 ms",
        ),
        (lambda base: base.with_idleness("0 ms"), "with_idleness: timeout must be longer than 0 ms, got 0 ms"),
        (lambda base: base.with_idleness("-5 s"), "with_idleness: timeout must be longer than 0 ms, got -5000 ms"),
        (
            lambda base: base.with_watermark_alignment("g", "-1 s"),
            "with_watermark_alignment: drift must not be negative, got -1000 ms",
        ),
        (
            lambda base: base.with_watermark_alignment("g", "1 s", "0 s"),
            "with_watermark_alignment: update interval must be longer than 0 ms, got 0 ms",
        ),
        (
            lambda base: base.with_watermark_alignment("", "1 s"),
            "with_watermark_alignment: expected the name of a group, got ''",
        ),
        (
            lambda base: base.with_watermark_alignment(3, "1 s"),
            "with_watermark_alignment: expected the name of a group, got 3",
        ),
        (lambda base: base.with_max_future_skew("-1 s"), "with_max_future_skew: skew must not be negative, got -1000 "),
        (lambda base: base.with_timestamp_column(""), "with_timestamp_column: expected the name of a field, got ''"),
        (lambda base: base.with_timestamp_column(1), "with_timestamp_column: expected the name of a field, got 1"),
    ],
)
def test_values_that_make_no_sense_are_refused(build: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        build(WatermarkStrategy.no_watermarks())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda base: base.for_bounded_out_of_orderness(10),
            "for_bounded_out_of_orderness: bound: expected a Duration, a Time, a timedelta or text such as",
        ),
        (lambda base: base.with_idleness(None), "with_idleness: timeout: expected a Duration, a Time, a timedelta"),
        (
            lambda base: base.for_generator("Mine"),
            "for_generator: expected a WatermarkGenerator class or a function without arguments that creates one for "
            "each channel, got 'Mine'",
        ),
        (
            lambda base: base.for_generator(Mine()),
            "for_generator: expected a WatermarkGenerator class or a function without arguments",
        ),
        (
            lambda base: base.of("bounded"),
            "assign_timestamps_and_watermarks: expected a WatermarkStrategy, such as "
            "WatermarkStrategy.for_bounded_out_of_orderness('10 seconds'), got 'bounded'",
        ),
        (lambda base: base.with_timestamp_assigner(5), "with_timestamp_assigner: expected a TimestampAssigner object"),
    ],
)
def test_values_of_the_wrong_type_are_refused(build: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        build(WatermarkStrategy.no_watermarks())


def test_a_negative_bound_is_refused_however_the_strategy_is_made() -> None:
    with pytest.raises(InvalidValueError, match="out-of-orderness bound must be 0 ms or more, got -1"):
        WatermarkStrategy(Bounded(-1)).create_generator()


def test_a_supplier_that_creates_something_else_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"for_generator: .* must create a WatermarkGenerator, got 5"):
        WatermarkStrategy.for_generator(lambda: 5).create_generator()


def test_a_supplier_that_raises_is_named() -> None:
    def broken() -> WatermarkGenerator:
        raise RuntimeError("no disk")

    with pytest.raises(UserCodeError, match=r"for_generator: .*broken.* raised RuntimeError\('no disk'\) when called"):
        WatermarkStrategy.for_generator(broken).create_generator()


def test_an_assigner_that_is_neither_periodic_nor_punctuated_is_refused() -> None:
    with pytest.raises(
        InvalidTypeError, match="expected an AssignerWithPeriodicWatermarks or an AssignerWithPunctuatedWatermarks, got"
    ):
        Legacy(RecordTimestampAssigner()).create()
