"""DataFrames as sources: their rows as packets."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidegate.core.columnar.columnar_operator import CHANNEL
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.engine.column_intake import ColumnIntake
from tidegate.engine.plan import PhysicalPlan, PlannedSource
from tidegate.engine.record_columns import SEQUENCE
from tidegate.engine.row_intake import RowIntake
from tidegate.spark.sources.records import PacketMaker, column_intake
from tidegate.spark.wire.packets import ROW_SCHEMA


def dataframe_packets(plan: PhysicalPlan, node: PlannedSource, group_keys: Sequence[int]) -> DataFrame:
    """The rows of a DataFrame source as packets."""
    source = node.source
    assert isinstance(source, DataFrameSource)
    columns = column_intake(plan, node, has_sequence=False)
    if columns is not None:
        return _read_as_columns(plan, node, source, columns, group_keys)
    frame: DataFrame = source.dataframe
    tagged = frame.select("*", _channel(source).alias(CHANNEL), _sequence(source).alias(SEQUENCE))
    has_sequence = source.sequence is not None
    place_columns = [*source.channel, *([source.sequence] if source.sequence is not None else [])]
    reader = RowIntake(plan, node, has_sequence=has_sequence, place_columns=place_columns)
    return tagged.mapInArrow(PacketMaker(reader, group_keys), ROW_SCHEMA)


def _read_as_columns(
    plan: PhysicalPlan, node: PlannedSource, source: DataFrameSource, reader: ColumnIntake, group_keys: Sequence[int]
) -> DataFrame:
    """Only the columns that the tasks need."""
    frame: DataFrame = source.dataframe
    columns = [F.col(f"`{name}`") for name in reader.needed(frame.columns)]
    # A single column travels as it is: names are made of its values where there are few of them.
    channel = F.col(f"`{source.channel[0]}`") if len(source.channel) == 1 else _channel(source)
    columns.append(channel.alias(CHANNEL))
    if reader.needs_records and source.sequence is not None:
        columns.append(_sequence(source).alias(SEQUENCE))
        reader = ColumnIntake(plan, node, has_sequence=True)
    return frame.select(*columns).mapInArrow(PacketMaker(reader, group_keys), ROW_SCHEMA)


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
