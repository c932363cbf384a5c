"""Sources whose workers read columns: files and topics."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tidegate.core.source.source import Source

RECORD_TIME: Final = "__record_time"
"""The column with the timestamp that a record has by itself, in milliseconds."""


class ColumnSource(Source):
    """A source that Spark's workers read as columns, straight into what the program does. Records have a place."""

    ordered_across_channels = False

    schema: pa.Schema | None
    """The columns that are the fields of elements; None if elements are no rows."""
