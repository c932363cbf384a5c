"""The elements of a stream: records, watermarks and statuses."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tidegate.core.time.millis import MAX_TIME, MIN_TIME, check_timestamp


class Record(NamedTuple):
    """A value with at most one timestamp."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """`Watermark(t)` says: no more records with a timestamp <= t will come on this channel.

    It travels in order with the records. `Watermark.MAX` ends the channel.

    >>> Watermark(5) < Watermark.MAX
    True
    """

    timestamp: int

    MIN: ClassVar[Watermark]
    MAX: ClassVar[Watermark]
    MAX_WATERMARK: ClassVar[Watermark]
    """`MAX`, by Flink's name."""
    UNINITIALIZED: ClassVar[Watermark]
    """`MIN`, by Flink's name: what holds before any watermark."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", check_timestamp(self.timestamp, "Watermark"))

    @property
    def is_end(self) -> bool:
        return self.timestamp == MAX_TIME

    def get_timestamp(self) -> int:
        return self.timestamp


Watermark.MIN = Watermark.UNINITIALIZED = Watermark(MIN_TIME)
Watermark.MAX = Watermark.MAX_WATERMARK = Watermark(MAX_TIME)


class WatermarkStatus(enum.Enum):
    """Whether a channel takes part in event time: an idle one holds nobody back."""

    ACTIVE = "active"
    IDLE = "idle"


Progress = Watermark | WatermarkStatus
"""What moves event time, as opposed to a `Record`."""


def save_progress(progress: Progress) -> int | str:
    """A watermark or a status as plain data."""
    return progress.timestamp if isinstance(progress, Watermark) else progress.value


def load_progress(saved: int | str) -> Progress:
    """What `save_progress` was given."""
    return WatermarkStatus(saved) if isinstance(saved, str) else Watermark(saved)
