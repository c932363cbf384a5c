"""A job to be killed: a slow source of two channels, two keyed stages, a file sink.

Called as `job.py <runtime> <elements of each channel> <elements before it gets slow> <checkpoint> <output>`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import SparkContext

from tidegate.common import WatermarkStrategy
from tidegate.datastream import FileSink, Source, StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows


class SlowSource(Source):
    """Elements `(user, time, 1)` with some disorder, the same at every reading.

    The first `quick` elements of a life take some milliseconds each, those behind them drip until somebody comes to
    kill; none wait if `quick` is negative. What an earlier life has read is skipped before Spark is there, at once.
    """

    def __init__(self, count: int, quick: int) -> None:
        self._count = count
        self._quick = quick

    def channels(self) -> Sequence[str]:
        return ("a", "b")

    def read(self, channel: str) -> Iterator[Any]:
        read = 0
        for number in range(self._count):
            if self._quick >= 0 and SparkContext._active_spark_context is not None:
                read += 1
                time.sleep(0.005 if read <= self._quick else 0.3)
            yield (f"u{number % 5}", number * 10 - number * 7 % 3 * 20, 1)


def main(runtime: Any, count: int, quick: int, checkpoint: str, output: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        runtime=runtime, parallelism=2, checkpoint=checkpoint if runtime == "spark" else None
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("100 ms").with_timestamp_assigner(lambda e, _: e[1])
    counts = (
        env.from_source(SlowSource(count, quick), strategy, "slow")
        .key_by(lambda element: element[0])
        .window(TumblingEventTimeWindows.of("500 ms"))
        .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
    )
    counts.sink_to(FileSink(f"{output}/counts", "json"))
    (
        counts.key_by(lambda element: element[1] // 1000)
        .window(TumblingEventTimeWindows.of("1 s"))
        .reduce(lambda a, b: ("all", max(a[1], b[1]), a[2] + b[2]))
        .sink_to(FileSink(f"{output}/totals", "json"))
    )
    env.execute("to be killed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
