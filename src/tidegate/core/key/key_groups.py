"""Which subtask holds a key: the one rule, for single keys and for columns of them.

Keys belong to key groups, whose number is fixed with the state. A group is the unit that moves when a job goes on with
another parallelism; today every subtask is one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.core.key.hashing import stable_hash

Hashes = npt.NDArray[np.uint32]

_NULL: Final = stable_hash(None)


def key_group(key: Any, groups: int) -> int:
    """The key group of a key, from 0 on.

    >>> key_group("ann", 4) == key_group("ann", 4)
    True
    """
    return stable_hash(key) % groups


def key_groups(keys: pa.Table, names: Sequence[str], groups: int) -> npt.NDArray[np.int64]:
    """The key group of each row: that of the value of its key column, or of the tuple of its key columns."""
    hashes = [_hashes(keys[name].combine_chunks()) for name in names]
    total = hashes[0] if len(hashes) == 1 else _tuple_hashes(hashes)
    return (total % np.uint32(groups)).astype(np.int64)


def _hashes(column: pa.Array) -> Hashes:
    """What `stable_hash` says of each value."""
    if pa.types.is_dictionary(column.type):
        hashes = _hashes(column.dictionary)[column.indices.fill_null(0).to_numpy()]
        return _with_nulls(hashes, column.indices)
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return _integer_hashes(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _text_hashes(column)
    return np.array([stable_hash(value) for value in column.to_pylist()], np.uint32)


def _integer_hashes(column: pa.Array) -> Hashes:
    values = column.cast(pa.int64()).fill_null(0).to_numpy()
    data = values.astype("<i8").view(np.uint8).reshape(-1, 8)
    hashes = _crc32(data.T, np.full(len(values), 8))
    return _with_nulls(hashes, column)


def _text_hashes(column: pa.Array) -> Hashes:
    filled = column.cast(pa.large_string()).fill_null("")
    _, offsets, buffer = filled.buffers()
    bounds = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(1, np.uint8)
    starts, lengths = bounds[:-1], np.diff(bounds)
    longest = int(lengths.max()) if len(lengths) else 0
    last = len(data) - 1
    columns = (data[np.minimum(starts + place, last)] for place in range(longest))
    return _with_nulls(_crc32(columns, lengths), column)


def _tuple_hashes(parts: Sequence[Hashes]) -> Hashes:
    """What `stable_hash` says of tuples, from what it says of their members."""
    count = len(parts[0])
    packed = np.stack(parts, axis=1).astype("<u4").view(np.uint8).reshape(count, 4 * len(parts))
    data = np.concatenate([np.full((count, 1), ord("t"), np.uint8), packed], axis=1)
    return _crc32(data.T, np.full(count, data.shape[1]))


def _with_nulls(hashes: Hashes, column: pa.Array) -> Hashes:
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashes


def _crc32(places: Any, lengths: npt.NDArray[np.int64]) -> Hashes:
    """The CRC-32 of byte strings that lie side by side: `places` gives the first byte of all, then the second, ..."""
    crc = np.full(len(lengths), 0xFFFFFFFF, np.uint32)
    shortest = int(lengths.min()) if len(lengths) else 0
    for place, column in enumerate(places):
        updated = _TABLE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
        crc = updated if place < shortest else np.where(lengths > place, updated, crc)
    return ~crc


def _crc_table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & np.uint32(1), (table >> np.uint32(1)) ^ np.uint32(0xEDB88320), table >> np.uint32(1))
    return table


_TABLE: Final = _crc_table()
