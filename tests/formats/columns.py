"""Windows on columns on subtasks as Spark's workers run them, from their beginning or from what was stored. No JVM."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from typing import Any, Final

import cloudpickle
import pyarrow as pa
from tests.engine.in_process import Frame, read, records
from tests.formats.resident_cases import Stored

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.state.blobs import MemoryBlobs
from tidegate.datastream import CollectSink, StreamExecutionEnvironment
from tidegate.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.messages import Message, Target
from tidegate.engine.record_columns import SEQUENCE
from tidegate.engine.sinks import Sinks
from tidegate.spark.state.residents import Residents, RunOfJob

SCHEMA: Final = pa.schema([("user", pa.string()), ("ts", pa.int64()), ("amount", pa.int64())])
BATCHES: Final = 8
AGGREGATES: Final[dict[str, Any]] = {
    "records": agg.count(),
    "total": agg.sum("amount"),
    "lowest": agg.min("amount"),
    "mean": agg.mean("amount"),
    "first": agg.first("amount"),
}
WINDOWS: Final[dict[str, Any]] = {
    "tumbling": lambda keyed: keyed.window(TumblingEventTimeWindows.of("1 minute")).agg(**AGGREGATES),
    "sliding": lambda keyed: keyed.window(SlidingEventTimeWindows.of("1 minute", "20 seconds")).agg(**AGGREGATES),
    "lateness": lambda keyed: (
        keyed.window(TumblingEventTimeWindows.of("1 minute")).allowed_lateness("1 minute").agg(**AGGREGATES)
    ),
    "sessions": lambda keyed: keyed.window(EventTimeSessionWindows.with_gap("5 seconds")).agg(
        records=agg.count(), total=agg.sum("amount")
    ),
    "kept rows": lambda keyed: keyed.window(TumblingEventTimeWindows.of("1 minute")).max_by("amount"),
}
"""Every kind of window that keeps its state in columns."""


def batch(number: int) -> list[pa.RecordBatch]:
    """The records of a batch, which are always the same."""
    dice = random.Random(number)
    rows = [
        {
            "user": f"u{dice.randrange(6)}",
            "ts": number * 30_000 + dice.randrange(30_000) - dice.randrange(20_000),
            "amount": dice.randrange(100),
            CHANNEL: "x",
            SEQUENCE: number * 100 + place,
        }
        for place in range(40)
    ]
    return [records(rows, SCHEMA)]


class ColumnRun:
    def __init__(self, kind: str, stored: Stored | None = None) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(runtime="spark", parallelism=2)
        stream = env.from_dataframe(Frame(SCHEMA))
        strategy = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
        self._sink = CollectSink()
        WINDOWS[kind](stream.assign_timestamps_and_watermarks(strategy).key_by("user")).uid("window").sink_to(
            self._sink
        ).uid("sink")
        self._plan = lower(env._graph(), PlanOptions(0))
        assert any(getattr(node, "is_on_columns", False) for node in self._plan.nodes)
        plan = cloudpickle.dumps(self._plan.for_workers())
        self._run = RunOfJob("job", "first" if stored is None else "second", plan)
        self._residents = Residents()
        self._blobs: dict[tuple[int, int], dict[str, bytes]] = defaultdict(dict)
        self._sinks = Sinks(self._plan, lambda: 0)
        self._position = 0
        if stored is not None:
            self._blobs.update(stored.blobs)
            self._sinks.restore(stored.sinks)
            self._position = stored.position
        self._sinks.open()

    def run(self, until: int) -> Counter[str]:
        """What comes out up to a batch."""
        for number in range(self._position, until):
            self._batch(read(self._plan, batch(number), is_end=number == BATCHES - 1))
        self._position = until
        return Counter(map(repr, self._sink.results))

    def stored(self) -> Stored:
        return Stored(dict(self._blobs), self._sinks.snapshot(), self._position, 0)

    def _batch(self, messages: dict[Target, list[Message]]) -> None:
        inbox: dict[Target, list[Message]] = defaultdict(list, messages)
        for place in itertools.product(range(self._plan.num_stages), range(self._plan.parallelism)):
            received = inbox.pop(Target(*place), [])
            if received:
                blobs = MemoryBlobs()
                blobs.restore(self._blobs[place])
                sent = self._residents.run_batch(self._run, *place, blobs, received, 0)
                self._blobs[place] = blobs.snapshot()
                for receiver, given in sent.items():
                    inbox[receiver] += given
        self._sinks.process([(target, message) for target, given in inbox.items() for message in given])
