"""Topics of Kafka as a source: each partition is a channel, and offsets are the order there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.json

from tidegate.core.source.column_source import RECORD_TIME, ColumnSource, MakeElement
from tidegate.errors import InvalidValueError, UnsupportedError
from tidegate.ingest.column_files import MakeRows
from tidegate.ingest.kafka_client import KafkaClient
from tidegate.ingest.kafka_offsets import OffsetRange, OffsetRule

OFFSET: Final = "__offset"
VALUE: Final = "value"
"""The column of what is deserialized."""

_NO_TIMESTAMP: Final = 0


class KafkaTopics(ColumnSource):
    """The records of topics from `starting` on, up to `stopping` if there is such a rule.

    With a schema the values are JSON objects, and their fields the columns. Without one an element is what
    `deserialize` makes of a value; None is left out. Records without a value (tombstones) are left out always.
    """

    has_timestamps = True

    def __init__(
        self,
        topics: Sequence[str],
        properties: Mapping[str, str],
        starting: OffsetRule,
        stopping: OffsetRule | None,
        *,
        deserialize: Callable[[bytes], Any] | None,
        schema: pa.Schema | None,
        make_rows: MakeRows,
        is_bounded: bool,
        max_rows: int | None = None,
        fails_on_loss: bool = True,
        discovery_millis: int = 10_000,
    ) -> None:
        self.topics = tuple(topics)
        self.properties = dict(properties)
        self.starting = starting
        self.stopping = stopping
        self.deserialize = deserialize
        self.schema = schema
        self.is_bounded = is_bounded
        self.max_rows = max_rows
        self.fails_on_loss = fails_on_loss
        self.discovery_millis = discovery_millis
        self._make_rows = make_rows
        self._partitions: tuple[str, ...] | None = None

    def client(self, *, is_looking: bool = False) -> KafkaClient:
        return KafkaClient(self.properties, skips_lost=not self.fails_on_loss, is_looking=is_looking)

    def channels(self) -> Sequence[str]:
        """The partitions, for the local runtime."""
        if not self.is_bounded:
            raise UnsupportedError(
                "KafkaSource: the local runtime reads topics only to an end; call set_bounded("
                "KafkaOffsetsInitializer.latest()), or use runtime='spark'"
            )
        return self.expected_channels()

    def expected_channels(self) -> Sequence[str]:
        """The partitions that were there when the job began; those that come later are found by reading."""
        if self._partitions is None:
            with self.client() as client:
                self._partitions = tuple(client.partitions(self.topics))
        return self._partitions

    def read(self, channel: str) -> Iterator[tuple[Any, int | None]]:
        """The elements of a partition with their timestamps, for the local runtime."""
        assert self.stopping is not None
        with self.client() as client:
            first = client.resolve(self.starting, [channel])[channel]
            until = min(client.resolve(self.stopping, [channel])[channel], client.latest([channel])[channel])
            for batch in self.batches(client, OffsetRange(channel, first, until)):
                yield from self._elements(batch)

    def elements(self, messages: Sequence[Any], partition: str) -> Iterator[tuple[Any, int | None]]:
        """What is made of messages, with their timestamps."""
        for batch in self._columns(messages, partition, has_times=True):
            yield from self._elements(batch)

    def batches(self, client: KafkaClient, part: OffsetRange, *, has_times: bool = True) -> Iterator[pa.RecordBatch]:
        """The records of a range as columns, with `OFFSET`, and with `RECORD_TIME` if that is wanted."""
        for messages in client.read(part):
            yield from self._columns(messages, part.partition, has_times=has_times)

    def _columns(self, messages: Sequence[Any], partition: str, *, has_times: bool) -> Iterator[pa.RecordBatch]:
        """A batch of those messages that have a value, none if none has."""
        found = [message for message in messages if message.value() is not None]
        if not found:
            return
        values = [message.value() for message in found]
        offsets = [message.offset() for message in found]
        if self.schema is None:
            batch = pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], [VALUE])
        else:
            batch = json_columns(values, offsets, self.schema, partition)
        batch = batch.append_column(OFFSET, pa.array(np.array(offsets, np.int64)))
        yield batch.append_column(RECORD_TIME, _times(found)) if has_times else batch

    def make_elements(self, names: Sequence[str]) -> MakeElement:
        return self._make_rows(names) if self.deserialize is None else self.deserialize

    def _elements(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, int | None]]:
        names = [name for name in batch.schema.names if name not in (OFFSET, RECORD_TIME)]
        make = self.make_elements(names)
        columns = [batch.column(name).to_pylist() for name in (RECORD_TIME, *names)]
        for timestamp, *values in zip(*columns, strict=True):
            element = make(*values)
            if element is not None:
                yield element, timestamp


def _times(messages: Sequence[Any]) -> pa.Array:
    """The timestamps of messages, null where there is none."""
    stamps = (message.timestamp() for message in messages)
    return pa.array([time if kind != _NO_TIMESTAMP else None for kind, time in stamps], pa.int64())


def json_columns(values: Sequence[bytes], offsets: Sequence[int], schema: pa.Schema, partition: str) -> pa.RecordBatch:
    """JSON objects as columns. A value that is no such object is named by its offset.

    >>> json_columns([b'{"n": 1}', b'{"m": 2}'], [7, 8], pa.schema([("n", pa.int64())]), "t/0").to_pylist()
    [{'n': 1}, {'n': None}]
    """
    # Arrow's parser may crash on a value such as null, so it gets objects only.
    if all(value[:1] == b"{" for value in values):
        try:
            batch = _parsed(b"\n".join(values), schema)
        except pa.ArrowInvalid:
            pass
        else:
            if batch.num_rows == len(values):
                return batch
    rows = [_row(value, offset, schema, partition) for value, offset in zip(values, offsets, strict=True)]
    return pa.Table.from_batches(rows).combine_chunks().to_batches()[0]


def _parsed(text: bytes, schema: pa.Schema) -> pa.RecordBatch:
    table = pa.json.read_json(
        pa.BufferReader(text),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    return table.select(schema.names).combine_chunks().to_batches()[0] if len(table) else _empty(schema)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)


def _row(value: bytes, offset: int, schema: pa.Schema, partition: str) -> pa.RecordBatch:
    """One value by itself, to find the one that cannot be read."""
    text = value.strip()
    why = "it is no object"
    if text[:1] == b"{":
        try:
            batch = _parsed(text, schema)
        except pa.ArrowInvalid as error:
            why = str(error)
        else:
            if batch.num_rows == 1:
                return batch
            why = "it holds several objects"
    topic, _, number = partition.rpartition("/")
    shown = value[:100].decode("utf-8", "replace")
    raise InvalidValueError(
        f"KafkaSource: topic {topic!r}, partition {number}, offset {offset} is not the JSON that was declared: {why}; "
        f"got {shown!r}. Declare other columns, or read text with set_value_only_deserializer and convert it in a map"
    )
