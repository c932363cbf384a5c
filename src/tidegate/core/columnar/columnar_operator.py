"""What window operators on columns share: how tables come in, and how results and late records leave."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar.pane_log import PaneLog
from tidegate.core.columnar.parts import ARRIVAL
from tidegate.core.function.fields import get_field
from tidegate.core.operator.operator import Accept, TaskOperator
from tidegate.core.time.millis import add
from tidegate.core.watermark.records import Watermark
from tidegate.core.window.windows import TimeWindow

if TYPE_CHECKING:
    from tidegate.core.columnar.columnar_windows import ColumnarSpec

TIMESTAMP: Final = "__timestamp"
"""The column of records with their timestamps in milliseconds."""

ORDER: Final = "__order"
"""The column of records with the order in which they must be processed."""

CHANNEL: Final = "__channel"
"""The column of records with their channel; it orders those of the same `ORDER`, and may be left out."""

SLICE: Final = "__slice"
"""The column of partial aggregates with the start of their slice."""

WINDOW_END: Final = "window_end"
"""The column of results with the end of their window."""

_INDEX: Final = "__index"
_OURS: Final = frozenset([TIMESTAMP, ORDER, CHANNEL, SLICE, ARRIVAL])


Fired = tuple[tuple[Any, ...], int, int, list[Any]]
"""A window of one key that fires: key, start, end, and partial aggregates."""


class ColumnarOperator(TaskOperator):
    """What window operators on columns share: tables come in, wait for the next watermark, and are taken in at once.

    Between two watermarks lateness cannot change, so all that waited is judged by the same watermark.
    """

    def __init__(self, spec: ColumnarSpec) -> None:
        self.spec = spec
        self.keys = list(spec.key_names)
        self.partials = spec.partials
        self.lateness = spec.window.allowed_lateness
        self._records: list[pa.Table] = []
        self._reduced: list[pa.Table] = []
        self._values: list[Any] = []
        self._times: list[int] = []

    def setup(self, context: Any) -> None:
        super().setup(context)
        self.log = PaneLog(context.blobs, context.tables, context.attempt, self._completed)
        context.metrics.gauge("num_open_panes", lambda: len(self.log.panes))
        self._late_dropped = context.metrics.counter("num_late_records_dropped")
        self._late_output = context.metrics.counter("num_late_records_to_side_output")
        self._in_no_window = context.metrics.counter("num_records_in_no_window")

    def _completed(self, table: pa.Table) -> pa.Table:
        return self.partials.completed(table, self.spec.schema)

    @property
    def watermark(self) -> int:
        return self.timers.current_watermark

    def inputs(self) -> tuple[Accept, ...]:
        return (self._accept,)

    def _accept(self, key: Any, value: Any, timestamp: int | None) -> None:
        assert timestamp is not None
        self._values.append(value)
        self._times.append(timestamp)

    def accept_records(self, table: pa.Table) -> None:
        """Records as columns, with `TIMESTAMP` and `ORDER`."""
        self._records.append(table)

    def accept_partials(self, table: pa.Table) -> None:
        """Partial aggregates by `SLICE` and key; only where `needs_records` is false."""
        self._reduced.append(table)

    def end_batch(self) -> None:
        self.flush()

    def flush(self) -> None:
        """Take in what waited."""
        if self._values:
            self._records.append(self._columns_of_values())
        if self._records:
            records = pa.concat_tables(self._records, promote_options="default")
            self._records.clear()
            if len(records):
                self.take_records(records)
        if self._reduced:
            reduced = pa.concat_tables(self._reduced)
            self._reduced.clear()
            if len(reduced):
                self.take_partials(reduced)
        self._values.clear()
        self._times.clear()

    def advance_watermark(self, watermark: Watermark, should_stop: Callable[[], bool] | None = None) -> bool:
        self.flush()
        before = self.watermark
        self.timers.current_watermark = watermark.timestamp
        self.fire(before, watermark.timestamp)
        self.output.emit_watermark(watermark)
        return True

    @abstractmethod
    def take_records(self, table: pa.Table) -> None: ...

    @abstractmethod
    def take_partials(self, table: pa.Table) -> None: ...

    @abstractmethod
    def fire(self, before: int, watermark: int) -> None:
        """The watermark went from `before` to `watermark`: send the windows that it passed, forget what is over."""

    def snapshot(self) -> Any:
        self.flush()
        self.log.flush()
        return super().snapshot()

    def snapshot_own(self) -> Any:
        return self.log.snapshot()

    def restore_own(self, own: Any) -> None:
        self.log.restore(own)

    def take_late(self, table: pa.Table) -> None:
        """Records that no window took: late ones go aside or are counted."""
        times = table[TIMESTAMP].to_numpy()
        is_late = times <= add(self.watermark, -self.lateness)
        num_late = int(is_late.sum())
        self._in_no_window.inc(len(table) - num_late)
        if self.spec.window.late_output is None:
            self._late_dropped.inc(num_late)
            return
        self._late_output.inc(num_late)
        late = table.filter(pa.array(is_late))
        tag = self.spec.window.late_output.tag_id
        for value, timestamp in zip(self._elements(late), late[TIMESTAMP].to_pylist(), strict=True):
            self.output.collect_side(tag, value, timestamp)

    def drop_late(self, count: int) -> None:
        self._late_dropped.inc(count)

    def emit_window(self, window: TimeWindow, merged: pa.Table) -> None:
        """Send the result of a window for every key in a table of merged partial aggregates."""
        if self.spec.keeps_rows:
            for value in self._elements(pa.table(self.partials.finish(merged))):
                self.output.collect(value, window.max_timestamp())
            return
        starts = np.full(len(merged), window.start, np.int64)
        self.emit_windows(pa.array(starts), pa.array(starts + (window.end - window.start)), merged)

    def emit_windows(self, starts: Any, ends: Any, merged: pa.Table) -> None:
        """Send the result of a window of its own for every row of a table of merged partial aggregates."""
        columns = {name: merged[name] for name in self.keys}
        columns |= {"window_start": starts, WINDOW_END: ends}
        self.output.collect_table(pa.table(columns | self.partials.finish(merged)), self._stamped)

    def emit_each(self, fired: list[Fired]) -> None:
        """Send the results of windows of one key each, in order."""
        if not fired:
            return
        keys, starts, ends, parts = zip(*fired, strict=True)
        table = pa.table(
            {
                name: pa.array(values)
                for name, values in zip(self.partials.part_names, zip(*parts, strict=True), strict=True)
            }
        )
        if self.spec.keeps_rows:
            for value, end in zip(self._elements(pa.table(self.partials.finish(table))), ends, strict=True):
                self.output.collect(value, end - 1)
            return
        for name, values in zip(self.keys, zip(*keys, strict=True), strict=True):
            table = table.append_column(name, pa.array(values))
        self.emit_windows(pa.array(starts), pa.array(ends), table)

    def _stamped(self, table: pa.Table) -> Iterator[tuple[Any, int]]:
        return stamped_rows(table, self.spec.make_row)

    def _elements(self, table: pa.Table) -> Iterator[Any]:
        """Records as the elements that they were."""
        if _INDEX in table.column_names:
            yield from (self._values[index] for index in table[_INDEX].to_pylist())
            return
        names = [name for name in table.column_names if name not in _OURS]
        assert self.spec.make_elements is not None
        make = self.spec.make_elements(names)
        for values in zip(*(table[name].to_pylist() for name in names), strict=True):
            yield make(*values)

    def _columns_of_values(self) -> pa.Table:
        names = dict.fromkeys([*self.keys, *self.partials.fields])
        columns: dict[str, Any] = {
            name: pa.array([get_field(value, name) for value in self._values], self.spec.schema.field(name).type)
            for name in names
        }
        count = len(self._values)
        columns[TIMESTAMP] = pa.array(self._times, pa.int64())
        columns[ORDER] = columns[_INDEX] = pa.array(range(count), pa.int64())
        return pa.table(columns)


def in_order(records: pa.Table) -> pa.Table:
    """Records in the order in which they must be processed; those that have been put in order stay as they are."""
    if ARRIVAL in records.column_names:
        return records
    if CHANNEL not in records.column_names:
        return records.sort_by(ORDER)
    return records.sort_by([(ORDER, "ascending"), (CHANNEL, "ascending")]).drop_columns([CHANNEL])


def stamped_rows(table: pa.Table, make_row: Callable[[tuple[Any, ...]], Any]) -> Iterator[tuple[Any, int]]:
    """The elements of a table of results, each with its timestamp: the last millisecond of its window."""
    ends = table[WINDOW_END].to_pylist()
    for values, end in zip(zip(*(column.to_pylist() for column in table.columns), strict=True), ends, strict=True):
        yield make_row(values), end - 1
