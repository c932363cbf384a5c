"""From the plan to one streaming DataFrame: a line of stateful stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.engine.plan import PhysicalPlan, PlannedSource, Reading
from tidegate.errors import UnsupportedError
from tidegate.ingest.column_files import ColumnFiles
from tidegate.ingest.kafka_topics import KafkaTopics
from tidegate.spark.query.layout import SPOOL
from tidegate.spark.sources.dataframes import dataframe_packets
from tidegate.spark.sources.file_stream import file_reader
from tidegate.spark.sources.kafka_stream import kafka_reader
from tidegate.spark.sources.packet_stream import stream_of
from tidegate.spark.sources.spool_stream import SpoolStreamReader, subtasks_of
from tidegate.spark.state.processor import LastStageProcessor, StageProcessor
from tidegate.spark.state.residents import RunOfJob
from tidegate.spark.wire.packets import ROW_SCHEMA
from tidegate.spark.wire.result_columns import ResultColumns
from tidegate.storage.ownership import Guard


def compile_plan(
    session: SparkSession,
    plan: PhysicalPlan,
    run: RunOfJob,
    group_keys: Sequence[int],
    folder: Path | None,
    results: ResultColumns | None = None,
    guard: Guard | None = None,
) -> DataFrame:
    """What leaves the query: packets for sinks, or results as their columns.

    `folder` is the checkpoint; without it only DataFrames can be read.
    """
    num_rescales = 0 if run.rescaled is None else run.rescaled.number
    packets = _source_packets(session, plan, group_keys, folder, guard, num_rescales)
    last = plan.num_stages - 1
    for stage in range(last + 1):
        grouped = packets.withColumn("now", F.unix_millis(F.current_timestamp())).groupBy("gid")
        if stage == last and results is not None and results.are_plain:
            processor = LastStageProcessor(run, stage, group_keys, results)
            rows = grouped.transformWithStateInPandas(processor, results.schema, "Append", "None")
            return results.put_together(rows)
        packets = grouped.transformWithState(StageProcessor(run, stage, group_keys), ROW_SCHEMA, "Append", "None")
    if results is None:
        return packets
    return results.put_together(packets.mapInArrow(results.unpack, results.schema))


def _source_packets(
    session: SparkSession,
    plan: PhysicalPlan,
    group_keys: Sequence[int],
    folder: Path | None,
    guard: Guard | None,
    num_rescales: int,
) -> DataFrame:
    """Packets for the first stage: what the driver feeds, and what sources read."""
    spool = None if folder is None else str(folder / SPOOL)
    reader = SpoolStreamReader(spool, len(group_keys), subtasks_of(plan), num_rescales)
    packets = stream_of(session, reader, guard)
    for node in plan.sources:
        read = _read(session, plan, node, group_keys, folder, guard)
        if read is not None:
            packets = packets.unionByName(read)
    return packets


def _read(
    session: SparkSession,
    plan: PhysicalPlan,
    node: PlannedSource,
    group_keys: Sequence[int],
    folder: Path | None,
    guard: Guard | None,
) -> DataFrame | None:
    """What workers read of a source, None if the driver reads it."""
    if node.reading is Reading.BY_DRIVER:
        return None
    match node.source:
        case ColumnFiles() if folder is not None:
            return stream_of(session, file_reader(plan, node, group_keys, folder), guard)
        case KafkaTopics() if folder is not None:
            return stream_of(session, kafka_reader(plan, node, group_keys, folder), guard)
        case DataFrameSource():
            return dataframe_packets(plan, node, group_keys)
        case source:
            raise UnsupportedError(f"{node.name}: workers cannot read a {type(source).__name__}")
