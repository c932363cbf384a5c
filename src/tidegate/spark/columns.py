"""Columns of records on their way to subtasks: their time, their order, the hash of their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar_operator import CHANNEL, ORDER
from tidegate.errors import InvalidValueError

SEQUENCE: Final = "__sequence"
"""The column with the place of a record in its channel."""

_LIMIT: Final = 2**61


def with_order(table: pa.Table, firsts: Mapping[str, int], *, is_common_order: bool) -> pa.Table:
    """Records with their `ORDER`: by position in the channel, then by channel; or by a sequence that all share."""
    order = table[SEQUENCE].to_numpy()
    channels = table[CHANNEL].combine_chunks().dictionary_encode()
    names = [str(name) for name in channels.dictionary.to_pylist()]
    if not is_common_order:
        order = order - np.array([firsts[name] for name in names], np.int64)[channels.indices.to_numpy()]
    return table.drop_columns([SEQUENCE]).append_column(ORDER, pa.array(order))


def millis(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.int64]:
    """A column of times in milliseconds."""
    if column.null_count:
        raise InvalidValueError(
            f"with_timestamp_column: the column {name!r} is null in {column.null_count} of {len(column)} records; "
            'filter them out, or catch them with assign_timestamps_and_watermarks(..., on_error="side_output")'
        )
    if pa.types.is_timestamp(column.type):
        per_milli = {"s": None, "ms": 1, "us": 1_000, "ns": 1_000_000}[column.type.unit]
        ticks = pc.cast(column, pa.int64()).to_numpy()
        times: npt.NDArray[np.int64] = ticks * 1_000 if per_milli is None else ticks // per_milli
    else:
        times = column.to_numpy()
        if len(times) and (times.max() > _LIMIT or times.min() < -_LIMIT):
            raise InvalidValueError(f"with_timestamp_column: the column {name!r} has times beyond 2**61 milliseconds")
    return times
