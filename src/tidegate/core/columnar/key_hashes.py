"""Hashes of keys in columns, the same in every process: they say which subtask a key belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_WORD: Final = 8


def key_hashes(table: pa.Table, names: Sequence[str]) -> Hashes:
    """A hash of each row's key that is the same in every process."""
    total = np.zeros(len(table), np.uint64)
    for name in names:
        total = _mixed(total * np.uint64(31) + _hashes(table[name].combine_chunks()))
    return total


def _hashes(column: Any) -> Hashes:
    if not pa.types.is_integer(column.type) and not pa.types.is_date(column.type):
        return _text_hashes(column)
    whole = column if pa.types.is_integer(column.type) else column.cast(pa.int32())
    filled = whole.cast(pa.int64(), safe=False).fill_null(-1)
    return _mixed(filled.to_numpy(zero_copy_only=False).astype(np.uint64))


def _text_hashes(column: Any) -> Hashes:
    """Hashes of texts, eight bytes of each at a time; that of null is 0."""
    filled = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = filled.buffers()
    bounds = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
    flat = np.zeros((data.size if data else 0) + _WORD, np.uint8)
    flat[:-_WORD] = np.frombuffer(data, np.uint8) if data else 0
    words: Hashes = np.ndarray(len(flat) - _WORD + 1, "<u8", flat, strides=(1,))
    starts, left = bounds[:-1], np.diff(bounds)
    total = _mixed(left.astype(np.uint64) + np.uint64(1))
    rows = np.flatnonzero(left > 0)
    while len(rows):
        has = np.minimum(left[rows], _WORD).astype(np.uint64)
        shift = np.uint64(8) * (np.uint64(_WORD) - has)
        total[rows] = _mixed(total[rows] * np.uint64(31) + ((words[starts[rows]] << shift) >> shift))
        starts, left = starts + _WORD, left - _WORD
        rows = rows[left[rows] > 0]
    if column.null_count:
        total[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return total


def _mixed(values: Hashes) -> Hashes:
    """The finalizer of splitmix64: neighbours end far apart."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
