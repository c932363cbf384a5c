"""A hash of keys that is the same in every process and on every run, unlike Python's own."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pickle
import struct
import zlib
from typing import Any, Final

import numpy as np

_WORD: Final = 8


def stable_hash(key: Any) -> int:
    """An unsigned 32-bit hash. Keys that are equal in Python hash equally: 1, 1.0 and True are one key.

    >>> stable_hash("a") == stable_hash("a"), stable_hash(1) == stable_hash(1.0)
    (True, True)
    """
    if isinstance(key, str):
        return zlib.crc32(key.encode("utf-8", "surrogatepass"))
    if isinstance(key, np.generic):
        return stable_hash(key.item())
    if isinstance(key, int):
        # What fits into 64 bits has as many, so that columns of them can be hashed at once.
        size = ((key + (key < 0)).bit_length() >> 3) + 1
        return zlib.crc32(key.to_bytes(max(size, _WORD), "little", signed=True))
    if isinstance(key, float | decimal.Decimal) and _is_whole(key):
        return stable_hash(int(key))
    return zlib.crc32(_encode(key))


SPREAD: Final = 0x85EBCA6B
"""Hashes of keys that are alike differ in few bits. Multiplied by this, the highest of them tell the keys apart."""


def place_of(hashed: int, count: int) -> int:
    """One of so many places for a hash, such that keys that are alike come to different ones.

    >>> sorted({place_of(stable_hash(f"u{number}"), 4) for number in range(10)})
    [0, 1, 2, 3]
    """
    return (hashed * SPREAD & 0xFFFFFFFF) * count >> 32


def _is_whole(key: float | decimal.Decimal) -> bool:
    if isinstance(key, float):
        return key.is_integer()
    return key.is_finite() and key == key.to_integral_value()


def _encode(key: Any) -> bytes:
    if key is None:
        return b"n"
    if isinstance(key, float | decimal.Decimal):
        return b"f" + struct.pack("<d", float(key))
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, datetime.date | datetime.time | datetime.timedelta):
        return b"d" + repr(key).encode()
    if isinstance(key, tuple | list):
        return b"t" + b"".join(struct.pack("<I", stable_hash(item)) for item in key)
    if isinstance(key, frozenset):
        return b"z" + b"".join(sorted(struct.pack("<I", stable_hash(item)) for item in key))
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        fields = tuple(getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
        return b"c" + type(key).__qualname__.encode() + _encode(fields)
    encoding = getattr(key, "__stable_hash__", None)
    if encoding is not None:
        return _encode(encoding())
    return b"p" + pickle.dumps(key, protocol=5)
