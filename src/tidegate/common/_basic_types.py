"""The types of single values: numbers, text, dates and times, and anything pickled."""

# ruff: noqa: N802  # PyFlink's spelling

from __future__ import annotations

import decimal
import enum
import numbers
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tidegate.common._type_information import Mismatch, TypeInformation
from tidegate.common.time import Instant
from tidegate.errors import InvalidTypeError

_FLOAT: Final = struct.Struct("<f")
_NUMBERS: Final = (int, float, numbers.Real, decimal.Decimal, np.bool_)


class BasicType(enum.Enum):
    """The kinds of single values, under Java's names as PyFlink prints them."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation):
    """A number, a truth value, text or an instant.

    >>> BasicTypeInfo.DOUBLE_TYPE_INFO().convert(1, "map 'half'")
    1.0
    """

    basic_type: BasicType
    _fit: Any = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.basic_type, BasicType):
            raise InvalidTypeError(f"BasicTypeInfo: expected a BasicType, got {self.basic_type!r}; use Types instead")
        object.__setattr__(self, "_fit", _FITS[self.basic_type])

    def describe(self) -> str:
        return self.basic_type.name

    def fit(self, value: Any) -> Any:
        return self._fit(value)  # looked up once, because this runs for every record

    def __repr__(self) -> str:
        return self.basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.INSTANT)


@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python object, as it is. Streams without an output type have this one."""

    def describe(self) -> str:
        return "PICKLED_BYTE_ARRAY"

    def fit(self, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


def _is_number(value: Any) -> bool:
    """Whether it is one real number: Python's, numpy's, a Fraction, a Decimal, or a truth value."""
    return isinstance(value, _NUMBERS)


def _whole(value: Any, expected: str) -> int:
    """`value` as an int if it is a whole number of whatever kind: True, 1.0, Decimal(1), numpy's."""
    if _is_number(value):
        try:
            number = int(value)
        except (ValueError, OverflowError):
            raise Mismatch(expected, value) from None
        if number == value:
            return number
    raise Mismatch(expected, value)


def _bounded(value: Any, bits: int, expected: str) -> int:
    number = _whole(value, expected)
    limit = 1 << (bits - 1)
    if not -limit <= number < limit:
        raise Mismatch(f"{expected} ({-limit} to {limit - 1})", value)
    return number


def _fit_byte(value: Any) -> int:
    return _bounded(value, 8, "BYTE")


def _fit_short(value: Any) -> int:
    return _bounded(value, 16, "SHORT")


def _fit_int(value: Any) -> int:
    if type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return value
    return _bounded(value, 32, "INT")


def _fit_long(value: Any) -> int:
    if type(value) is int and -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        return value
    return _bounded(value, 64, "LONG")


def _fit_big_int(value: Any) -> int:
    return _whole(value, "BIG_INT")


def _fit_big_dec(value: Any) -> decimal.Decimal:
    if isinstance(value, decimal.Decimal):
        return value
    if not (isinstance(value, str) or _is_number(value)) or isinstance(value, bool | np.bool_):
        raise Mismatch("BIG_DEC", value)
    try:
        # By its text: Decimal(0.1) would show the binary fraction behind 0.1.
        return decimal.Decimal(str(value))
    except decimal.InvalidOperation:
        raise Mismatch("BIG_DEC", value) from None


def _fit_double(value: Any) -> float:
    if type(value) is float:
        return value
    return _number(value, "DOUBLE")


def _fit_float(value: Any) -> float:
    number = _number(value, "FLOAT")
    try:
        single: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    except OverflowError:
        raise Mismatch("FLOAT (32 bits, up to about 3.4e38)", value) from None
    return single


def _number(value: Any, expected: str) -> float:
    if not _is_number(value):
        raise Mismatch(expected, value)
    try:
        return float(value)
    except OverflowError:
        raise Mismatch(f"{expected} (64 bits, up to about 1.8e308)", value) from None


def _fit_boolean(value: Any) -> bool:
    if value is True or value is False:
        return value
    if _is_number(value) and value in (0, 1):
        return bool(value)
    raise Mismatch("BOOLEAN", value)


def _fit_string(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise Mismatch("STRING", value)


def _fit_char(value: Any) -> str:
    if isinstance(value, str) and len(value) == 1:
        return str.__str__(value)
    raise Mismatch("CHAR, a text of one character", value)


def _fit_instant(value: Any) -> Instant:
    if isinstance(value, Instant):
        return value
    raise Mismatch("INSTANT", value)


_FITS: Final[dict[BasicType, Callable[[Any], Any]]] = {
    BasicType.STRING: _fit_string,
    BasicType.BYTE: _fit_byte,
    BasicType.BOOLEAN: _fit_boolean,
    BasicType.SHORT: _fit_short,
    BasicType.INT: _fit_int,
    BasicType.LONG: _fit_long,
    BasicType.FLOAT: _fit_float,
    BasicType.DOUBLE: _fit_double,
    BasicType.CHAR: _fit_char,
    BasicType.BIG_INT: _fit_big_int,
    BasicType.BIG_DEC: _fit_big_dec,
    BasicType.INSTANT: _fit_instant,
}
