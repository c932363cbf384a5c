"""A Spark DataFrame as a source. The core only carries it; the Spark runtime knows what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tidegate.core.source.column_source import ColumnSource, MakeElement
from tidegate.errors import InvalidTypeError, InvalidValueError

_KAFKA_COLUMNS = ("topic", "partition", "offset")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_SEQUENCE_TYPES = (*_INTEGERS, "timestamp", "timestamp_ntz", "date")


class DataFrameSource(ColumnSource):
    """A streaming DataFrame: its columns are the fields of the elements.

    `channel` names the columns that say which partition a row came from; without it all rows are one channel, with one
    watermark. `sequence` names the column with a row's order in its channel, of integers or times; without it rows come
    in the order in which Spark reads them. Neither may be null: such a row would have no place. Kafka's columns are
    found by themselves. `channels` are those that are expected, because Spark hides silent ones. `schema` has the
    columns in Arrow's words, None if it has none for some of them; `make_rows` makes the elements.
    """

    def __init__(
        self,
        dataframe: Any,
        channel: str | Sequence[str] | None = None,
        sequence: str | None = None,
        channels: Sequence[Any] | None = None,
        *,
        ordered_across_channels: bool = False,
        bounded: bool = False,
        schema: pa.Schema | None = None,
        make_rows: Callable[[Sequence[str]], MakeElement],
    ) -> None:
        columns = getattr(dataframe, "columns", None)
        if columns is None:
            raise InvalidTypeError(f"from_dataframe: expected a streaming DataFrame, got {dataframe!r}")
        if not getattr(dataframe, "isStreaming", True):
            raise InvalidValueError(
                "from_dataframe: the DataFrame is not streaming; make it with spark.readStream, or use from_collection"
            )
        if channel is None and sequence is None and all(name in columns for name in _KAFKA_COLUMNS):
            channel, sequence = ["topic", "partition"], "offset"
        self.dataframe = dataframe
        self.channel = [channel] if isinstance(channel, str) else list(channel or ())
        self.sequence = sequence
        self.ordered_across_channels = ordered_across_channels
        self.schema = schema
        self._make_rows = make_rows
        self.is_bounded = bounded
        for name in (*self.channel, *([sequence] if sequence else [])):
            if name not in columns:
                raise InvalidValueError(
                    f"from_dataframe: there is no column {name!r}; the DataFrame has {', '.join(columns)}"
                )
        twice = sorted({name for name in columns if list(columns).count(name) > 1})
        if twice:
            raise InvalidValueError(
                f"from_dataframe: the DataFrame has several columns {twice[0]!r}; give each a name of its own"
            )
        self.sequence_type = dict(getattr(dataframe, "dtypes", ())).get(sequence, "bigint")
        if self.sequence_type not in _SEQUENCE_TYPES:
            raise InvalidValueError(
                f"from_dataframe: the column {sequence!r} is of type {self.sequence_type}, which gives no order; "
                "sequence takes a column of integers, timestamps or dates"
            )
        if channels and not self.channel:
            raise InvalidValueError(
                "from_dataframe: channels=... names those that are expected; say with channel=... which column holds "
                "their names"
            )
        if ordered_across_channels and sequence is None:
            raise InvalidValueError("from_dataframe: ordered_across_channels=True needs sequence=...")
        self._expected = tuple(self.channel_name(item) for item in channels or ())
        if not self.channel and not self._expected:
            self._expected = ("",)

    @staticmethod
    def channel_name(values: Any) -> str:
        """The name of a channel, from the values of its columns."""
        return "/".join(map(str, values)) if isinstance(values, list | tuple) else str(values)

    def channels(self) -> Sequence[str]:
        return self._expected

    def make_elements(self, names: Sequence[str]) -> MakeElement:
        return self._make_rows(names)

    def read(self, channel: str) -> Iterator[Any]:
        raise InvalidTypeError("from_dataframe: a DataFrame is read by Spark; use runtime='spark'")

    def __getstate__(self) -> dict[str, Any]:
        # The DataFrame belongs to the driver: workers get the rest.
        return {**vars(self), "dataframe": None}
