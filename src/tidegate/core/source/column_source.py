"""Sources whose records are columns: DataFrames, files and topics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from tidegate.core.source.source import Source

RECORD_TIME: Final = "__record_time"
"""The column with the timestamp that a record has by itself, in milliseconds."""

MakeElement = Callable[..., Any]
"""Makes an element of the values of a record, in the order of its columns; None for one that is left out."""


class ColumnSource(Source):
    """A source that workers read as columns, straight into what the program does. Records have a place there."""

    ordered_across_channels = False

    schema: pa.Schema | None
    """The columns that are the fields of elements; None if elements are no rows, or have columns Arrow has not."""

    @abstractmethod
    def make_elements(self, names: Sequence[str]) -> MakeElement:
        """What makes an element of a record with these columns."""
