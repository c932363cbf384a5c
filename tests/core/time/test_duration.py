from __future__ import annotations

import datetime
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.core.time.duration import (
    Duration,
    DurationLike,
    Time,
    as_millis,
    non_negative_millis,
    positive_millis,
)
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        (Duration.of_days(2), 172_800_000),
        (Duration.of_hours(3), 10_800_000),
        (Duration.of_minutes(4), 240_000),
        (Duration.of_seconds(5), 5_000),
        (Duration.of_millis(6), 6),
        (Duration.of_nanos(7_999_999), 7),
        (Duration.of_nanos(-1), -1),
        (Time.days(2), 172_800_000),
        (Time.hours(3), 10_800_000),
        (Time.minutes(4), 240_000),
        (Time.seconds(5), 5_000),
        (Time.milliseconds(6), 6),
        (datetime.timedelta(days=1, seconds=2, milliseconds=3), 86_402_003),
        (datetime.timedelta(microseconds=1_999), 1),
        (datetime.timedelta(milliseconds=-5), -5),
    ],
)
def test_every_kind_of_span_becomes_whole_milliseconds(value: DurationLike, millis: int) -> None:
    assert as_millis(value, "bound") == millis


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("500 ms", 500),
        ("500ms", 500),
        ("1 milli", 1),
        ("2 millis", 2),
        ("1 millisecond", 1),
        ("2 milliseconds", 2),
        ("1 s", 1_000),
        ("1 sec", 1_000),
        ("2 secs", 2_000),
        ("1 second", 1_000),
        ("10 seconds", 10_000),
        ("1 m", 60_000),
        ("1 min", 60_000),
        ("2 mins", 120_000),
        ("1 minute", 60_000),
        ("2 minutes", 120_000),
        ("1 h", 3_600_000),
        ("1 hour", 3_600_000),
        ("2 hours", 7_200_000),
        ("1 d", 86_400_000),
        ("1 day", 86_400_000),
        ("2 days", 172_800_000),
        ("  1 H 30 Min ", 5_400_000),
        ("1h30m", 5_400_000),
        ("-3 s", -3_000),
    ],
)
def test_text_is_read_in_every_unit(text: str, millis: int) -> None:
    assert as_millis(text, "bound") == millis


@pytest.mark.parametrize("text", ["", "  ", "10", "seconds", "1.5 s", "10 parsecs", "10 s!", "1 h 30", "s 1", "PT10S"])
def test_text_that_is_no_duration_is_refused_with_examples(text: str) -> None:
    message = f"bound: cannot read {text!r} as a duration; write for example '500 ms', '10 seconds' or '1 h 30 min'"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        as_millis(text, "bound")


@pytest.mark.parametrize("value", [10, 10.0, None, True, b"10 s", object])
def test_a_bare_number_is_refused_because_its_unit_is_unknown(value: Any) -> None:
    message = (
        "bound: expected a Duration, a Time, a timedelta or text such as '10 seconds', "
        f"got {type(value).__name__} {value!r}"
    )
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        as_millis(value, "bound")


@pytest.mark.parametrize(
    "value", [Duration.of_millis(MAX_TIME + 1), Time.milliseconds(MIN_TIME - 1), f"{MAX_TIME} days"]
)
def test_a_span_beyond_64_bits_is_refused(value: DurationLike) -> None:
    with pytest.raises(InvalidValueError, match=r"bound: .* does not fit into 64 bits of milliseconds"):
        as_millis(value, "bound")


def test_text_with_thousands_of_digits_is_refused_like_any_other_span_that_is_too_long() -> None:
    with pytest.raises(InvalidValueError, match="bound: "):
        as_millis("9" * 5_000 + " s", "bound")


def test_the_longest_span_is_accepted() -> None:
    assert as_millis(Duration.of_millis(MAX_TIME), "bound") == MAX_TIME


@pytest.mark.parametrize(
    "value", ["0 ms", "-1 ms", Duration.of_nanos(999_999), datetime.timedelta(0), Time.seconds(-2)]
)
def test_a_positive_span_is_longer_than_zero(value: DurationLike) -> None:
    with pytest.raises(InvalidValueError, match=r"timeout must be longer than 0 ms, got -?\d+ ms"):
        positive_millis(value, "timeout")


def test_one_millisecond_is_positive() -> None:
    assert positive_millis("1 ms", "timeout") == 1


@pytest.mark.parametrize("value", ["-1 ms", Duration.of_nanos(-1), datetime.timedelta(microseconds=-1), Time.days(-1)])
def test_a_span_below_zero_is_refused_where_zero_is_allowed(value: DurationLike) -> None:
    with pytest.raises(InvalidValueError, match=r"drift must not be negative, got -\d+ ms"):
        non_negative_millis(value, "drift")


def test_zero_is_not_negative() -> None:
    assert non_negative_millis("0 s", "drift") == 0


@pytest.mark.parametrize(
    ("factory", "unit"),
    [
        (Duration.of_days, "days"),
        (Duration.of_hours, "hours"),
        (Duration.of_minutes, "minutes"),
        (Duration.of_seconds, "seconds"),
        (Duration.of_millis, "millis"),
        (Duration.of_nanos, "nanos"),
        (Time.days, "days"),
        (Time.hours, "hours"),
        (Time.minutes, "minutes"),
        (Time.seconds, "seconds"),
        (Time.milliseconds, "milliseconds"),
    ],
)
@pytest.mark.parametrize("value", [1.5, "1", None, True])
def test_factories_take_whole_numbers_only(factory: Callable[[Any], Any], unit: str, value: Any) -> None:
    message = f"a duration takes a whole number of {unit}, got {type(value).__name__} {value!r}"
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        factory(value)


@pytest.mark.parametrize("kind", [Duration, Time])
@pytest.mark.parametrize("value", [1.5, "1", None])
def test_constructors_take_whole_numbers_only(kind: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(InvalidTypeError, match=f"a whole number .*got {type(value).__name__}"):
        kind(value)


@pytest.mark.parametrize("value", [Duration.of_seconds(2), Time.seconds(2)])
def test_durations_are_values(value: Duration | Time) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(pickle.loads(pickle.dumps(value)))


def test_durations_are_ordered_by_length() -> None:
    assert Duration.of_seconds(1) < Duration.of_minutes(1)
    assert Time.seconds(1) < Time.minutes(1)
