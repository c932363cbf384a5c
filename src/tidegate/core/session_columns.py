"""Sessions on columns: a log of fragments by time, merged where they touch when the watermark closes some."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidegate.core.columnar_operator import TIMESTAMP, ColumnarOperator, in_order
from tidegate.core.groups import Groups, Numbers
from tidegate.core.late_sessions import LateSessions
from tidegate.core.time import add

START: Final = "__start"
END: Final = "__end"
_LIMIT: Final = 2**62


class SessionColumnsOperator(ColumnarOperator):
    """Sessions of a fixed gap. A fragment is a span of one key with its partial aggregates.

    A record that is on time by itself is always taken, whatever came before or after it, so all those of a batch are
    merged at once. One that is not may still touch a session that lives: that depends on the order, and is looked at
    record by record.
    """

    min_width = 10_000
    """Fragments are kept by their end, in panes of at least so many milliseconds."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.gap: int = spec.window.assigner.session_gap
        self._extents: dict[int, tuple[int, int]] = {}

    def take_records(self, table: pa.Table) -> None:
        times = table[TIMESTAMP].to_numpy()
        if times.min() + (self.gap - 1) <= self.watermark:
            table = in_order(table)
            times = table[TIMESTAMP].to_numpy()
            is_behind = times + (self.gap - 1) <= self.watermark
            is_late = np.zeros(len(table), bool)
            is_late[np.flatnonzero(is_behind)] = LateSessions(self, table, is_behind).run()
            self.take_late(table.filter(pa.array(is_late)))
            table, times = table.filter(pa.array(~is_late)), times[~is_late]
        if len(table):
            self._append(self._sessions(table, times, times + self.gap, are_records=True))

    def take_partials(self, table: pa.Table) -> None:
        raise AssertionError("sessions need records")

    def fragments(self) -> pa.Table | None:
        """Everything that is kept."""
        tables = [table for pane in self.log.panes for table in self.log.load(pane)]
        return pa.concat_tables(tables) if tables else None

    def fire(self, before: int, watermark: int) -> None:
        due = add(watermark, 1)
        if not any(lowest_end <= due for _, lowest_end in self._extents.values()):
            return
        # What begins behind the watermark cannot touch what ends before it.
        panes = [pane for pane, (lowest_start, _) in self._extents.items() if lowest_start <= due]
        table = pa.concat_tables(table for pane in sorted(panes) for table in self.log.load(pane))
        for pane in panes:
            self.log.remove(pane)
            del self._extents[pane]
        sessions = self._sessions(table, table[START].to_numpy(), table[END].to_numpy(), are_records=False)
        ends = sessions[END].to_numpy()
        fires = (ends <= due) & (ends - 1 > before)
        if fires.any():
            self._emit(sessions.filter(pa.array(fires)).sort_by([(END, "ascending")]))
        stays = ends - 1 > add(watermark, -self.lateness)
        if stays.any():
            self._append(sessions.filter(pa.array(stays)))

    def _emit(self, sessions: pa.Table) -> None:
        self.emit_windows(sessions[START], sessions[END], sessions)

    def _append(self, sessions: pa.Table) -> None:
        width = max(self.gap, self.min_width)
        ends = sessions[END].to_numpy()
        order = np.argsort(ends, kind="stable")
        sessions = sessions.take(pa.array(order)).combine_chunks()
        ends, starts = ends[order], sessions[START].to_numpy()
        panes = ends // width * width
        bounds = [0, *(np.flatnonzero(np.diff(panes)) + 1).tolist(), len(panes)]
        for begin, end in pairwise(bounds):
            pane = int(panes[begin])
            self.log.append(pane, sessions.slice(begin, end - begin))
            lowest = int(starts[begin:end].min()), int(ends[begin])
            known = self._extents.get(pane, lowest)
            self._extents[pane] = min(known[0], lowest[0]), min(known[1], lowest[1])

    def _sessions(self, table: pa.Table, starts: Numbers, ends: Numbers, *, are_records: bool) -> pa.Table:
        """Records or fragments, merged where those of a key overlap or touch."""
        keys = Groups.of(table, self.keys)
        order = _order(keys.numbers, starts)
        codes, starts, ends = keys.numbers[order], starts[order], ends[order]
        begins = np.ones(len(order), bool)
        begins[1:] = (np.diff(codes) != 0) | (starts[1:] > _highest_so_far(ends, codes, len(keys))[:-1])
        firsts = np.flatnonzero(begins)
        spans = keys.distinct.take(pa.array(codes[firsts]))
        spans = spans.append_column(START, pa.array(starts[firsts]))
        spans = spans.append_column(END, pa.array(np.maximum.reduceat(ends, firsts)))
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.cumsum(begins) - 1
        return (self.partials.reduce if are_records else self.partials.merge)(table, Groups(numbers, spans))

    def snapshot_own(self) -> Any:
        return [super().snapshot_own(), dict(self._extents)]

    def restore_own(self, own: Any) -> None:
        log, extents = own
        super().restore_own(log)
        self._extents = dict(extents)


def _order(codes: Numbers, starts: Numbers) -> Numbers:
    """The order of rows by key, then by start."""
    lowest = int(starts.min())
    span = int(starts.max()) - lowest + 1
    if (int(codes.max()) + 1) * span >= _LIMIT:
        return np.lexsort((starts, codes))
    return np.argsort(codes * span + (starts - lowest))


def _highest_so_far(ends: Numbers, codes: Numbers, count: int) -> Numbers:
    """The highest end up to each row, among the rows of its key; keys are together."""
    lowest = int(ends.min())
    span = int(ends.max()) - lowest + 1
    if count * span >= _LIMIT:
        # Times so far apart that the numbers below would not fit: one key after the other.
        return np.concatenate(
            [np.maximum.accumulate(part) for part in np.split(ends, np.flatnonzero(np.diff(codes)) + 1)]
        )
    lift = codes * span
    return np.maximum.accumulate(ends - lowest + lift) - lift + lowest
