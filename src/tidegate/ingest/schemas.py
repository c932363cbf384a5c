"""Declared columns as Arrow has them."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from tidegate.errors import InvalidTypeError, InvalidValueError

_TYPES: Final = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_FIELD: Final = re.compile(r"\s*(?:`([^`]+)`|([^\s`:]+))[\s:]+(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?:,|$)")


def as_arrow_schema(schema: Any, who: str = "FileSource") -> pa.Schema:
    """Columns from DDL such as `user string, amount decimal(10, 2)`, a StructType of Spark's, or a schema of Arrow's.

    >>> as_arrow_schema("user string, amount long").names
    ['user', 'amount']
    """
    if isinstance(schema, pa.Schema):
        return schema
    if isinstance(schema, str):
        return _from_ddl(schema, who)
    fields = getattr(schema, "fields", None)
    if fields is not None:
        return _from_ddl(", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields), who)
    raise InvalidTypeError(
        f"{who}: expected the columns as text such as 'user string, amount long', a StructType or a "
        f"pyarrow.Schema, got {schema!r}"
    )


def _from_ddl(text: str, who: str) -> pa.Schema:
    fields: list[tuple[str, pa.DataType]] = []
    position = 0
    while position < len(text.rstrip()):
        found = _FIELD.match(text, position)
        if found is None:
            raise InvalidValueError(
                f"{who}: cannot read the columns {text!r} from {text[position:].strip()!r} on; write for example "
                "'user string, amount long', or give a pyarrow.Schema for nested columns"
            )
        fields.append((found[1] or found[2], _type(found, who)))
        position = found.end()
    return pa.schema(fields)


def _type(found: re.Match[str], who: str) -> pa.DataType:
    name = found[3].lower()
    if name in ("decimal", "dec", "numeric"):
        return pa.decimal128(int(found[4] or 10), int(found[5] or 0))
    if name not in _TYPES:
        raise InvalidValueError(
            f"{who}: unknown type {found[3]!r} of the column {(found[1] or found[2])!r}; "
            f"use one of {', '.join(_TYPES)} or decimal(precision, scale)"
        )
    return _TYPES[name]
