"""Results as a streaming DataFrame, for any Spark sink.

They leave the query flat, the columns of several streams side by side, and Spark puts them together: plain columns
come out of the last stage as they are, others take a further step through Python.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    FractionalType,
    IntegralType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from tidegate.core.function.fields import get_field
from tidegate.engine.messages import Element, Message, Results
from tidegate.engine.order import place_of
from tidegate.engine.plan import SINKS, PhysicalPlan
from tidegate.engine.result_table import ResultTable
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.spark.wire.packets import unpack
from tidegate.spark.worker import prepare_worker

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIME: Final = pa.timestamp("us", "UTC")
_STREAM: Final = "stream"
_PLAIN: Final = (BinaryType, BooleanType, DateType, FractionalType, IntegralType, StringType, TimestampType)
_MAX_ROWS: Final = 100_000
"""Rows that leave at once."""


class ResultColumns:
    """The streams that leave: the elements of one are its columns, of several a struct column for each."""

    def __init__(self, session: SparkSession, plan: PhysicalPlan, tables: list[ResultTable]) -> None:
        self._sinks = {edge.number: edge.target for edge in plan.edges}
        self._names = {table.number: table.name for table in tables}
        self._structs: dict[int, StructType] = {
            table.number: session.createDataFrame([], table.columns).schema for table in tables
        }
        self.schema = StructType()
        self._is_one = len(tables) == 1
        if not self._is_one:
            self.schema = self.schema.add(_STREAM, StringType())
        for number, struct in self._structs.items():
            for position, field in enumerate(struct):
                self.schema = self.schema.add(_flat(number, position), _carrier(field.dataType))

    @property
    def are_plain(self) -> bool:
        """Whether every column can leave a stateful stage as it is."""
        return all(isinstance(field.dataType, _PLAIN) for struct in self._structs.values() for field in struct)

    def frames(self, messages: Iterable[Message]) -> Iterator[pd.DataFrame]:
        """Results as a stateful stage gives them to Spark."""
        for batch in self._batches(messages):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            yield pd.DataFrame({name: pd.arrays.ArrowExtensionArray(column) for name, column in columns}, copy=False)

    def unpack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Results from packets."""
        prepare_worker()
        for batch in batches:
            for stage, payload in zip(
                batch.column("stage").to_pylist(), batch.column("payload").to_pylist(), strict=True
            ):
                if stage == SINKS:
                    yield from self._batches(unpack(payload))

    def put_together(self, rows: DataFrame) -> DataFrame:
        """The columns that were promised, from the flat ones."""
        if self._is_one:
            ((number, struct),) = self._structs.items()
            return rows.select(self._columns(number, struct))
        streams = [
            F.when(F.col(_STREAM) == self._names[number], F.struct(*self._columns(number, struct)))
            .otherwise(F.lit(None))
            .alias(self._names[number])
            for number, struct in self._structs.items()
        ]
        return rows.select(F.col(_STREAM), *streams)

    def _columns(self, number: int, struct: StructType) -> list[Column]:
        columns = []
        for position, field in enumerate(struct):
            column = F.col(_flat(number, position))
            is_time = isinstance(field.dataType, TimestampType)
            columns.append((F.timestamp_micros(column) if is_time else column).alias(field.name))
        return columns

    def _batches(self, messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
        tables: list[pa.Table] = []
        rows: dict[int, list[list[Any]]] = {}
        results = [message for message in messages if isinstance(message, Element | Results)]
        for message in sorted(results, key=place_of):
            assert isinstance(message.port, int)
            number = self._sinks[message.port]
            if isinstance(message, Results):
                tables.append(self._flat_table(number, message.table.columns))
            else:
                rows.setdefault(number, []).append(_cells(message.value, self._structs[number]))
        for number, elements in rows.items():
            kinds = to_arrow_schema(self._structs[number], timezone="UTC").types
            cells = zip(zip(*elements, strict=True), kinds, strict=True)
            tables.append(self._flat_table(number, [pa.array(column, kind) for column, kind in cells]))
        if tables:
            # Windows may be many and small: each batch has its price.
            yield from pa.concat_tables(tables).combine_chunks().to_batches(max_chunksize=_MAX_ROWS)

    def _flat_table(self, number: int, columns: list[Any]) -> pa.Table:
        """Columns of one stream, with nulls for those of the others."""
        schema = to_arrow_schema(self.schema, timezone="UTC")
        count = len(columns[0])
        found: dict[str, Any] = {_STREAM: pa.repeat(self._names[number], count)}
        for position, field in enumerate(self._structs[number]):
            name = _flat(number, position)
            is_time = isinstance(field.dataType, TimestampType)
            found[name] = _micros(columns[position]) if is_time else columns[position].cast(schema.field(name).type)
        arrays = [found[field.name] if field.name in found else pa.nulls(count, field.type) for field in schema]
        return pa.table(arrays, schema=schema)


def _flat(number: int, position: int) -> str:
    return f"c{number}_{position}"


def _carrier(kind: DataType) -> DataType:
    """The type of a flat column: times are numbers, which no time zone touches on the way."""
    return LongType() if isinstance(kind, TimestampType) else kind


def _micros(column: Any) -> Any:
    """Times as microseconds; those that are numbers are milliseconds."""
    if pa.types.is_integer(column.type):
        column = column.cast(pa.timestamp("ms"))
    return column.cast(_TIME).cast(pa.int64())


def _cells(value: Any, struct: StructType) -> list[Any]:
    """An element as the cells of a row: by name where it has names, else by position."""
    cells = []
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
        cells.append(cell)
    return cells
