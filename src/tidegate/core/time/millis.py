"""Signed 64-bit milliseconds that saturate.

Python integers grow without end; Flink's times do not. Every sum or difference of times goes through `add` and
`subtract`, so that nothing ever leaves the range `MIN_TIME` to `MAX_TIME`.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any, Final

from tidegate.errors import InvalidTypeError, InvalidValueError

MIN_TIME: Final = -(2**63)
"""Before any watermark; also the "no timestamp" that a timestamp assigner gets."""

MAX_TIME: Final = 2**63 - 1
"""The end of time: a watermark with this value ends its channel."""

Clock = Callable[[], int]
"""Processing time in milliseconds. The core never reads a clock by itself; it is handed one."""


class TimeCharacteristic(enum.Enum):
    """Which of the three times a job runs on; it chooses the source context and what `time_window` means."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


def saturate(value: int) -> int:
    """The nearest value that fits into 64 bits.

    >>> saturate(2**80) == MAX_TIME
    True
    """
    if value > MAX_TIME:
        return MAX_TIME
    if value < MIN_TIME:
        return MIN_TIME
    return value


def add(left: int, right: int) -> int:
    """`left + right`, saturated."""
    return saturate(left + right)


def subtract(left: int, right: int) -> int:
    """`left - right`, saturated."""
    return saturate(left - right)


def check_timestamp(value: Any, where: str) -> int:
    """`value` as a timestamp, or an error that names `where` it came from.

    Python and numpy integers are taken; booleans, floats and datetimes are refused, because guessing their unit
    would silently move every window.
    """
    if type(value) is int:
        timestamp: int = value
    else:
        if isinstance(value, bool):
            raise InvalidTypeError(f"{where}: a timestamp is an integer in milliseconds, got the bool {value!r}")
        try:
            timestamp = operator.index(value)
        except TypeError:
            raise InvalidTypeError(
                f"{where}: a timestamp is an integer in milliseconds, got {type(value).__name__} {value!r}; "
                "convert it, for example int(value.timestamp() * 1000) for a datetime"
            ) from None
    if timestamp < MIN_TIME or timestamp > MAX_TIME:
        raise InvalidValueError(f"{where}: the timestamp {timestamp} does not fit into 64 bits")
    return timestamp
