"""Hashes of keys in columns, the same in every process: they say which subtask a key belongs to."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def key_hashes(table: pa.Table, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A hash of each row's key that is the same in every process."""
    total = np.zeros(len(table), np.uint64)
    for name in names:
        total = _mixed(total * np.uint64(31) + _hashes(table[name].combine_chunks()))
    return total


def _hashes(column: Any) -> npt.NDArray[np.uint64]:
    if pa.types.is_integer(column.type) or pa.types.is_date(column.type):
        whole = column if pa.types.is_integer(column.type) else column.cast(pa.int32())
        filled = whole.cast(pa.int64(), safe=False).fill_null(-1)
        return _mixed(filled.to_numpy(zero_copy_only=False).astype(np.uint64))
    coded = column.dictionary_encode()
    # The last place is for null.
    hashes = np.array([*(zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()), 0], np.uint64)
    found: npt.NDArray[np.uint64] = hashes[coded.indices.fill_null(len(hashes) - 1).to_numpy(zero_copy_only=False)]
    return found


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of splitmix64: neighbours end far apart."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
