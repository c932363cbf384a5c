"""The job on PyFlink's DataStream, with an aggregate in Python in worker processes; time is assigned in Java."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import flink_tables
from pyflink.common import Encoder, Time, Types
from pyflink.datastream import AggregateFunction, OutputTag, ProcessWindowFunction
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from pyflink.version import __version__

SETTINGS = {
    "python.execution-mode": "process",
    "python.fn-execution.bundle.size": "100000",
    "python.fn-execution.bundle.time": "1000",
    "python.state.cache-size": "1000000",
}


class UserAggregate(AggregateFunction):
    """Count, sum and maximum as a user writes them."""

    def create_accumulator(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def add(self, value: Any, accumulator: tuple[int, int, int]) -> tuple[int, int, int]:
        count, total, biggest = accumulator
        amount = value[1]
        return count + 1, total + amount, max(biggest, amount)

    def get_result(self, accumulator: tuple[int, int, int]) -> tuple[int, int, int]:
        return accumulator

    def merge(self, a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
        return a[0] + b[0], a[1] + b[1], max(a[2], b[2])


class WithWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        window = context.window()
        for count, total, biggest in elements:
            yield f"{key},{window.start},{window.end},{count},{total},{biggest}"


class OfSession(ProcessWindowFunction):
    """The same from the orders themselves.

    With `aggregate` sessions that merge lose orders in process mode: the accumulators of both end up in one list, of
    which only the first is read.
    """

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        amounts = [order[1] for order in elements]
        window = context.window()
        yield f"{key},{window.start},{window.end},{len(amounts)},{sum(amounts)},{max(amounts)}"


def assigner(window: dict[str, Any]) -> Any:
    if window["gap"]:
        return EventTimeSessionWindows.with_gap(Time.milliseconds(window["gap"]))
    size, slide = Time.milliseconds(window["size"]), Time.milliseconds(window["slide"])
    if window["size"] == window["slide"]:
        return TumblingEventTimeWindows.of(size)
    return SlidingEventTimeWindows.of(size, slide)


def main() -> None:
    job = json.loads(sys.argv[1])
    output = Path(job["output"])
    environment, tables = flink_tables.create_environments(output.parent / "checkpoints", **SETTINGS)
    flink_tables.create_input(tables, job["input"], job["out_of_orderness"])
    orders = tables.to_data_stream(tables.sql_query("SELECT `user`, amount, ts FROM orders"))
    totals = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    windows = orders.key_by(lambda row: row[0], key_type=Types.STRING()).window(assigner(job["window"]))
    late = None
    if job["allowed_lateness"]:
        late = OutputTag("late", orders.get_type())
        windows = windows.allowed_lateness(job["allowed_lateness"]).side_output_late_data(late)
    if job["window"]["gap"]:
        results = windows.process(OfSession(), output_type=Types.STRING())
    else:
        results = windows.aggregate(UserAggregate(), WithWindow(), accumulator_type=totals, output_type=Types.STRING())
    if late is not None:
        # A line without a user is a late order to whoever checks.
        results = results.union(results.get_side_output(late).map(lambda _: ",0,0,0,0,0", output_type=Types.STRING()))
    sink = FileSink.for_row_format(output.absolute().as_uri(), Encoder.simple_string_encoder()).build()
    results.sink_to(sink)
    started = time.monotonic()
    environment.execute("orders")
    print(json.dumps({"seconds": time.monotonic() - started, "version": __version__, "settings": SETTINGS}))


if __name__ == "__main__":
    main()
