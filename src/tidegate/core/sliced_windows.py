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

from tidegate.core.columnar_operator import SLICE, TIMESTAMP, ColumnarOperator
from tidegate.core.key_hashes import key_hashes
from tidegate.core.partials import RECORDS
from tidegate.core.refiring import Refiring
from tidegate.core.slices import Slices
from tidegate.core.time import add
from tidegate.core.windows import TimeWindow

_MERGED: Final = {b"merged": b"1"}
MAX_TABLES: Final = 64
"""A slice with more tables than this is merged into one."""
MAX_ROWS: Final = 2_000_000
"""A window of more rows than this is merged in pieces: what a batch needs of memory stays bounded."""


class SlicedWindowOperator(ColumnarOperator):
    """Windows that share slices. Every batch appends one table for each slice; nothing is read until a window fires."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.slices = Slices.of(spec.window.assigner)
        self._merged: dict[int, pa.Table] = {}

    def take_records(self, table: pa.Table) -> None:
        starts = self.slices.starts(table[TIMESTAMP].to_numpy())
        table = table.append_column(SLICE, pa.array(starts))
        found = np.unique(starts)
        is_over = np.array([not any(self._open(int(start))) for start in found])
        fires = np.array([any(self.fired(int(start))) for start in found])
        if is_over.any():
            is_late = np.isin(starts, found[is_over])
            self.take_late(table.filter(pa.array(is_late)).drop_columns([SLICE]))
        if fires.any():
            refiring = table.filter(pa.array(np.isin(starts, found[fires])))
            Refiring(self, refiring).run()
            self._append(self.partials.reduce(refiring, [SLICE, *self.keys]), is_merged=True)
        is_plain = ~is_over & ~fires
        if is_plain.any():
            kept = table if is_plain.all() else table.filter(pa.array(np.isin(starts, found[is_plain])))
            self._append(self.partials.reduce(kept, [SLICE, *self.keys]), is_merged=True)

    def take_partials(self, table: pa.Table) -> None:
        starts = table[SLICE].to_numpy()
        found = np.unique(starts)
        over = found[[not any(self._open(int(start))) for start in found]]
        if len(over):
            is_late = np.isin(starts, over)
            self.drop_late(pc.sum(table.filter(pa.array(is_late))[RECORDS]).as_py() or 0)
            table = table.filter(pa.array(~is_late))
        if len(table):
            self._append(table, is_merged=False)

    def _append(self, table: pa.Table, *, is_merged: bool) -> None:
        """Add partial aggregates to the log, a table for each slice; a merged one has each key once."""
        table = table.take(pc.sort_indices(table, sort_keys=[(SLICE, "ascending")])).combine_chunks()
        starts = table[SLICE].to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(starts)) + 1).tolist(), len(starts)]
        table = table.drop_columns([SLICE]).replace_schema_metadata(_MERGED if is_merged else None)
        for begin, end in pairwise(bounds):
            start = int(starts[begin])
            self.log.append(start, table.slice(begin, end - begin))
            self._merged.pop(start, None)
            if self.log.count(start) > MAX_TABLES and self.log.rows(start) <= MAX_ROWS:
                self.merged(start)

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

    def merged(self, start: int) -> pa.Table:
        """All of a slice as one table, a row for each key."""
        if start not in self._merged:
            tables = list(self.log.load(start))
            table = self._merge(tables)
            if table is not tables[0]:
                self.log.replace(start, table)
            self._merged[start] = table
        return self._merged[start]

    def _merge(self, tables: list[pa.Table]) -> pa.Table:
        """Tables as one with each key once."""
        if len(tables) == 1 and tables[0].schema.metadata == _MERGED:
            return tables[0]
        whole = pa.concat_tables(table.replace_schema_metadata(None) for table in tables)
        return self.partials.merge(whole, self.keys).replace_schema_metadata(_MERGED)

    def fire(self, before: int, watermark: int) -> None:
        due: dict[TimeWindow, list[int]] = defaultdict(list)
        for start in self.log.panes:
            for window in self.slices.windows(start):
                if window.max_timestamp() <= before:
                    break
                if window.max_timestamp() <= watermark:
                    due[window].append(start)
        for window in sorted(due, key=lambda window: window.end):
            for table in self._contents(due[window], window):
                self.emit_window(window, table)
        self._forget(watermark)

    def _contents(self, starts: list[int], window: TimeWindow) -> Iterator[pa.Table]:
        """What a window holds, each key once; in pieces by key where it is too much to be merged at once."""
        rows = sum(self.log.rows(start) for start in starts)
        if rows <= MAX_ROWS:
            yield self._merge([table for start in starts for table in self._tables(start, window)])
            return
        pieces = rows // MAX_ROWS + 1
        for piece in range(pieces):
            tables = [self._piece(t, piece, pieces) for start in starts for t in self.log.load(start)]
            yield self._merge(tables)

    def _piece(self, table: pa.Table, piece: int, pieces: int) -> pa.Table:
        # Keys of a subtask are alike in the lowest bits of their hash, which chose it.
        hashes = key_hashes(table, self.keys) >> np.uint64(32)
        return table.filter(pa.array(hashes % np.uint64(pieces) == piece)).replace_schema_metadata(None)

    def _tables(self, start: int, window: TimeWindow) -> list[pa.Table]:
        """What a slice gives to a window that fires: merged if it will be needed again, as it is if it goes now."""
        latest = next(self.slices.windows(start))
        if self.lateness > 0 or latest.end > window.end or start in self._merged:
            return [self.merged(start)]
        return list(self.log.load(start))

    def _forget(self, watermark: int) -> None:
        for start in self.log.panes:
            latest = next(self.slices.windows(start))
            if add(latest.max_timestamp(), self.lateness) <= watermark:
                self.log.remove(start)
                self._merged.pop(start, None)

    def restore_own(self, own: Any) -> None:
        super().restore_own(own)
        self._merged.clear()
