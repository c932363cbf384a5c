"""What reads an entry: records become partial aggregates or columns for each subtask, and a summary of each channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL, SLICE, TIMESTAMP
from tidegate.core.columnar.columnar_windows import ColumnarSpec
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.key_hashes import key_hashes
from tidegate.core.columnar.pane_log import encode_in_parts
from tidegate.core.columnar.slices import Slices
from tidegate.errors import InvalidValueError
from tidegate.spark.archives import forget_archives
from tidegate.spark.columns import SEQUENCE, millis
from tidegate.spark.packing import (
    BEFORE_RECORDS,
    MAX_PACKET_BYTES,
    Columns,
    Item,
    Summary,
    packed_rows,
    tick_item,
)
from tidegate.spark.routing import edge_name, source_edge
from tidegate.spark.stage_options import ENTRY_STAGE, StageOptions

if TYPE_CHECKING:
    from tidegate.spark.entry import Entry, TaskInput

_ROWS_AT_ONCE: Final = 2_000_000
_RECORDS_AT_ONCE: Final = 250_000
_NO_PLACE: Final = (
    "from_dataframe: the {} is null in some rows; it says where a row belongs, so fill it, or filter such rows out, "
    "before from_dataframe"
)


class EntryReader:
    """Turns batches of records into packets. It is called once for each partition of each batch, and keeps nothing.

    Records come with the columns `CHANNEL`, and `SEQUENCE` where the source has one.
    """

    def __init__(self, entry: Entry, options: StageOptions, group_keys: Sequence[int], *, has_sequence: bool) -> None:
        self._entry = entry
        self._edge = source_edge(options.plan.graph.uid(entry.source))
        self._group_keys = tuple(group_keys)
        self._has_sequence = has_sequence
        self._needs_clock = options.needs_clock
        self._needs_records = entry.needs_records
        self._position = 0

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget_archives()
        self._position = 0
        if self._needs_clock:
            yield self._packets({subtask: [tick_item()] for subtask in range(len(self._group_keys))})
        limit = _RECORDS_AT_ONCE if self._needs_records else _ROWS_AT_ONCE
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            # Files differ in whether a column comes as a dictionary.
            if count >= limit or (waiting and batch.schema != waiting[0].schema):
                yield from self._read(pa.Table.from_batches(waiting))
                waiting, count = [], 0
            waiting.append(batch)
            count += batch.num_rows
        if count:
            yield from self._read(pa.Table.from_batches(waiting))

    def _read(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        times = millis(table[self._entry.time_column], self._entry.time_column)
        table = table.append_column(TIMESTAMP, pa.array(times))
        if self._needs_records and not self._has_sequence:
            numbers = np.arange(self._position, self._position + len(table), dtype=np.int64)
            table = table.append_column(SEQUENCE, pa.array(numbers))
        if self._has_sequence and table[SEQUENCE].null_count:
            raise InvalidValueError(_NO_PLACE.format("sequence"))
        self._position += len(table)
        summaries = list(self._summaries(table))
        items = {subtask: list(summaries) for subtask in range(len(self._group_keys))}
        for task in self._entry.tasks:
            for subtask, part in self._parts(task, table):
                items[subtask] += self._columns(task, part)
        yield self._packets(items)

    def _summaries(self, table: pa.Table) -> Iterator[Item]:
        if table[CHANNEL].null_count:
            raise InvalidValueError(_NO_PLACE.format("channel"))
        channels = Groups.of(table, [CHANNEL])
        highest = channels.aggregate("max", table[TIMESTAMP]).to_pylist()
        has_places = SEQUENCE in table.column_names
        firsts = channels.aggregate("min", table[SEQUENCE]).to_pylist() if has_places else [None] * len(channels)
        for name, high, first in zip(channels.distinct[CHANNEL].to_pylist(), highest, firsts, strict=True):
            yield Item((BEFORE_RECORDS, ""), self._edge, str(name), progress=Summary(high, first))

    def _parts(self, task: TaskInput, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The share of each subtask: records, or partial aggregates where they say all."""
        spec = task.spec
        names = spec.key_names
        count = len(self._group_keys)
        keys = Groups.of(table, names)
        subtasks = key_hashes(keys.distinct, names) % np.uint64(count)
        if isinstance(spec, ColumnarSpec) and not spec.needs_records:
            slices = Slices.of(spec.window.assigner)
            groups, parents = keys.split(SLICE, slices.starts(table[TIMESTAMP].to_numpy()), slices.step)
            table = spec.partials.reduce(table, groups)
            subtasks = subtasks[parents]
        else:
            subtasks = subtasks[keys.numbers]
        for subtask in range(count):
            mine = table.filter(pa.array(subtasks == subtask)) if count > 1 else table
            if len(mine):
                yield subtask, mine

    def _columns(self, task: TaskInput, table: pa.Table) -> Iterator[Item]:
        columns = Columns(are_records=task.spec.needs_records)
        for data in encode_in_parts(table.combine_chunks(), MAX_PACKET_BYTES // 2):
            yield Item((0, ""), edge_name(task.node, 0, 0), "", value=data, progress=columns)

    def _packets(self, items: dict[int, list[Item]]) -> pa.RecordBatch:
        return packed_rows(ENTRY_STAGE, {self._group_keys[subtask]: share for subtask, share in items.items()})
