"""The types of dates and times of day. None of them has a time zone: times are those of UTC."""

# ruff: noqa: N802  # PyFlink's spelling

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from tidegate.common._type_information import Mismatch, TypeInformation

_NO_OFFSET = datetime.timedelta(0)


@dataclass(frozen=True, slots=True, repr=False)
class DateTypeInfo(TypeInformation):
    """A `datetime.date`; a datetime gives its date.

    >>> DateTypeInfo().convert(datetime.datetime(2024, 5, 1, 12), "map 'day'")
    datetime.date(2024, 5, 1)
    """

    def describe(self) -> str:
        return "SQL_DATE"

    def fit(self, value: Any) -> datetime.date:
        if isinstance(value, datetime.datetime):
            return value.date()
        if isinstance(value, datetime.date):
            return value
        raise Mismatch("SQL_DATE, a datetime.date", value)

    def __repr__(self) -> str:
        return "DateTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class TimeTypeInfo(TypeInformation):
    """A `datetime.time` without time zone, or in UTC. Microseconds are kept; PyFlink cuts them to milliseconds."""

    def describe(self) -> str:
        return "SQL_TIME"

    def fit(self, value: Any) -> datetime.time:
        if isinstance(value, datetime.time):
            if value.tzinfo is None:
                return value
            if value.utcoffset() == _NO_OFFSET:
                return value.replace(tzinfo=None)
        raise Mismatch("SQL_TIME, a datetime.time without time zone or in UTC", value)

    def __repr__(self) -> str:
        return "TimeTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class TimestampTypeInfo(TypeInformation):
    """A `datetime.datetime` without time zone, or in UTC. Microseconds are kept; PyFlink cuts them to milliseconds.

    PyFlink drops any offset without moving the time; here a datetime of another zone is refused.
    """

    def describe(self) -> str:
        return "SQL_TIMESTAMP"

    def fit(self, value: Any) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            if value.tzinfo is None:
                return value
            if value.utcoffset() == _NO_OFFSET:
                return value.replace(tzinfo=None)
        raise Mismatch("SQL_TIMESTAMP, a datetime.datetime without time zone or in UTC", value)

    def __repr__(self) -> str:
        return "TimestampTypeInfo"


class SqlTimeTypeInfo:
    """The three types of dates and times, as older programs name them."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return TimestampTypeInfo()
