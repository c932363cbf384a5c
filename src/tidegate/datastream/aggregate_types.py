"""What is known of columns before a program runs: those that are read, and those that `agg(...)` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tidegate.common.typeinfo import SparkType, as_type
from tidegate.core.aggregate.aggregate import Aggregate
from tidegate.core.aggregate.totals import Mean, Stddev, Sum
from tidegate.core.function.fields import Field, FieldKey
from tidegate.core.watermark.timestamps import ColumnTimestampAssigner
from tidegate.errors import InvalidValueError


def columns_of(type_info: Any) -> dict[Field, str] | None:
    """The columns of a stream and their types in Spark's words, None if they are not known."""
    fields = getattr(type_info.data_type, "fields", None) if isinstance(type_info, SparkType) else None
    return None if fields is None else {field.name: field.dataType.simpleString() for field in fields}


_NO_NUMBERS: Final = ("string", "boolean", "binary", "array", "map", "struct")


def check_timestamp_column(assigner: Any, type_info: Any) -> None:
    """Refuse a column of timestamps that is not there, or can hold none."""
    columns = columns_of(type_info)
    if not columns or not isinstance(assigner, ColumnTimestampAssigner):
        return
    if assigner.column not in columns:
        known = ", ".join(map(str, columns))
        raise InvalidValueError(f"with_timestamp_column: there is no column {assigner.column!r}; there are {known}")
    kind = columns[assigner.column]
    if kind.startswith(_NO_NUMBERS):
        raise InvalidValueError(
            f"with_timestamp_column: the column {assigner.column!r} is a {kind}; it must be a timestamp, or a whole "
            "number of milliseconds: cast it before"
        )


def described_key(selector: Any, key_type: Any, type_info: Any) -> str | None:
    """What the keys of a stream are, None if it is not known: what was declared, or the types of their columns."""
    columns = columns_of(type_info) or {}
    fields = selector.fields if isinstance(selector, FieldKey) else ()
    unknown = [name for name in fields if isinstance(name, str) and columns and name not in columns]
    if unknown:
        known = ", ".join(map(str, columns))
        raise InvalidValueError(f"key_by: there is no column {unknown[0]!r}; there are {known}")
    declared = as_type(key_type, "key_by")
    if declared is not None:
        return declared.describe()
    if not fields or any(name not in columns for name in fields):
        return None
    return ", ".join(columns[name] for name in fields)


def aggregate_columns(type_info: Any, key_names: Sequence[str], aggregates: Mapping[str, Aggregate]) -> str | None:
    """The columns of the result as DDL, None if those of the input are not known."""
    columns = columns_of(type_info)
    if columns is None or any(name not in columns for name in key_names):
        return None
    parts = [f"`{name}` {columns[name]}" for name in key_names]
    parts += ["window_start timestamp", "window_end timestamp"]
    for name, aggregate in aggregates.items():
        for column in aggregate.fields():
            if column not in columns:
                known = ", ".join(map(str, columns))
                raise InvalidValueError(f"agg({name}=...): there is no column {column!r}; there are {known}")
            if isinstance(aggregate, Sum | Mean | Stddev) and columns[column].startswith(_NO_NUMBERS):
                raise InvalidValueError(
                    f"agg({name}=...): {aggregate} needs numbers, and the column {column!r} is a {columns[column]}; "
                    "cast it before"
                )
        parts.append(f"`{name}` {aggregate.result_type(columns)}")
    return ", ".join(parts)
