"""What reads a source row by row: records become items for the subtasks that hold their channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from tidegate.core.columnar_operator import CHANNEL
from tidegate.core.hashing import stable_hash
from tidegate.errors import InvalidValueError
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.packing import Item, packed_rows, tick_item


class RowPacker:
    """Turns batches of records into packets for stage 0. It is called once for each partition of each batch.

    Records come with `CHANNEL` and `SEQUENCE`, null without a sequence; `place_columns` are those that both were made
    of, for the error that names them.
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
    ) -> None:
        self._edge = edge
        self._group_keys = tuple(group_keys)
        self._is_common_order = is_common_order
        self._has_sequence = has_sequence
        self._place_columns = tuple(place_columns)
        self._needs_clock = needs_clock

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        position = 0
        if self._needs_clock:
            yield packed_rows(0, {gid: [tick_item()] for gid in self._group_keys})
        for batch in batches:
            items: dict[int, list[Item]] = defaultdict(list)
            for channel, sequence, row in _rows(batch):
                position += 1
                if channel is None or (self._has_sequence and sequence is None):
                    raise self._no_place(row)
                number = sequence if self._has_sequence else position
                order = (number, "") if self._is_common_order else (number, channel)
                gid = self._group_keys[stable_hash(channel) % len(self._group_keys)]
                items[gid].append(Item(order, self._edge, channel, None, row))
            if items:
                yield packed_rows(0, items)

    def _no_place(self, row: Row) -> InvalidValueError:
        empty = [name for name in self._place_columns if row[name] is None]
        return InvalidValueError(
            f"from_dataframe: column {', '.join(map(repr, empty))} is null in {row}; the channel and the sequence say "
            "where a row belongs, so fill them, or filter such rows out, before from_dataframe"
        )


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, Any, Row]]:
    """The records with their channel and sequence."""
    names = [name for name in batch.schema.names if name not in (CHANNEL, SEQUENCE)]
    make_row = Row(*names)
    columns = [batch.column(name).to_pylist() for name in (CHANNEL, SEQUENCE, *names)]
    for channel, sequence, *values in zip(*columns, strict=True):
        yield channel, sequence, make_row(*values)
