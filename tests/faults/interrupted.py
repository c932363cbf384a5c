"""A program to be interrupted with Ctrl-C: it counts numbers into files, and is slow if told so.

Called as `tidegate run interrupted.py OUTPUT ELEMENTS MILLISECONDS`, with the milliseconds between two elements.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.common import WatermarkStrategy
from tidegate.datastream import FileSink, Source, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows


class Numbers(Source):
    def __init__(self, count: int, pause: float) -> None:
        self._count = count
        self._pause = pause

    def channels(self) -> Sequence[str]:
        return ("numbers",)

    def read(self, channel: str) -> Iterator[Any]:
        for number in range(self._count):
            time.sleep(self._pause)
            yield number


output, count, millis = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number)
(
    env.from_source(Numbers(int(count), int(millis) / 1_000), strategy, "numbers")
    .map(lambda number: (number % 3, 1))
    .key_by(lambda pair: pair[0])
    .window(TumblingEventTimeWindows.of("100 ms"))
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
    .sink_to(FileSink(output, "json"))
)
env.execute("interrupted")
