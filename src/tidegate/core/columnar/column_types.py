"""What can be done with the values of a column, by its type."""

from __future__ import annotations

import pyarrow as pa


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def can_be_added(kind: pa.DataType) -> bool:
    return bool(is_number(kind) or pa.types.is_decimal(kind))


def can_be_compared(kind: pa.DataType) -> bool:
    return bool(is_number(kind) or pa.types.is_temporal(kind))


def has_an_order(kind: pa.DataType) -> bool:
    """Whether values can be compared as whole numbers of 64 bits."""
    return bool((pa.types.is_integer(kind) and kind != pa.uint64()) or pa.types.is_temporal(kind))


def can_be_told_apart(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_temporal(kind))
