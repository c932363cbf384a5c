"""Columns of records on their way to subtasks: their time, their order, the hash of their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.core.columnar.columnar_operator import CHANNEL, ORDER
from tidegate.errors import InvalidValueError

SEQUENCE: Final = "__sequence"
"""The column with the place of a record in its channel."""

_LIMIT: Final = 2**61


def no_place(source: str, what: str) -> InvalidValueError:
    """A record has no channel, or no place there."""
    return InvalidValueError(
        f"{source}: {what}; the channel and the sequence say where a record belongs, so fill them, or filter such rows "
        "out before they are read"
    )


def with_order(table: pa.Table, firsts: Mapping[str, int], *, is_common_order: bool) -> pa.Table:
    """Records with their `ORDER`: by position in the channel, then by channel; or by a sequence that all share.

    Channels are ordered by their names, whatever type their column has.
    """
    order = table[SEQUENCE].to_numpy()
    channels = _coded(table[CHANNEL])
    names = [str(name) for name in channels.dictionary.to_pylist()]
    if not is_common_order:
        order = order - np.array([firsts[name] for name in names], np.int64)[channels.indices.to_numpy()]
    texts = pa.array(names, pa.string()).take(channels.indices)
    table = table.drop_columns([SEQUENCE, CHANNEL])
    return table.append_column(ORDER, pa.array(order)).append_column(CHANNEL, texts)


def _coded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().combine_chunks()
    return column.combine_chunks().dictionary_encode()


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """What `to_pylist` gives, several times as fast for times in UTC."""
    values: list[Any]
    if column.null_count or column.type != pa.timestamp("us", "UTC") or not len(column):
        values = column.to_pylist()
        return values
    zone = column[0].as_py().tzinfo
    times = column.cast(pa.int64()).to_numpy().view("datetime64[us]")
    return [time.replace(tzinfo=zone) for time in times.tolist()]


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
