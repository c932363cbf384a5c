"""Columns in Arrow's words and in Spark's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType


def struct_of(schema: pa.Schema) -> StructType:
    """Columns of Arrow's as Spark has them."""
    struct: StructType = from_arrow_schema(schema)
    return struct


def arrow_schema_of(frame: DataFrame) -> pa.Schema | None:
    """The columns of a DataFrame as Arrow has them, None if it does not carry some of them."""
    try:
        return to_arrow_schema(frame.schema, timezone="UTC")
    except Exception:
        # The source is then read row by row, which says so.
        return None
