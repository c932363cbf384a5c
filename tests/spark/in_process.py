"""A job's stages in this process, without Spark: batches of a DataFrame's records in, the sinks' elements out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.columnar.pane_log import MemoryBlobs
from tidegate.core.columnar.table_cache import TableCache
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.entry import find_entries
from tidegate.spark.entry_reader import EntryReader
from tidegate.spark.packing import SINK_STAGE, Clock, Item, end_item, pack, unpack
from tidegate.spark.routing import source_edge
from tidegate.spark.row_packer import RowPacker
from tidegate.spark.sinks import DriverSinks
from tidegate.spark.stage import Stage
from tidegate.spark.stage_options import StageOptions


class Frame:
    """As much of a streaming DataFrame as a program looks at before it runs."""

    isStreaming = True  # noqa: N815

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = from_arrow_schema(schema)
        self.columns = self.schema.names
        self.dtypes = [(field.name, field.dataType.simpleString()) for field in self.schema]


class InProcessJob:
    """Runs the stages of a plan, batch by batch; the sinks are those of the driver."""

    def __init__(self, plan: Any, parallelism: int, *, with_entries: bool, needs_clock: bool = True) -> None:
        entries = find_entries(plan, parallelism) if with_entries else ()
        self.options = StageOptions(plan, parallelism, entries=entries, needs_clock=needs_clock, run_id="run")
        self._parallelism = parallelism
        self.blobs: dict[tuple[int, int], MemoryBlobs] = defaultdict(MemoryBlobs)
        self._tables = TableCache()
        self.sinks = DriverSinks(plan, lambda: 0)
        self.sinks.open()
        self._batch = 0

    def batch(self, now: int, parts: Sequence[pa.RecordBatch] = (), *, is_end: bool = False) -> None:
        """One micro-batch; every part is read by a task of its own. Records have `CHANNEL` and `SEQUENCE`."""
        items: dict[tuple[int, int], list[Item]] = defaultdict(list)
        for part in parts:
            self._read(part, items)
        first = self.options.first_stage
        for subtask in range(self._parallelism):
            for stage in range(first, len(self.options.plan.stages)):
                items[(stage, subtask)].append(Item((0, ""), "", "", progress=Clock(now)))
            if is_end:
                items[(first, subtask)].append(end_item())
        for stage in range(first, len(self.options.plan.stages)):
            for subtask in range(self._parallelism):
                runner = Stage(self.options, stage, subtask, self.blobs[(stage, subtask)], self._tables)
                for target, sent in runner.process(items[(stage, subtask)], now):
                    items[(target.stage, target.subtask if target.stage != SINK_STAGE else 0)] += sent
        self.sinks.write(list(pack(items[(SINK_STAGE, 0)])) if items[(SINK_STAGE, 0)] else [], self._batch)
        self._batch += 1

    def _read(self, part: pa.RecordBatch, items: dict[tuple[int, int], list[Item]]) -> None:
        keys = range(self._parallelism)
        node: Any = self.options.plan.graph.nodes[0]
        reader: Any
        if self.options.entries:
            reader = EntryReader(self.options.entries[0], self.options, keys, has_sequence=True)
        else:
            reader = RowPacker(
                source_edge(self.options.plan.graph.uid(node)),
                keys,
                is_common_order=node.source.ordered_across_channels,
                has_sequence=True,
                place_columns=(),
                needs_clock=False,
            )
        rows = reader(iter([part]))
        for batch in rows:
            for stage, gid, payload in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
                items[(stage, gid)] += unpack(payload)


def records(rows: Sequence[dict[str, Any]], schema_of_records: pa.Schema) -> pa.RecordBatch:
    """Records with their channel and sequence, as a source hands them over: files give channels as dictionaries."""
    schema = schema_of_records.append(pa.field(CHANNEL, pa.string())).append(pa.field(SEQUENCE, pa.int64()))
    batch = pa.RecordBatch.from_pylist(list(rows), schema=schema)
    if len(rows) % 2:
        return batch
    place = schema.get_field_index(CHANNEL)
    return batch.set_column(place, CHANNEL, batch.column(place).dictionary_encode())
