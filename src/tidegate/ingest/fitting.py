"""Holding the columns of a file to the types that were declared: the same, or such that nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidegate.errors import InvalidValueError

_UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True, slots=True)
class Fitting:
    """What is done to batches of a file so that they have the declared types."""

    path: str
    casts: dict[str, pa.DataType]

    @staticmethod
    def of(path: str, found: pa.Schema, names: Sequence[str], declared: pa.Schema | None) -> Fitting:
        """Refuse a file that lacks a column, or has one whose values do not fit, by its name."""
        casts: dict[str, pa.DataType] = {}
        for name in names:
            if found.get_field_index(name) < 0:
                raise InvalidValueError(
                    f"{path}: there is no column {name!r}; the file has {', '.join(found.names) or 'none'}"
                )
            if declared is None or declared.get_field_index(name) < 0:
                continue
            kind, target = found.field(name).type, declared.field(name).type
            plain = kind.value_type if pa.types.is_dictionary(kind) else kind
            if plain == target:
                continue
            if not is_widening(plain, target):
                raise InvalidValueError(
                    f"{path}: the column {name!r} is {plain} and must be {target}; convert the file, or read it by a "
                    "source of its own"
                )
            casts[name] = target
        return Fitting(path, casts)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, target in self.casts.items():
            index = batch.schema.get_field_index(name)
            try:
                column = batch.column(index).cast(target)
            except pa.ArrowInvalid as error:
                raise InvalidValueError(f"{self.path}: the column {name!r} does not fit {target}: {error}") from error
            batch = batch.set_column(index, pa.field(name, target), column)
        return batch


def is_widening(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value of a type is one of another.

    >>> is_widening(pa.int32(), pa.int64()), is_widening(pa.int64(), pa.float64())
    (True, False)
    """
    types = pa.types
    if types.is_null(kind):
        return True
    if types.is_integer(kind) and types.is_integer(target):
        fits = kind.bit_width <= target.bit_width
        is_signed = types.is_signed_integer(kind)
        if is_signed == types.is_signed_integer(target):
            return bool(fits)
        return not is_signed and kind.bit_width < target.bit_width
    if types.is_integer(kind) and types.is_floating(target):
        return bool(kind.bit_width <= {16: 8, 32: 16, 64: 32}[target.bit_width])
    if types.is_floating(kind) and types.is_floating(target):
        return bool(kind.bit_width <= target.bit_width)
    if types.is_timestamp(kind) and types.is_timestamp(target):
        return kind.tz == target.tz and _UNITS.index(kind.unit) <= _UNITS.index(target.unit)
    return bool(types.is_string(kind) and types.is_large_string(target))
