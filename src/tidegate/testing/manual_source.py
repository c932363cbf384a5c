"""A source that says nothing by itself: a test feeds its channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.core.source.source import Source
from tidegate.errors import InvalidTypeError


class ManualSource(Source):
    """Channels to be fed from outside, element by element, with watermarks and statuses between."""

    is_bounded = False

    def __init__(self, channels: int = 1) -> None:
        self._channels = channels

    def channels(self) -> Sequence[str]:
        return tuple(map(str, range(self._channels)))

    def read(self, channel: str) -> Iterator[Any]:
        raise InvalidTypeError("a manual source is fed, not read")
