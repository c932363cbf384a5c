"""Records that are behind the watermark by themselves: whether a session that lives takes them, one by one in order."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.columnar_operator import TIMESTAMP, Fired
from tidegate.core.time.millis import add

if TYPE_CHECKING:
    from tidegate.core.columnar.session_windows import SessionColumnsOperator

Key = tuple[Any, ...]
Session = tuple[int, int, list[Any]]
"""Start, end, and partial aggregates."""


class LateSessions:
    """One batch of records of the keys that have such records, all of them, for the others may open the session."""

    def __init__(self, operator: SessionColumnsOperator, records: pa.Table, is_behind: Any) -> None:
        self._operator = operator
        self._partials = operator.partials
        behind = records.filter(pa.array(is_behind))
        mask = np.ones(len(records), bool)
        for name in operator.keys:
            mask &= pc.is_in(records[name], value_set=pc.unique(behind[name])).to_numpy()
        self._records = records.filter(pa.array(mask))
        self._is_behind = np.asarray(is_behind)[mask]
        self._live: dict[Key, list[Session]] = defaultdict(list)

    def run(self) -> list[bool]:
        """For each record that is behind, in order, whether it is late. Windows that have fired fire again."""
        self._load()
        operator = self._operator
        keys = zip(*(self._records[name].to_pylist() for name in operator.keys), strict=True)
        times = self._records[TIMESTAMP].to_pylist()
        late: list[bool] = []
        fired: list[Fired] = []
        records = zip(keys, times, self._partials.of_records(self._records), strict=True)
        for index, (key, time, parts) in enumerate(records):
            taken = self._add(key, (time, time + operator.gap, parts))
            if self._is_behind[index]:
                late.append(taken is None)
            if taken is not None and taken[1] - 1 <= operator.watermark:
                fired.append((key, *taken))
        operator.emit_each(fired)
        return late

    def _add(self, key: Key, session: Session) -> Session | None:
        """Add what a record is by itself; the session that it became part of, None if that is over."""
        apart: list[Session] = []
        for other in self._live[key]:
            if session[0] <= other[1] and session[1] >= other[0]:
                session = (
                    min(session[0], other[0]),
                    max(session[1], other[1]),
                    self._partials.combined(other[2], session[2]),
                )
            else:
                apart.append(other)
        if add(session[1] - 1, self._operator.lateness) <= self._operator.watermark:
            return None
        self._live[key] = [*apart, session]
        return session

    def _load(self) -> None:
        from tidegate.core.columnar.session_windows import END, START

        table = self._operator.living(self._records)
        if table is None:
            return
        table = table.sort_by(START)
        names = [START, END, *self._partials.part_names]
        keys = zip(*(table[name].to_pylist() for name in self._operator.keys), strict=True)
        for key, (start, end, *values) in zip(
            keys, zip(*(table[n].to_pylist() for n in names), strict=True), strict=True
        ):
            sessions = self._live[key]
            if sessions and start <= sessions[-1][1]:
                last = sessions.pop()
                sessions.append((last[0], max(last[1], end), self._partials.combined(last[2], values)))
            else:
                sessions.append((start, end, values))
