"""DataFrames in and out: rows become items of a source, results become rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from tidegate.core.dataframe_source import DataFrameSource
from tidegate.core.hashing import stable_hash
from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import SourceNode
from tidegate.spark.columns import CHANNEL, SEQUENCE
from tidegate.spark.entry import Entry
from tidegate.spark.packing import Item, packed_rows, tick_item
from tidegate.spark.processor import ROW_SCHEMA
from tidegate.spark.routing import source_edge
from tidegate.spark.stage_options import ENTRY_STAGE, StageOptions
from tidegate.spark.summaries import EntryReader


def source_rows(node: SourceNode, options: StageOptions, group_keys: tuple[int, ...]) -> DataFrame:
    """The rows of a DataFrame source, packed for the subtasks that hold its channels."""
    edge = source_edge(options.plan.graph.uid(node))
    source: DataFrameSource = node.source
    frame: DataFrame = source.dataframe
    tagged = frame.select("*", _channel(source).alias(CHANNEL), _sequence(source).alias(SEQUENCE))
    return tagged.mapInArrow(pack_rows(edge, source, group_keys, needs_clock=options.needs_clock), ROW_SCHEMA)


def entry_rows(entry: Entry, options: StageOptions, group_keys: tuple[int, ...]) -> DataFrame:
    """The rows of a DataFrame that is read straight into windows: only the columns that they need, packed."""
    source: DataFrameSource = entry.source.source
    frame: DataFrame = source.dataframe
    needs_records = any(window.spec.needs_records for window in entry.windows)
    has_late_output = any(window.spec.window.late_output is not None for window in entry.windows)
    needed = {entry.time_column, *(n for w in entry.windows for n in (*w.spec.key_names, *w.spec.partials.fields))}
    columns = [F.col(f"`{name}`") for name in frame.columns if has_late_output or name in needed]
    # A single column travels as it is: names are made of its values where there are few of them.
    channel = F.col(f"`{source.channel[0]}`") if len(source.channel) == 1 else _channel(source)
    columns.append(channel.alias(CHANNEL))
    has_sequence = needs_records and source.sequence is not None
    if has_sequence:
        columns.append(_sequence(source).alias(SEQUENCE))
    reader = EntryReader(
        entry,
        options.plan.graph.uid(entry.source),
        ENTRY_STAGE,
        group_keys,
        has_sequence=has_sequence,
        needs_clock=options.needs_clock,
    )
    return frame.select(*columns).mapInArrow(reader, ROW_SCHEMA)


def _channel(source: DataFrameSource) -> Column:
    """The name of a row's channel, null if any of its columns is."""
    names = [F.col(f"`{name}`").cast("string") for name in source.channel]
    parts = [part for name in names for part in (F.lit("/"), name)]
    return F.concat(*parts[1:]) if parts else F.lit("")


def _sequence(source: DataFrameSource) -> Column:
    if source.sequence is None:
        return F.lit(None).cast("long")
    column = F.col(f"`{source.sequence}`")
    if source.sequence_type == "date":
        return F.unix_date(column).cast("long")
    # A timestamp as a long would be in whole seconds, and rows of the same second without an order.
    is_time = source.sequence_type.startswith("timestamp")
    return F.unix_micros(column.cast("timestamp")) if is_time else column.cast("long")


def pack_rows(
    edge: str, source: DataFrameSource, group_keys: tuple[int, ...], *, needs_clock: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    is_common_order = source.ordered_across_channels
    has_sequence = source.sequence is not None

    def pack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        position = 0
        for batch in batches:
            channels = batch.column(CHANNEL).to_pylist()
            sequences = batch.column(SEQUENCE).to_pylist()
            names = [name for name in batch.schema.names if name not in (CHANNEL, SEQUENCE)]
            make_row = Row(*names)
            columns = [batch.column(name).to_pylist() for name in names]
            items: dict[int, list[Item]] = defaultdict(list)
            if needs_clock and position == 0:
                items = defaultdict(list, {subtask: [tick_item()] for subtask in range(len(group_keys))})
            for channel, sequence, *values in zip(channels, sequences, *columns, strict=True):
                position += 1
                if channel is None or (has_sequence and sequence is None):
                    raise _no_place(source, make_row(*values))
                number = sequence if has_sequence else position
                order = (number, "") if is_common_order else (number, channel)
                subtask = stable_hash(channel) % len(group_keys)
                items[subtask].append(Item(order, edge, channel, None, make_row(*values)))
            if items:
                yield packed_rows(0, {group_keys[subtask]: share for subtask, share in items.items()})

    return pack_batches


def _no_place(source: DataFrameSource, row: Row) -> InvalidValueError:
    columns = [*source.channel, *([source.sequence] if source.sequence is not None else [])]
    empty = [name for name in columns if row[name] is None]
    return InvalidValueError(
        f"from_dataframe: column {', '.join(map(repr, empty))} is null in {row}; the channel and the sequence say "
        "where a row belongs, so fill them, or filter such rows out, before from_dataframe"
    )
