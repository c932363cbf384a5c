"""Timestamp assigners: what gives a record its event time."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidegate.errors import InvalidTypeError, InvalidValueError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class TimestampAssigner(ABC):
    """Gives each record its timestamp. A lambda `(value, record_timestamp) -> int` is accepted wherever this is."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of `value` in milliseconds; `record_timestamp` is the earlier one, `MIN_TIME` if none."""


@dataclass(frozen=True, slots=True)
class RecordTimestampAssigner(TimestampAssigner):
    """Keeps the timestamp that the record already has."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp


@dataclass(frozen=True, slots=True)
class FunctionTimestampAssigner(TimestampAssigner):
    """A plain function as an assigner."""

    function: Callable[[Any, int], int]

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self.function(value, record_timestamp)


@dataclass(frozen=True, slots=True)
class ColumnTimestampAssigner(TimestampAssigner):
    """Takes the timestamp from a named field: milliseconds, or a datetime (one without a zone is in UTC)."""

    column: str

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        try:
            timestamp = value[self.column]
        except (KeyError, ValueError, IndexError, TypeError):
            # Spark's Row raises ValueError, a dict KeyError, and a tuple TypeError for a name it does not know.
            try:
                timestamp = getattr(value, self.column)
            except AttributeError:
                raise InvalidValueError(
                    f"with_timestamp_column: the record {value!r} has no field {self.column!r}"
                ) from None
        return to_millis(timestamp)  # type: ignore[no-any-return]  # checked by the operator, which knows its own name


def to_millis(timestamp: Any) -> Any:
    """A datetime as milliseconds, anything else as it is.

    >>> to_millis(datetime.datetime(1970, 1, 1, 0, 1)), to_millis(5)
    (60000, 5)
    """
    if not isinstance(timestamp, datetime.datetime):
        return timestamp
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=datetime.UTC)
    return (timestamp - _EPOCH) // datetime.timedelta(milliseconds=1)


def as_timestamp_assigner(assigner: Any) -> TimestampAssigner:
    """`assigner` as a `TimestampAssigner`: one as it is, anything with its method, or a function of two arguments."""
    if isinstance(assigner, TimestampAssigner):
        return assigner
    extract = getattr(assigner, "extract_timestamp", None)
    if isinstance(assigner, type) or not (callable(extract) or callable(assigner)):
        raise InvalidTypeError(
            "with_timestamp_assigner: expected a TimestampAssigner object or a function "
            f"(value, record_timestamp) -> milliseconds, got {assigner!r}"
        )
    return FunctionTimestampAssigner(extract if callable(extract) else assigner)
