"""Results as a streaming DataFrame, for any Spark sink."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, TimestampType

from tidegate.core.fields import get_field
from tidegate.core.pane_log import decode_table
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.spark.archives import forget_archives
from tidegate.spark.packing import METRICS_EDGE, SINK_STAGE, Columns, Item, unpack
from tidegate.spark.routing import parse_edge

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Table:
    """A stream that leaves as columns: its name, the number of its end in the graph, and its columns as DDL."""

    name: str
    number: int
    columns: str


def result_frame(rows: DataFrame, tables: list[Table]) -> DataFrame:
    """The elements of one stream as columns; of several as a column `stream` and a struct column for each."""
    if len(tables) == 1:
        schema = _struct(rows, tables[0].columns)
        return rows.mapInArrow(_unpacker({tables[0].number: (None, schema)}, schema), schema)
    structs = {table.name: _struct(rows, table.columns) for table in tables}
    combined = StructType().add("stream", "string")
    for name, struct in structs.items():
        combined = combined.add(name, struct)
    targets = {table.number: (table.name, structs[table.name]) for table in tables}
    return rows.mapInArrow(_unpacker(targets, combined), combined)


def _struct(rows: DataFrame, columns: str) -> StructType:
    """The schema of a DDL text, as Spark reads it."""
    schema: StructType = rows.sparkSession.createDataFrame([], columns).schema
    return schema


Targets = Mapping[int, tuple[str | None, StructType]]


def _unpacker(targets: Targets, schema: StructType) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    arrow_schema = to_arrow_schema(schema, timezone="UTC")

    def unpack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget_archives()
        for batch in batches:
            found: list[dict[str, Any]] = []
            for stage, payload in zip(
                batch.column("stage").to_pylist(), batch.column("payload").to_pylist(), strict=True
            ):
                if stage != SINK_STAGE:
                    continue
                items = unpack(payload)
                found += _rows(items, targets)
                for item in items:
                    if isinstance(item.progress, Columns):
                        yield from _batches(item, targets, arrow_schema)
            if found:
                yield pa.RecordBatch.from_pylist(found, schema=arrow_schema)

    return unpack_batches


def _batches(item: Item, targets: Targets, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Results that travelled as columns."""
    name, struct = targets[parse_edge(item.edge)[0]]
    table = decode_table(item.value)
    kinds = to_arrow_schema(struct, timezone="UTC")
    columns = [_cast(table.column(index), kinds.field(index).type) for index in range(len(kinds))]
    if name is None:
        yield from pa.table(columns, schema=schema).to_batches()
        return
    whole = pa.table(columns, schema=kinds).to_struct_array().combine_chunks()
    count = len(table)
    parts = {"stream": pa.array([name] * count), name: whole}
    arrays = [
        parts[field.name].cast(field.type) if field.name in parts else pa.nulls(count, field.type) for field in schema
    ]
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column as the declared type; times are in milliseconds."""
    if pa.types.is_timestamp(kind) and pa.types.is_int64(column.type):
        return column.cast(pa.timestamp("ms", kind.tz)).cast(kind)
    return column.cast(kind)


def _rows(items: list[Item], targets: Targets) -> Iterator[dict[str, Any]]:
    for item in sorted(items, key=lambda item: item.order):
        if item.progress is not None or item.edge == METRICS_EDGE:
            continue
        name, struct = targets[parse_edge(item.edge)[0]]
        columns = as_columns(item.value, struct)
        yield columns if name is None else {"stream": name, name: columns}


def as_columns(value: Any, struct: StructType) -> dict[str, Any]:
    """An element as a dict of columns: by name where it has names, else by position."""
    columns: dict[str, Any] = {}
    for position, field in enumerate(struct.fields):
        try:
            cell = get_field(value, field.name)
        except InvalidValueError:
            try:
                cell = get_field(value, position)
            except InvalidValueError:
                raise InvalidTypeError(
                    f"to_dataframe: the element {value!r} has no field {field.name!r}; "
                    "declare the columns that the function really returns"
                ) from None
        if isinstance(field.dataType, TimestampType) and isinstance(cell, int):
            cell = _EPOCH + datetime.timedelta(milliseconds=cell)
        columns[field.name] = cell
    return columns
