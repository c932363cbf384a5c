"""Sources: where data enters, each in one or more channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.core.source.source_context import SourceContext


class Source(ABC):
    """A source that can be read element by element.

    Each channel is a partition: a Kafka partition, a file split, one connection. It is read in order, and has its own
    watermarks and its own idleness.
    """

    is_bounded: bool = True
    """Whether the source ends by itself. When it does, its channels send `Watermark.MAX`."""

    is_blocking: bool = False
    """Whether reading may have to wait for the outside world."""

    has_timestamps: bool = False
    """Whether `read` gives pairs: an element, and its timestamp in milliseconds or None."""

    @abstractmethod
    def channels(self) -> Sequence[str]:
        """The names of the channels."""

    def expected_channels(self) -> Sequence[str]:
        """The channels that count before they speak, where channels are found by reading."""
        return self.channels()

    @abstractmethod
    def read(self, channel: str) -> Iterator[Any]:
        """The elements of one channel, in order, from the beginning."""


class SourceFunction(ABC):
    """A source that pushes: `run` collects into the context until it is done or `cancel` was called."""

    @abstractmethod
    def run(self, ctx: SourceContext) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon. Called from another thread."""
