"""DataFrames as sources: their rows as packets."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.graph.nodes import SourceNode
from tidegate.spark.columns import SEQUENCE
from tidegate.spark.entry import Entry
from tidegate.spark.entry_reader import EntryReader
from tidegate.spark.processor import ROW_SCHEMA
from tidegate.spark.routing import source_edge
from tidegate.spark.row_packer import RowPacker
from tidegate.spark.stage_options import StageOptions


def source_rows(node: SourceNode, options: StageOptions, group_keys: tuple[int, ...]) -> DataFrame:
    """The rows of a DataFrame source, packed for the subtasks that hold its channels."""
    source: DataFrameSource = node.source
    frame: DataFrame = source.dataframe
    tagged = frame.select("*", _channel(source).alias(CHANNEL), _sequence(source).alias(SEQUENCE))
    packer = RowPacker(
        source_edge(options.plan.graph.uid(node)),
        group_keys,
        is_common_order=source.ordered_across_channels,
        has_sequence=source.sequence is not None,
        place_columns=[*source.channel, *([source.sequence] if source.sequence is not None else [])],
        needs_clock=options.needs_clock,
    )
    return tagged.mapInArrow(packer, ROW_SCHEMA)


def entry_rows(entry: Entry, options: StageOptions, group_keys: tuple[int, ...]) -> DataFrame:
    """The rows of a DataFrame that is read straight into windows: only the columns that they need, packed."""
    source: DataFrameSource = entry.source.source
    frame: DataFrame = source.dataframe
    columns = [F.col(f"`{name}`") for name in entry.needed(frame.columns)]
    # A single column travels as it is: names are made of its values where there are few of them.
    channel = F.col(f"`{source.channel[0]}`") if len(source.channel) == 1 else _channel(source)
    columns.append(channel.alias(CHANNEL))
    has_sequence = entry.needs_records and source.sequence is not None
    if has_sequence:
        columns.append(_sequence(source).alias(SEQUENCE))
    reader = EntryReader(entry, options, group_keys, has_sequence=has_sequence)
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
