"""Records per second of the Python path on the local runtime: a keyed window with a user's AggregateFunction.

Run `python benchmarks/micro/throughput.py`. Timers and session windows are measured beside the tumbling window and
printed as a ratio to it. CPU time is what counts: the local runtime uses one core, and the machine may be shared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.common import Time, WatermarkStrategy
from tidegate.datastream import CollectSink, KeyedProcessFunction, StreamExecutionEnvironment
from tidegate.datastream.functions import AggregateFunction, RuntimeContext
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.datastream.state import ValueStateDescriptor
from tidegate.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

KEYS = 1_000
RATE_AT_LEAST = 150_000
FACTOR_AT_MOST = 3.0

Event = tuple[int, int, int]


class Average(AggregateFunction):
    """The mean of the third field."""

    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Event, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value[2], accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class SumUntilTimer(KeyedProcessFunction):
    """Adds up and sets a timer for the end of the second, at every element."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: Event, ctx: Any) -> None:
        self._sum.update((self._sum.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(value[0] // 1000 * 1000 + 1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), self._sum.value()


def events(count: int) -> list[Event]:
    """Disordered a little, over `KEYS` keys."""
    return [(i // 3 + i * 31 % 50, i * 7919 % KEYS, i % 97) for i in range(count)]


def seconds(data: list[Event], finish: Callable[[KeyedStream], Any]) -> float:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("1 second").with_timestamp_assigner(
        lambda event, _: event[0]
    )
    keyed = env.from_collection(data).assign_timestamps_and_watermarks(strategy).key_by(lambda event: event[1])
    results = CollectSink()
    finish(keyed).sink_to(results)
    started = time.process_time()
    env.execute()
    took = time.process_time() - started
    if not results.results:
        raise SystemExit("the job gave no results")
    return took


JOBS: dict[str, Callable[[KeyedStream], Any]] = {
    "tumbling window": lambda s: s.window(TumblingEventTimeWindows.of(Time.seconds(10))).aggregate(Average()),
    "session window": lambda s: s.window(EventTimeSessionWindows.with_gap(Time.milliseconds(500))).aggregate(Average()),
    "timers": lambda s: s.process(SumUntilTimer()),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run that never fails on time")
    options = parser.parse_args()
    count, rounds = (20_000, 1) if options.quick else (300_000, 5)
    data = events(count)
    taken: dict[str, list[float]] = {name: [] for name in JOBS}
    for _ in range(rounds):
        for name, finish in JOBS.items():
            taken[name].append(seconds(data, finish))
    rates = {name: count / statistics.median(times) for name, times in taken.items()}
    base = rates["tumbling window"]
    table = Table("job", "records/s per core", "times slower than tumbling")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{base / rate:.2f}")
    Console().print(table)
    if options.quick:
        return 0
    return 0 if base >= RATE_AT_LEAST and all(base / rate <= FACTOR_AT_MOST for rate in rates.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
