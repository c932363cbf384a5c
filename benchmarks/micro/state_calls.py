"""What a batch asks of the state store when a user's Python aggregate has many keys stored: calls and bytes.

Run `python benchmarks/micro/state_calls.py`. A subtask runs as on Spark, over blobs in memory that count: a window of a
day with an AggregateFunction, for each key some state and a timer. The same keys are touched with few and many stored.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import cloudpickle
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tidegate.common import Time, WatermarkStrategy
from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.state.blobs import MemoryBlobs
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.functions import AggregateFunction
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.engine.lowering import lower
from tidegate.engine.messages import Element
from tidegate.engine.plan import PlannedTask
from tidegate.spark.state.residents import Resident, RunOfJob

FACTOR_AT_MOST = 1.5
BATCH = 900_000
"""Keys that are loaded at once."""


class Total(AggregateFunction):
    """The sum of the second field."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[int, int], accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class CountingBlobs(MemoryBlobs):
    """Counts the calls to a state store, and the bytes that they move."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.bytes = 0

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        found = super().get(name, is_there=is_there)
        self.calls += 1
        self.bytes += len(found or b"")
        return found

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        self.calls += 1
        self.bytes += len(data)


class Job:
    """The subtask of a window, which never ends, in one subtask."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
        stream = env.from_collection([(0, 0)]).assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
        windows = stream.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.days(1)))
        windows.aggregate(Total()).sink_to(CollectSink())
        plan = lower(env._graph())
        (task,) = (node for node in plan.nodes if isinstance(node, PlannedTask))
        self._port = task.inputs[0][0].number
        self._subtask = Resident(RunOfJob("job", "run", cloudpickle.dumps(plan.for_workers())), 1, 0, TableCache())
        self._blobs = CountingBlobs()

    def batch(self, keys: Any) -> tuple[int, int]:
        """Calls and bytes of a batch with one record for each key."""
        self._blobs.calls = self._blobs.bytes = 0
        elements = [Element((index, ""), self._port, "c", key, (key, 1), 1_000) for index, key in enumerate(keys)]
        self._subtask.run_batch(self._blobs, elements, 0)
        return self._blobs.calls, self._blobs.bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few keys, for a look")
    options = parser.parse_args()
    stored = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    touched = (10, 30, 100)
    job = Job()
    found: dict[tuple[int, int], tuple[int, int]] = {}
    loaded = 0
    for count in stored:
        for begin in track(range(loaded, count, BATCH), f"storing {count:,} keys"):
            job.batch(range(begin, min(begin + BATCH, count)))
        loaded = count
        for number in touched:
            found[(number, count)] = job.batch(range(0, number * 7, 7))
    table = Table("keys touched", "keys stored", "state calls", "bytes", "calls per key", "bytes per key")
    for (number, count), (calls, size) in sorted(found.items()):
        row = (f"{number:,}", f"{count:,}", f"{calls:,}", f"{size:,}", f"{calls / number:.2f}", f"{size / number:,.0f}")
        table.add_row(*row)
    Console().print(table)
    if options.quick:
        return 0
    few, many = stored[0], stored[-1]
    worst = max(found[(n, many)][which] / found[(n, few)][which] for n in touched for which in (0, 1))
    print(f"{many:,} stored against {few:,}: at most {worst:.2f} times the calls or bytes")
    return int(worst > FACTOR_AT_MOST)


if __name__ == "__main__":
    sys.exit(main())
