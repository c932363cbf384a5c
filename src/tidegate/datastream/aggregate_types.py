"""The columns that `agg(...)` gives, worked out from the columns it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.common.typeinfo import SparkType
from tidegate.core.function.aggregates import (
    Aggregate,
    CollectList,
    Count,
    CountDistinct,
    MaxBy,
    Mean,
    MinBy,
    Stddev,
    Sum,
)
from tidegate.errors import InvalidValueError

_WHOLE = ("tinyint", "smallint", "int", "bigint")


def columns_of(type_info: Any) -> dict[str, str] | None:
    """The columns of a stream and their types in Spark's words, None if they are not known."""
    fields = getattr(type_info.data_type, "fields", None) if isinstance(type_info, SparkType) else None
    return None if fields is None else {field.name: field.dataType.simpleString() for field in fields}


def aggregate_columns(type_info: Any, key_names: Sequence[str], aggregates: Mapping[str, Aggregate]) -> str | None:
    """The columns of the result as DDL, None if those of the input are not known."""
    columns = columns_of(type_info)
    if columns is None or any(name not in columns for name in key_names):
        return None
    parts = [f"`{name}` {columns[name]}" for name in key_names]
    parts += ["window_start timestamp", "window_end timestamp"]
    for name, aggregate in aggregates.items():
        parts.append(f"`{name}` {_result_type(name, aggregate, columns)}")
    return ", ".join(parts)


def _result_type(name: str, aggregate: Aggregate, columns: Mapping[str, str]) -> str:
    if isinstance(aggregate, Count) and aggregate.field is None:
        return "bigint"
    field = getattr(aggregate, "field", None)
    by = aggregate.by if isinstance(aggregate, MinBy | MaxBy) else field
    for column in (field, by):
        if column not in columns:
            raise InvalidValueError(f"agg({name}=...): there is no column {column!r}; there are {', '.join(columns)}")
    kind = columns[str(field)]
    if isinstance(aggregate, Count | CountDistinct):
        return "bigint"
    if isinstance(aggregate, Mean | Stddev):
        return "double"
    if isinstance(aggregate, CollectList):
        return f"array<{kind}>"
    if isinstance(aggregate, Sum):
        return "bigint" if kind in _WHOLE else "double" if kind == "float" else kind
    return kind
