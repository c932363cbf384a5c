"""Sources: where data enters, each in one or more channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.source.source_context import SourceContext
from tidegate.errors import InvalidTypeError


class Source(ABC):
    """A source that can be read element by element.

    Each channel is a partition: a Kafka partition, a file split, one connection. It is read in order, and has its own
    watermarks and its own idleness.
    """

    is_bounded: bool = True
    """Whether the source ends by itself. When it does, its channels send `Watermark.MAX`."""

    is_blocking: bool = False
    """Whether reading may have to wait for the outside world."""

    is_replayable: bool = True
    """Whether reading anew gives the same elements again."""

    has_timestamps: bool = False
    """Whether `read` gives pairs: an element, and its timestamp in milliseconds or None."""

    is_parallel: bool = True
    """Whether it may be read in several subtasks."""

    ordered_across_channels: bool = True
    """Whether one order covers the elements of all channels, as those of a list; if not, each has its own."""

    @property
    def location(self) -> str | None:
        """Where the elements are, if positions mean something only there; None if it does not matter."""
        return None

    @abstractmethod
    def channels(self) -> Sequence[str]:
        """The names of the channels."""

    def expected_channels(self) -> Sequence[str]:
        """The channels that count before they speak, where channels are found by reading."""
        return self.channels()

    def with_parallelism(self, parallelism: int) -> Source:
        """The source as it is read in so many subtasks: one that is a function has an instance in each."""
        return self

    def read_state(self, channel: str) -> Any:
        """What a position in a channel depends on, as plain data: it is saved with the position."""
        return None

    def resume(self, channel: str, state: Any, position: int) -> None:
        """Called before `read` when a run goes on: refuse what was read to be other than it was, or make up for it."""

    def facts(self) -> dict[str, int]:
        """What the source has counted, for the metrics of the job."""
        return {}

    @abstractmethod
    def read(self, channel: str) -> Iterator[Any]:
        """The elements of one channel, in order, from the beginning."""


class KnownChannels(Source):
    """What is left of a source where it is not read: its channels."""

    def __init__(self, channels: Sequence[str], *, ordered_across_channels: bool) -> None:
        self._channels = tuple(channels)
        self.ordered_across_channels = ordered_across_channels

    @staticmethod
    def of(source: Source) -> KnownChannels:
        return KnownChannels(source.expected_channels(), ordered_across_channels=source.ordered_across_channels)

    def channels(self) -> Sequence[str]:
        return self._channels

    def read(self, channel: str) -> Iterator[Any]:
        raise InvalidTypeError("this source is read elsewhere")


class SourceFunction(ABC):
    """A source that pushes: `run` collects into the context until it is done or `cancel` was called."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once before `run`; says which instance this is, and of how many."""

    def close(self) -> None:
        """Called once after `run`."""

    @abstractmethod
    def run(self, ctx: SourceContext) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon. Called from another thread."""


class ParallelSourceFunction(SourceFunction):
    """A source function that may run in several instances: as many as its parallelism, each with a channel."""
