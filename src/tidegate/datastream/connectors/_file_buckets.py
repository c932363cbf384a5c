"""Which folder below that of a file sink an element is written to."""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from tidegate.errors import InvalidValueError

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_LETTERS: Final = {"y": "%Y", "u": "%Y", "M": "%m", "d": "%d", "H": "%H", "m": "%M", "s": "%S"}
_WIDTHS: Final = {"y": (4,), "u": (4,), "M": (2,), "d": (2,), "H": (2,), "m": (2,), "s": (2,)}


class BucketContext(NamedTuple):
    """What an assigner learns with each element, in milliseconds."""

    processing_time: int
    record_timestamp: int | None
    watermark: int

    def current_processing_time(self) -> int:
        return self.processing_time

    def timestamp(self) -> int | None:
        return self.record_timestamp

    def current_watermark(self) -> int:
        return self.watermark


class BucketAssigner(ABC):
    """Names the folder of each element. Subclass it for folders of your own."""

    __slots__ = ()

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The folder, relative to that of the sink; an empty text is that of the sink itself."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Everything into the folder of the sink."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """By the clock when an element is written, in Java's letters yyyy, MM, dd, HH, mm and ss."""
        return _DateTime(format_str, timezone_id)


@dataclass(frozen=True, slots=True)
class _BasePath(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class _DateTime(BucketAssigner):
    format_str: str = "yyyy-MM-dd--HH"
    timezone_id: str | None = None

    def __post_init__(self) -> None:
        _python_format(self.format_str)
        if self.timezone_id is not None:
            try:
                ZoneInfo(self.timezone_id)
            except (KeyError, ValueError, OSError):
                raise InvalidValueError(
                    f"date_time_bucket_assigner: unknown time zone {self.timezone_id!r}; use for example 'UTC'"
                ) from None

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        zone = None if self.timezone_id is None else ZoneInfo(self.timezone_id)
        moment = datetime.datetime.fromtimestamp(context.processing_time / 1000, datetime.UTC).astimezone(zone)
        return moment.strftime(_python_format(self.format_str))


def _python_format(java_format: str) -> str:
    """The letters of Java's date format that name folders, as Python's.

    >>> _python_format("yyyy-MM-dd'T'HH")
    '%Y-%m-%dT%H'
    """
    parts = []
    position = 0
    for token in _TOKEN.finditer(java_format):
        if token.start() != position:
            break
        position = token.end()
        letter = token[2]
        if letter is None:
            parts.append((token[0] if token[1] is None else token[1].replace("''", "'")).replace("%", "%%"))
        elif len(token[0]) in _WIDTHS.get(letter, ()):
            parts.append(_LETTERS[letter])
        else:
            raise InvalidValueError(
                f"date_time_bucket_assigner: {token[0]!r} in {java_format!r} is not known; "
                "use yyyy, MM, dd, HH, mm and ss, and other text in single quotes"
            )
    if position != len(java_format):
        raise InvalidValueError(f"date_time_bucket_assigner: a quote is not closed in {java_format!r}")
    return "".join(parts)
