"""What reads a source as columns: records become messages for the tasks behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.columnar_operator import CHANNEL, SLICE, TIMESTAMP
from tidegate.core.columnar.columnar_windows import ColumnarSpec
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.partials import PartialAggregates
from tidegate.core.columnar.slices import Slices
from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.engine.messages import Message, Partials, Records, Summary, Target, Tick
from tidegate.engine.plan import PhysicalPlan, PlannedLane, PlannedSource, PlannedTask, SentAsColumns
from tidegate.engine.record_columns import SEQUENCE, millis, no_place

_ROWS_AT_ONCE: Final = 2_000_000
_RECORDS_AT_ONCE: Final = 250_000


@dataclass(frozen=True, slots=True)
class _Route:
    """The way into one task: its key, and how partial aggregates are made where they say all that it needs."""

    port: int
    key_names: tuple[str, ...]
    needs_all_columns: bool
    partials: PartialAggregates | None
    slices: Slices | None
    takes_partials: bool


class ColumnIntake:
    """Turns batches of records into messages. It is called once for each partition of each batch, and keeps nothing.

    Records come with the columns `CHANNEL`, and `SEQUENCE` where the source has one. Every subtask gets a summary of
    each channel, and the records, or partial aggregates, of its keys.
    """

    def __init__(self, plan: PhysicalPlan, source: PlannedSource, *, has_sequence: bool | None = None) -> None:
        """`has_sequence` None stands for a source that has one where records are needed."""
        self._uid = source.uid
        self._name = source.name
        self._count = source.parallelism
        self._groups = KeyGroups(plan.max_parallelism, source.parallelism)
        ((_, assign),) = plan.behind(source)
        assert isinstance(assign, PlannedLane)
        self.time_column = _time_column(assign)
        self._routes = [_route(plan, assign, edge.number) for edge in plan.outgoing[assign.number]]
        self.needs_records = any(not route.takes_partials for route in self._routes)
        self._has_sequence = self.needs_records if has_sequence is None else has_sequence
        self._ticks = plan.parallelism if plan.needs_clock else 0
        self._position = 0

    def needed(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that the tasks need: all if records leave as they came."""
        needed = {self.time_column}
        for route in self._routes:
            if route.needs_all_columns or route.partials is None:
                return list(columns)
            needed.update(route.key_names, route.partials.fields)
        return [name for name in columns if name in needed]

    def text_keys(self, schema: pa.Schema) -> tuple[str, ...]:
        """The text columns that some task is keyed by."""
        names = dict.fromkeys(name for route in self._routes for name in route.key_names)
        return tuple(name for name in names if pa.types.is_string(schema.field(name).type))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[Target, list[Message]]]:
        self._position = 0
        if self._ticks:
            yield {Target(0, subtask): [Tick()] for subtask in range(self._ticks)}
        limit = _RECORDS_AT_ONCE if self.needs_records else _ROWS_AT_ONCE
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            # Files differ in whether a column comes as a dictionary.
            if count >= limit or (waiting and batch.schema != waiting[0].schema):
                yield self._messages(pa.Table.from_batches(waiting))
                waiting, count = [], 0
            waiting.append(batch)
            count += batch.num_rows
        if count:
            yield self._messages(pa.Table.from_batches(waiting))

    def _messages(self, table: pa.Table) -> dict[Target, list[Message]]:
        times = millis(table[self.time_column], self.time_column)
        table = table.append_column(TIMESTAMP, pa.array(times))
        if self.needs_records and not self._has_sequence:
            numbers = np.arange(self._position, self._position + len(table), dtype=np.int64)
            table = table.append_column(SEQUENCE, pa.array(numbers))
        if self._has_sequence and table[SEQUENCE].null_count:
            raise no_place(self._name, "the sequence is null in some rows")
        self._position += len(table)
        summaries = list(self._summaries(table))
        messages: dict[Target, list[Message]] = {Target(0, subtask): list(summaries) for subtask in range(self._count)}
        for route in self._routes:
            for subtask, part in self._parts(route, table):
                kind = Partials if route.takes_partials else Records
                messages[Target(0, subtask)].append(kind(route.port, part))
        return messages

    def _summaries(self, table: pa.Table) -> Iterator[Summary]:
        if table[CHANNEL].null_count:
            raise no_place(self._name, "the channel is null in some rows")
        channels = Groups.of(table, [CHANNEL])
        highest = channels.aggregate("max", table[TIMESTAMP]).to_pylist()
        has_places = SEQUENCE in table.column_names
        firsts = channels.aggregate("min", table[SEQUENCE]).to_pylist() if has_places else [None] * len(channels)
        for name, high, first in zip(channels.distinct[CHANNEL].to_pylist(), highest, firsts, strict=True):
            yield Summary(self._uid, str(name), high, first)

    def _parts(self, route: _Route, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The share of each subtask."""
        keys = Groups.of(table, route.key_names)
        subtasks = self._groups.subtasks_of(keys.distinct, route.key_names)
        if route.takes_partials:
            assert route.partials is not None
            assert route.slices is not None
            groups, parents = keys.split(SLICE, route.slices.starts(table[TIMESTAMP].to_numpy()), route.slices.step)
            table = route.partials.reduce(table, groups)
            subtasks = subtasks[parents]
        else:
            subtasks = subtasks[keys.numbers]
        for subtask in range(self._count):
            mine = table.filter(pa.array(subtasks == subtask)) if self._count > 1 else table
            if len(mine):
                yield subtask, mine.combine_chunks()


def _time_column(assign: PlannedLane) -> str:
    assert isinstance(assign.spec, AssignWatermarksSpec)
    assigner = assign.spec.strategy.timestamp_assigner
    assert isinstance(assigner, ColumnTimestampAssigner)
    return assigner.column


def _route(plan: PhysicalPlan, assign: PlannedLane, port: int) -> _Route:
    edge = plan.edges[port]
    task = plan.target(edge)
    assert isinstance(edge.travel, SentAsColumns)
    assert isinstance(task, PlannedTask)
    spec = task.spec
    if not isinstance(spec, ColumnarSpec):
        return _Route(port, edge.travel.key_names, True, None, None, takes_partials=False)
    slices = Slices.of(spec.window.assigner) if edge.travel.are_partials else None
    return _Route(
        port,
        edge.travel.key_names,
        spec.needs_all_columns,
        spec.partials,
        slices,
        takes_partials=edge.travel.are_partials,
    )
