"""Spans of time, and `Instant`, a point in time."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.time.duration import Duration, Time
from tidegate.errors import InvalidTypeError, InvalidValueError

__all__ = ["Duration", "Instant", "Time"]

_NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A point on the time line: `seconds` since 1970-01-01T00:00Z and then `nanos`, 0 to 999,999,999, later.

    >>> Instant.of_epoch_milli(-1500)
    Instant<-2, 500000000>
    >>> Instant.of_epoch_milli(-1500).to_epoch_milli()
    -1500
    """

    seconds: int
    nanos: int

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("nanos", self.nanos)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidTypeError(f"Instant: {name} must be an integer, got {type(value).__name__} {value!r}")
        if not 0 <= self.nanos < _NANOS_PER_SECOND:
            raise InvalidValueError(
                f"Instant: nanos must be 0 to 999999999, got {self.nanos}; carry the rest over into seconds"
            )

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        if isinstance(epoch_milli, bool) or not isinstance(epoch_milli, int):
            raise InvalidTypeError(f"of_epoch_milli: expected integer milliseconds, got {epoch_milli!r}")
        seconds, millis = divmod(epoch_milli, 1_000)
        return Instant(seconds, millis * 1_000_000)

    def to_epoch_milli(self) -> int:
        """Whole milliseconds since 1970, rounded down."""
        return self.seconds * 1_000 + self.nanos // 1_000_000

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"
