"""Sessions on columns: a log of spans by when they are due, put together where they touch when they are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.core.columnar.columnar_operator import TIMESTAMP, ColumnarOperator, in_order
from tidegate.core.columnar.groups import Groups, Numbers
from tidegate.core.columnar.key_hashes import key_hashes
from tidegate.core.columnar.late_sessions import LateSessions
from tidegate.core.time.millis import MAX_TIME, add

START: Final = "__start"
END: Final = "__end"
_DUE: Final = "__due"
"""The watermark at which a row must be looked at: where its session may fire, or where it is forgotten."""
_STAMP: Final = "__stamp"
"""Rows that are stored later have a higher one."""
_IS_WHOLE: Final = "__is_whole"
"""Whether a row is a whole session: then it stands for all earlier rows that it covers."""

MAX_TABLES: Final = 32
"""A pane with more stored tables than this becomes one table."""
_PANES: Final = 8
"""In how many panes the sessions of a gap are kept."""
_LIMIT: Final = 2**62


class SessionColumnsOperator(ColumnarOperator):
    """Sessions of a fixed gap. A row of the log is a span of one key with its partial aggregates.

    Rows are kept by when they are due. When the watermark gets there, the session of each is put together with the
    other rows of its key, which are found by an index, and is stored again as a whole if it goes on. Nothing that is
    stored is changed: what a whole session covers is no longer looked at. So a batch costs what it brings and what
    becomes due, and not what is open.

    A record that is on time by itself is always taken, whatever came before or after it, so all those of a batch are
    merged at once. One that is not may still touch a session that lives: that depends on the order, and is looked at
    record by record.
    """

    min_width = 1_000
    """Panes span at least so many milliseconds."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.gap: int = spec.window.assigner.session_gap
        self._stamp = 0

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
            groups = self._grouped(table, times, times + self.gap)
            spans = self.partials.reduce(table, groups)
            # What is behind the watermark already belongs to a session, which must take it in.
            due = np.maximum(spans[END].to_numpy() - 1, add(self.watermark, 1))
            self._append(spans, due, is_whole=False)

    def take_partials(self, table: pa.Table) -> None:
        raise AssertionError("sessions need records")

    def living(self, records: pa.Table) -> pa.Table | None:
        """The rows of sessions that live, of the keys of some records and perhaps others."""
        rows = self._find(records, self.watermark)
        if rows is None:
            return None
        groups = self._grouped(rows, rows[START].to_numpy(), rows[END].to_numpy())
        return rows.filter(pa.array(_counts(rows, groups)))

    def fire(self, before: int, watermark: int) -> None:
        panes = [pane for pane in self.log.panes if pane <= watermark]
        due = self._due(panes, before, watermark)
        for pane in panes:
            if add(pane, self._width - 1) <= watermark:
                self.log.remove(pane)
        if due is None:
            return
        others = self._find(due, watermark)
        rows = due if others is None else pa.concat_tables([due, others])
        groups = self._grouped(rows, rows[START].to_numpy(), rows[END].to_numpy())
        counts = _counts(rows, groups)
        is_touched = np.zeros(len(groups), bool)
        is_touched[groups.numbers[: len(due)][counts[: len(due)]]] = True
        live = Groups(groups.numbers[counts], groups.distinct)
        sessions = self.partials.merge(rows.filter(pa.array(counts)), live).filter(pa.array(is_touched))
        lasts = sessions[END].to_numpy() - 1
        fires = (lasts <= watermark) & (lasts > before)
        if fires.any():
            fired = sessions.filter(pa.array(fires)).sort_by([(END, "ascending")])
            self.emit_windows(fired[START], fired[END], fired)
        stays = lasts > add(watermark, -self.lateness)
        if stays.any():
            lasts = lasts[stays]
            forgotten = np.minimum(lasts, MAX_TIME - self.lateness) + self.lateness
            next_due = np.where(lasts > watermark, lasts, forgotten)
            self._append(sessions.filter(pa.array(stays)), next_due, is_whole=True)

    @property
    def _width(self) -> int:
        return max(self.gap // _PANES, self.min_width)

    def _due(self, panes: list[int], before: int, watermark: int) -> pa.Table | None:
        """The rows that become due as the watermark moves."""
        found = []
        for pane in panes:
            for table in self.log.load(pane):
                due = table[_DUE].to_numpy()
                is_due = (due > before) & (due <= watermark)
                if is_due.any():
                    found.append(table.filter(pa.array(is_due)))
        return pa.concat_tables(found) if found else None

    def _find(self, wanted: pa.Table, watermark: int) -> pa.Table | None:
        """The rows that are due later, of the keys that are wanted and perhaps others."""
        hashes = np.unique(key_hashes(wanted, self.keys))
        panes = [pane for pane in self.log.panes if add(pane, self._width - 1) > watermark]
        found = [table for pane in panes for table in self.log.find(pane, self.keys, hashes) if len(table)]
        if not found:
            return None
        rows = pa.concat_tables(found)
        rows = rows.filter(pa.array(rows[_DUE].to_numpy() > watermark))
        return rows if len(rows) else None

    def _append(self, rows: pa.Table, due: Numbers, *, is_whole: bool) -> None:
        self._stamp += 1
        count = len(rows)
        rows = rows.append_column(_DUE, pa.array(due))
        rows = rows.append_column(_STAMP, pa.array(np.full(count, self._stamp)))
        rows = rows.append_column(_IS_WHOLE, pa.array(np.full(count, is_whole)))
        order = np.argsort(due, kind="stable")
        rows = rows.take(pa.array(order)).combine_chunks()
        panes = due[order] // self._width * self._width
        bounds = [0, *(np.flatnonzero(np.diff(panes)) + 1).tolist(), count]
        for begin, end in pairwise(bounds):
            pane = int(panes[begin])
            self.log.append(pane, rows.slice(begin, end - begin))
            if self.log.num_stored(pane) > MAX_TABLES:
                whole = pa.concat_tables(self.log.load(pane))
                self.log.replace(pane, whole.filter(pa.array(whole[_DUE].to_numpy() > self.watermark)))

    def _grouped(self, table: pa.Table, starts: Numbers, ends: Numbers) -> Groups:
        """Spans grouped by session: those of a key that overlap or touch. What is distinct has the session's span."""
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
        return Groups(numbers, spans)

    def snapshot_own(self) -> Any:
        return [super().snapshot_own(), self._stamp]

    def restore_own(self, own: Any) -> None:
        log, self._stamp = own
        super().restore_own(log)


def _counts(rows: pa.Table, groups: Groups) -> npt.NDArray[np.bool_]:
    """Which rows count: not those that a later whole session covers."""
    starts, ends, stamps = (rows[name].to_numpy() for name in (START, END, _STAMP))
    counts = np.ones(len(rows), bool)
    is_open = np.array(rows[_IS_WHOLE])
    while is_open.any():
        # The latest whole session of each group, among those that have not had their turn.
        candidates = np.flatnonzero(is_open)
        candidates = candidates[np.argsort(stamps[candidates], kind="stable")]
        latest = np.full(len(groups), -1)
        latest[groups.numbers[candidates]] = candidates
        mine = latest[groups.numbers]
        is_covered = (mine >= 0) & (stamps < stamps[mine]) & (starts >= starts[mine]) & (ends <= ends[mine])
        counts &= ~is_covered
        is_open &= counts
        is_open[latest[latest >= 0]] = False
    return counts


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
