"""Declared types in Spark's words: the columns that a stream has as a DataFrame."""

from __future__ import annotations

from typing import Any, Final

from tidegate.common._array_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from tidegate.common._basic_types import BasicType, BasicTypeInfo
from tidegate.common._field_types import MapTypeInfo, RowTypeInfo, TupleTypeInfo
from tidegate.common._spark_types import DdlType, SparkType
from tidegate.common._time_types import DateTypeInfo, TimestampTypeInfo
from tidegate.errors import InvalidTypeError

_BASIC: Final = {
    BasicType.BOOLEAN: "boolean",
    BasicType.BYTE: "tinyint",
    BasicType.SHORT: "smallint",
    BasicType.INT: "int",
    BasicType.LONG: "bigint",
    BasicType.FLOAT: "float",
    BasicType.DOUBLE: "double",
    BasicType.CHAR: "string",
    BasicType.STRING: "string",
    BasicType.BIG_DEC: "decimal(38,18)",
    BasicType.BIG_INT: "decimal(38,0)",
    BasicType.INSTANT: "timestamp",
}


def columns_ddl(type_info: Any, where: str) -> str:
    """The columns of a stream of this type, such as `name string, age int`.

    >>> from tidegate.common import Types
    >>> columns_ddl(Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()]), "out")
    '`name` string, `age` int'
    """
    if isinstance(type_info, DdlType):
        return type_info.text
    if isinstance(type_info, SparkType):
        return _struct_columns(type_info.data_type)
    if isinstance(type_info, RowTypeInfo):
        names, types = type_info.get_field_names(), type_info.get_field_types()
        return ", ".join(f"`{name}` {_ddl(kind, where)}" for name, kind in zip(names, types, strict=True))
    if isinstance(type_info, TupleTypeInfo):
        return ", ".join(f"f{index} {_ddl(kind, where)}" for index, kind in enumerate(type_info.get_field_types()))
    if type_info is None:
        raise InvalidTypeError(
            f"{where}: a DataFrame needs columns, and the elements have no declared type; give the last operation "
            "output_type='user string, total long', or PyFlink's Types.ROW_NAMED(...)"
        )
    return f"value {_ddl(type_info, where)}"


def _struct_columns(data_type: Any) -> str:
    fields = getattr(data_type, "fields", None)
    if fields is None:
        return f"value {data_type.simpleString()}"
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields)


def _ddl(type_info: Any, where: str) -> str:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC[type_info.basic_type]
    if isinstance(type_info, ListTypeInfo | ObjectArrayTypeInfo | BasicArrayTypeInfo | PrimitiveArrayTypeInfo):
        return f"array<{_ddl(type_info.element_type, where)}>"
    if isinstance(type_info, MapTypeInfo):
        return f"map<{_ddl(type_info.key_type_info, where)},{_ddl(type_info.value_type_info, where)}>"
    if isinstance(type_info, RowTypeInfo):
        fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
        return "struct<" + ",".join(f"`{name}`:{_ddl(kind, where)}" for name, kind in fields) + ">"
    if isinstance(type_info, DateTypeInfo):
        return "date"
    if isinstance(type_info, TimestampTypeInfo):
        return "timestamp"
    if isinstance(type_info, DdlType):
        return f"struct<{type_info.text}>" if " " in type_info.text.strip() else type_info.text
    if isinstance(type_info, SparkType):
        return str(type_info.data_type.simpleString())
    raise InvalidTypeError(f"{where}: {type_info!r} has no counterpart in a DataFrame; declare a row of columns")
