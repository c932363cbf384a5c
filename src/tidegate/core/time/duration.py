"""Spans of time: `Duration`, `Time`, and whatever else a user may write for one."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Final

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.errors import InvalidTypeError, InvalidValueError

_NANOS_PER_MILLI: Final = 1_000_000

_MILLIS_PER_UNIT: Final = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_MAX_DIGITS: Final = 30
_PART: Final = re.compile(r"\s*(-?\d+)\s*([a-z]+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time with nanosecond precision, as strategies take it.

    >>> Duration.of_seconds(2).to_millis()
    2000
    """

    nanos: int

    def __post_init__(self) -> None:
        _whole(self.nanos, "nanos")

    @staticmethod
    def of_days(days: int) -> Duration:
        return Duration(_whole(days, "days") * 86_400_000 * _NANOS_PER_MILLI)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        return Duration(_whole(hours, "hours") * 3_600_000 * _NANOS_PER_MILLI)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        return Duration(_whole(minutes, "minutes") * 60_000 * _NANOS_PER_MILLI)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        return Duration(_whole(seconds, "seconds") * 1_000 * _NANOS_PER_MILLI)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        return Duration(_whole(millis, "millis") * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        return Duration(_whole(nanos, "nanos"))

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down."""
        return self.nanos // _NANOS_PER_MILLI


@dataclass(frozen=True, slots=True, order=True, init=False)
class Time:
    """A span of time in milliseconds, as windows take it.

    >>> Time.minutes(1).to_milliseconds()
    60000
    """

    _milliseconds: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "_milliseconds", _whole(milliseconds, "milliseconds"))

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        return Time(_whole(milliseconds, "milliseconds"))

    @staticmethod
    def seconds(seconds: int) -> Time:
        return Time(_whole(seconds, "seconds") * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        return Time(_whole(minutes, "minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        return Time(_whole(hours, "hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        return Time(_whole(days, "days") * 86_400_000)

    def to_milliseconds(self) -> int:
        return self._milliseconds


DurationLike = Duration | Time | datetime.timedelta | str
"""What a user may write for a span of time: "10 seconds", "1 h 30 min", a timedelta, a Duration or a Time."""


def as_millis(value: DurationLike, where: str) -> int:
    """The span in whole milliseconds; `where` names the argument in the error.

    >>> as_millis("1 minute 30 s", "bound")
    90000
    """
    if isinstance(value, Duration):
        millis = value.to_millis()
    elif isinstance(value, Time):
        millis = value.to_milliseconds()
    elif isinstance(value, datetime.timedelta):
        millis = value // datetime.timedelta(milliseconds=1)
    elif isinstance(value, str):
        millis = _parse(value, where)
    else:
        raise InvalidTypeError(
            f"{where}: expected a Duration, a Time, a timedelta or text such as '10 seconds', "
            f"got {type(value).__name__} {value!r}"
        )
    if not MIN_TIME <= millis <= MAX_TIME:
        raise InvalidValueError(f"{where}: {value!r} does not fit into 64 bits of milliseconds")
    return millis


def as_span(value: int | DurationLike) -> DurationLike:
    """As it is, with integer milliseconds as a `Time`; for constructors that PyFlink programs give integers."""
    return Time(value) if isinstance(value, int) else value


def positive_millis(value: DurationLike, where: str) -> int:
    """As `as_millis`, refusing spans of zero or less."""
    millis = as_millis(value, where)
    if millis <= 0:
        raise InvalidValueError(f"{where} must be longer than 0 ms, got {millis} ms")
    return millis


def non_negative_millis(value: DurationLike, where: str) -> int:
    """As `as_millis`, refusing spans below zero."""
    millis = as_millis(value, where)
    if millis < 0:
        raise InvalidValueError(f"{where} must not be negative, got {millis} ms")
    return millis


def _parse(text: str, where: str) -> int:
    millis = 0
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            break
        unit = _MILLIS_PER_UNIT.get(part[2].lower())
        if unit is None:
            break
        if len(part[1]) > _MAX_DIGITS:
            raise InvalidValueError(f"{where}: {text[:40]!r}... does not fit into 64 bits of milliseconds")
        millis += int(part[1]) * unit
        position = part.end()
    if position == 0 or position < len(text):
        raise InvalidValueError(
            f"{where}: cannot read {text!r} as a duration; write for example '500 ms', '10 seconds' or '1 h 30 min'"
        )
    return millis


def _whole(value: int, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidTypeError(f"a duration takes a whole number of {unit}, got {type(value).__name__} {value!r}")
    return value
