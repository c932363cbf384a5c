"""Which subtask holds a key: the one rule, for single keys and for columns of them.

Keys belong to key groups, whose number is fixed with the state: it is the highest parallelism that a job can have.
Every subtask holds groups that are neighbours, so that with another parallelism whole groups move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.core.key.hashing import SPREAD, place_of, stable_hash

Hashes = npt.NDArray[np.uint32]

_FEWEST: Final = 128
_MOST: Final = 32768
_NULL: Final = stable_hash(None)


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """Key groups, and the subtasks that hold them.

    >>> KeyGroups(128, 2).subtask_of("ann") in (0, 1)
    True
    >>> [KeyGroups(4, 2).subtask_of_group(group) for group in range(4)]
    [0, 0, 1, 1]
    """

    count: int
    parallelism: int

    def group_of(self, key: Any) -> int:
        return place_of(stable_hash(key), self.count)

    def subtask_of_group(self, group: int) -> int:
        return group * self.parallelism // self.count

    def subtask_of(self, key: Any) -> int:
        return self.subtask_of_group(self.group_of(key))

    def subtasks_of(self, keys: pa.Table, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """The subtask of each row: that of the value of its key column, or of the tuple of its key columns."""
        hashes = [_hashes(keys[name].combine_chunks()) for name in names]
        total = hashes[0] if len(hashes) == 1 else _tuple_hashes(hashes)
        spread = total.astype(np.uint64) * np.uint64(SPREAD) & np.uint64(0xFFFFFFFF)
        groups = (spread * np.uint64(self.count) >> np.uint64(32)).astype(np.int64)
        return groups * self.parallelism // self.count


def default_key_groups(parallelism: int) -> int:
    """How many key groups there are where nobody says: room for growth, as in Flink.

    >>> default_key_groups(2), default_key_groups(100)
    (128, 256)
    """
    half_more = parallelism + parallelism // 2
    return min(max(1 << (half_more - 1).bit_length(), _FEWEST), _MOST)


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
