"""Sources and sinks for tests of local jobs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.datastream import DataStream, Sink, Source, StreamExecutionEnvironment
from tidegate.datastream.functions import SinkContext
from tidegate.testing import Watermark

WAIT = 10
"""Seconds after which a test gives up."""

BY_SECOND_FIELD = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])


def local(parallelism: int = 1, **options: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism, **options)


def collect(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Endless(Source):
    """0, 1, 2 and so on, for ever, in so many channels that each have all numbers."""

    is_bounded = False

    def __init__(self, channels: int = 1) -> None:
        self._channels = channels

    def channels(self) -> Sequence[str]:
        return [str(number) for number in range(self._channels)]

    def read(self, channel: str) -> Iterator[Any]:
        return itertools.count()


class Lists(Source):
    """A list for each channel."""

    def __init__(self, *channels: Sequence[Any]) -> None:
        self._lists = [list(channel) for channel in channels]

    def channels(self) -> Sequence[str]:
        return [str(number) for number in range(len(self._lists))]

    def read(self, channel: str) -> Iterator[Any]:
        return iter(self._lists[int(channel)])


class Tape(Sink):
    """Keeps values and watermarks in order, and lets a test wait for so many values."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.is_enough: Callable[[list[Any]], bool] = lambda items: False
        self._enough = threading.Event()
        self._lock = threading.Lock()

    @property
    def values(self) -> list[Any]:
        with self._lock:
            return [item[0] for item in self.items if not isinstance(item, Watermark)]

    @property
    def watermarks(self) -> list[int]:
        with self._lock:
            return [item.timestamp for item in self.items if isinstance(item, Watermark)]

    def write(self, value: Any, context: SinkContext) -> None:
        self._add((value, context.timestamp()))

    def write_watermark(self, watermark: Watermark) -> None:
        self._add(watermark)

    def wait_for(self, count: int) -> None:
        """Wait until there are so many items."""
        self.is_enough = lambda items: len(items) >= count
        if len(self.items) < count:
            assert self._enough.wait(WAIT), f"only {len(self.items)} of {count} came"

    def _add(self, item: Any) -> None:
        with self._lock:
            self.items.append(item)
        if self.is_enough(self.items):
            self._enough.set()

    def __reduce__(self) -> Any:
        return Tape, ()
