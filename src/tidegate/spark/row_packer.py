"""What reads a source row by row: records become items for the subtasks that hold their channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.key.hashing import stable_hash
from tidegate.errors import InvalidValueError
from tidegate.ingest.column_source import RECORD_TIME
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.packing import Item, packed_rows, tick_item

MakeElement = Callable[[Sequence[str]], Callable[..., Any]]
"""Takes the names of columns and gives what makes an element of their values."""


class RowPacker:
    """Turns batches of records into packets for stage 0. It is called once for each partition of each batch.

    Records come with `CHANNEL` and `SEQUENCE`, null without a sequence; `place_columns` are those that both were made
    of, for the error that names them. `RECORD_TIME`, if it is there, is the timestamp of a record. Elements are rows
    unless `make_element` says otherwise; those that are None are left out.
    """

    def __init__(
        self,
        edge: str,
        group_keys: Sequence[int],
        *,
        is_common_order: bool,
        has_sequence: bool,
        place_columns: Sequence[str],
        needs_clock: bool,
        make_element: MakeElement | None = None,
    ) -> None:
        self._edge = edge
        self._group_keys = tuple(group_keys)
        self._is_common_order = is_common_order
        self._has_sequence = has_sequence
        self._place_columns = tuple(place_columns)
        self._needs_clock = needs_clock
        self._make_element = make_element

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        position = 0
        if self._needs_clock:
            yield packed_rows(0, {gid: [tick_item()] for gid in self._group_keys})
        for batch in batches:
            items: dict[int, list[Item]] = defaultdict(list)
            for channel, sequence, timestamp, row in self._records(batch):
                position += 1
                if channel is None or (self._has_sequence and sequence is None):
                    raise self._no_place(row)
                number = sequence if self._has_sequence else position
                order = (number, "") if self._is_common_order else (number, channel)
                gid = self._group_keys[stable_hash(channel) % len(self._group_keys)]
                items[gid].append(Item(order, self._edge, channel, None, row, timestamp))
            if items:
                yield packed_rows(0, items)

    def _records(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, Any, int | None, Any]]:
        """The elements with their channel, sequence and timestamp."""
        names = [name for name in batch.schema.names if name not in (CHANNEL, SEQUENCE, RECORD_TIME)]
        make = Row(*names) if self._make_element is None else self._make_element(names)
        columns = [batch.column(name).to_pylist() for name in (CHANNEL, SEQUENCE, *names)]
        has_times = RECORD_TIME in batch.schema.names
        times = batch.column(RECORD_TIME).to_pylist() if has_times else [None] * batch.num_rows
        for timestamp, channel, sequence, *values in zip(times, *columns, strict=True):
            element = make(*values)
            if element is not None:
                yield channel, sequence, timestamp, element

    def _no_place(self, row: Row) -> InvalidValueError:
        empty = [name for name in self._place_columns if row[name] is None]
        return InvalidValueError(
            f"from_dataframe: column {', '.join(map(repr, empty))} is null in {row}; the channel and the sequence say "
            "where a row belongs, so fill them, or filter such rows out, before from_dataframe"
        )
