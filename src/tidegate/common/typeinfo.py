"""`Types`: what a function may say about the values that it returns."""

# ruff: noqa: N802  # PyFlink's spelling

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate._refused import refusing
from tidegate.common._array_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from tidegate.common._basic_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from tidegate.common._field_types import MapTypeInfo, RowTypeInfo, TupleTypeInfo
from tidegate.common._spark_types import DdlType, SparkType, is_spark_type
from tidegate.common._time_types import DateTypeInfo, SqlTimeTypeInfo, TimestampTypeInfo, TimeTypeInfo
from tidegate.common._type_information import DeclaredType, TypeInformation, uncalled
from tidegate.errors import InvalidTypeError, InvalidValueError

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "DdlType",
    "DeclaredType",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SparkType",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "as_type",
]


class Types:
    """Makes types. Values of a typed stream are checked, and take the form they have in PyFlink.

    >>> pairs = Types.TUPLE([Types.STRING(), Types.LONG()])
    >>> pairs.convert(["a", 1], "map 'count'")
    ('a', 1)
    >>> pairs.convert(("a", "b"), "map 'count'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tidegate.errors.InvalidTypeError: map 'count': field 1: expected LONG, got str 'b'; change output_type or ...
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Text."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BYTE() -> TypeInformation:
        """A whole number of 8 bits, -128 to 127."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """True or False; 1 and 0 become that."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation:
        """A whole number of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT() -> TypeInformation:
        """A whole number of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG() -> TypeInformation:
        """A whole number of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A number rounded to 32 bits: 1.1 becomes 1.100000023841858."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A number of 64 bits; 1 becomes 1.0."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation:
        """A text of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """A whole number of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A `Decimal`; other numbers, and numbers as text, become that."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation:
        """An `Instant`."""
        return BasicTypeInfo(BasicType.INSTANT)

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A `datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A `datetime.datetime` without time zone."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object, as it is."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` whose fields are called f0, f1, ..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: list[str], field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` with these field names.

        >>> Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        RowTypeInfo(name: String, age: Integer)
        """
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TupleTypeInfo:
        """A tuple with one type for each position."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers or truth values, or `bytes` for an array of BYTE."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers, truth values or texts."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of values of any one type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A dict."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A list."""
        return ListTypeInfo(element_type_info)


def as_type(output_type: Any, where: str) -> TypeInformation | None:
    """What a user wrote for a type, as a type; None stays None, which is any Python object.

    Taken are types made by `Types`, a list of them (a row), a Spark DDL string and a pyspark DataType.

    >>> as_type([Types.INT(), Types.STRING()], "OutputTag 'late'")
    RowTypeInfo(Integer, String)
    >>> as_type("name STRING, age INT", "map 'parse'")
    DdlType(text='name STRING, age INT')
    """
    if output_type is None or isinstance(output_type, TypeInformation):
        return output_type
    if isinstance(output_type, str):
        if not output_type.strip():
            raise InvalidValueError(
                f"{where}: the type is an empty text; write a Spark DDL string such as 'name STRING'"
            )
        return DdlType(output_type)
    if is_spark_type(output_type):
        return SparkType(output_type)
    if isinstance(output_type, list) and all(isinstance(each, TypeInformation) for each in output_type):
        return RowTypeInfo(output_type)
    raise InvalidTypeError(
        f"{where}: expected a type such as Types.INT(), a list of them, a Spark DDL string such as "
        f"'name STRING, age INT' or a pyspark DataType object, got {output_type!r}{uncalled(output_type)}"
    )


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
