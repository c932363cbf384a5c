"""Tumbling and sliding windows on columns: partial aggregates in a log of slices, merged when a window fires."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.columnar_operator import SLICE, TIMESTAMP, ColumnarOperator, in_order
from tidegate.core.columnar.groups import Groups
from tidegate.core.columnar.key_hashes import key_hashes
from tidegate.core.columnar.partials import RECORDS
from tidegate.core.columnar.parts import ARRIVAL
from tidegate.core.columnar.refiring import Refiring
from tidegate.core.columnar.slices import Slices
from tidegate.core.time.millis import add
from tidegate.core.window.windows import TimeWindow

MAX_TABLES: Final = 64
"""A slice with more stored tables than this is merged into one."""
MAX_ROWS: Final = 2_000_000
"""Windows of more rows than this are merged one by one, and in pieces: what a batch needs of memory stays bounded."""


class SlicedWindowOperator(ColumnarOperator):
    """Windows that share slices. Every batch appends one table for each slice; nothing is read until a window fires."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.slices = Slices.of(spec.window.assigner)
        self._num_arrived = 0

    def take_records(self, table: pa.Table) -> None:
        if self.partials.needs_order:
            table = self._with_arrivals(in_order(table))
        starts = self.slices.starts(table[TIMESTAMP].to_numpy())
        table = table.append_column(SLICE, pa.array(starts))
        found = pc.unique(pa.array(starts)).to_pylist()
        over = [start for start in found if not any(self._open(start))]
        if over:
            is_late = np.isin(starts, over)
            self.take_late(in_order(table.filter(pa.array(is_late))))
            table, starts = table.filter(pa.array(~is_late)), starts[~is_late]
        fired = [start for start in found if any(self.fired(start))]
        if fired:
            Refiring(self, in_order(table.filter(pa.array(np.isin(starts, fired))))).run()
        if len(table):
            groups, _ = Groups.of(table, self.keys).split(SLICE, starts, self.slices.step)
            self._append(self._by_slice(self.partials.reduce(table, groups)))

    def _with_arrivals(self, table: pa.Table) -> pa.Table:
        begin, self._num_arrived = self._num_arrived, self._num_arrived + len(table)
        return table.append_column(ARRIVAL, pa.array(np.arange(begin, self._num_arrived, dtype=np.int64)))

    def take_partials(self, table: pa.Table) -> None:
        slices = self._by_slice(table)
        for start in [start for start in slices if not any(self._open(start))]:
            self.drop_late(sum(pc.sum(part[RECORDS]).as_py() for part in slices.pop(start)))
        self._append(slices)

    def _by_slice(self, table: pa.Table) -> dict[int, list[pa.RecordBatch]]:
        """Partial aggregates parted by slice; those of a slice are together already where they were made."""
        found: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        rest = table.drop_columns([SLICE])
        position = 0
        for chunk in table[SLICE].chunks:
            starts = chunk.to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(starts)) + 1).tolist(), len(starts)]
            for begin, end in pairwise(bounds):
                if begin < end:
                    found[int(starts[begin])] += rest.slice(position + begin, end - begin).to_batches()
            position += len(starts)
        return found

    def _append(self, slices: dict[int, list[pa.RecordBatch]]) -> None:
        for start, parts in slices.items():
            self.log.append(start, pa.Table.from_batches(parts))
            if self.log.num_stored(start) > MAX_TABLES and self.log.rows(start) <= MAX_ROWS:
                self.log.replace(start, self._merged(list(self.log.load(start))))

    def _merged(self, tables: list[pa.Table]) -> pa.Table:
        """Tables as one with each key once."""
        whole = pa.concat_tables(tables)
        return self.partials.merge(whole, Groups.of(whole, self.keys))

    def _open(self, start: int) -> Iterator[TimeWindow]:
        """The windows of a slice that still take records."""
        return (w for w in self.slices.windows(start) if add(w.max_timestamp(), self.lateness) > self.watermark)

    def fired(self, start: int) -> list[TimeWindow]:
        """The windows of a slice that have fired and fire again for each record, the latest first."""
        if not self.lateness:
            return []
        return [window for window in self._open(start) if window.max_timestamp() <= self.watermark]

    def slices_of(self, window: TimeWindow) -> list[int]:
        """The slices of a window that hold something."""
        panes = self.log.panes
        return panes[bisect_left(panes, window.start) : bisect_left(panes, window.end)]

    def fire(self, before: int, watermark: int) -> None:
        due: dict[TimeWindow, list[int]] = defaultdict(list)
        for start in self.log.panes:
            for window in self.slices.windows(start):
                if window.max_timestamp() <= before:
                    break
                if window.max_timestamp() <= watermark:
                    due[window].append(start)
        windows = sorted(due, key=lambda window: window.end)
        slices = sorted({start for starts in due.values() for start in starts})
        if sum(self.log.rows(start) for start in slices) <= MAX_ROWS:
            self._fire_together(windows, slices)
        else:
            for window in windows:
                for merged in self._pieces(due[window]):
                    self.emit_window(window, merged)
        self._forget(watermark)

    def _fire_together(self, windows: list[TimeWindow], starts: list[int]) -> None:
        """Windows whose slices fit into memory: keys are numbered once for all of them."""
        if not windows:
            return
        tables = {start: pa.concat_tables(self.log.load(start)) for start in starts}
        bounds = [0, *np.cumsum([len(table) for table in tables.values()]).tolist()]
        whole = pa.concat_tables(tables.values())
        groups = Groups.of(whole, self.keys)
        for window in windows:
            begin = bounds[bisect_left(starts, window.start)]
            end = bounds[bisect_left(starts, window.end)]
            part = groups if end - begin == len(whole) else groups.part(begin, end)
            self.emit_window(window, self.partials.merge(whole.slice(begin, end - begin), part))

    def _pieces(self, starts: list[int]) -> Iterator[pa.Table]:
        """What a window holds, each key once, in pieces by key where it is too much to be merged at once."""
        pieces = sum(self.log.rows(start) for start in starts) // MAX_ROWS + 1
        for piece in range(pieces):
            tables = [self._piece(table, piece, pieces) for start in starts for table in self.log.load(start)]
            yield self._merged(tables)

    def _piece(self, table: pa.Table, piece: int, pieces: int) -> pa.Table:
        if pieces == 1:
            return table
        hashes = key_hashes(table, self.keys) >> np.uint64(32)
        return table.filter(pa.array(hashes % np.uint64(pieces) == piece))

    def _forget(self, watermark: int) -> None:
        for start in self.log.panes:
            latest = next(self.slices.windows(start))
            if add(latest.max_timestamp(), self.lateness) <= watermark:
                self.log.remove(start)

    def snapshot_own(self) -> Any:
        return [super().snapshot_own(), self._num_arrived]

    def restore_own(self, own: Any) -> None:
        log, self._num_arrived = own
        super().restore_own(log)
