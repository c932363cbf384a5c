"""From the plan to one streaming DataFrame: a line of stateful stages."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.graph.nodes import SourceNode
from tidegate.ingest.column_files import ColumnFiles
from tidegate.ingest.kafka_topics import KafkaTopics
from tidegate.spark.dataframes import entry_rows, source_rows
from tidegate.spark.file_stream import file_reader
from tidegate.spark.fused_stream import fused_rows
from tidegate.spark.kafka_stream import kafka_reader
from tidegate.spark.processor import ROW_SCHEMA, StageProcessor
from tidegate.spark.spool import LINE_PATTERN, Spool
from tidegate.spark.stage_options import StageOptions
from tidegate.spark.tables import ResultColumns


def compile_plan(
    session: SparkSession,
    options: StageOptions,
    spool: Spool,
    group_keys: tuple[int, ...],
    results: ResultColumns | None = None,
) -> DataFrame:
    """What leaves the query: packets for sinks, or results as the columns that they have."""
    rows = _source_rows(session, options, spool, group_keys)
    last = options.stages[-1] if options.stages and results is not None and results.are_plain else None
    for stage in options.stages:
        leaving = results if stage is last else None
        timed = rows.withColumn("now", F.unix_millis(F.current_timestamp()))
        rows = timed.groupBy("gid").transformWithStateInPandas(
            statefulProcessor=StageProcessor(options, stage.number, group_keys, leaving),
            outputStructType=ROW_SCHEMA if leaving is None else leaving.schema,
            outputMode="Append",
            timeMode="None",
        )
    if results is None:
        return rows
    if last is None:
        rows = rows.mapInArrow(results.unpack, results.schema)
    return results.put_together(rows)


def _source_rows(session: SparkSession, options: StageOptions, spool: Spool, group_keys: tuple[int, ...]) -> DataFrame:
    """Packets for stages: what the driver feeds, and what sources read."""
    lines = session.readStream.option("cleanSource", "delete").text(str(spool.folder))
    rows = lines.select(
        F.regexp_extract("value", LINE_PATTERN, 1).cast("int").alias("stage"),
        F.regexp_extract("value", LINE_PATTERN, 2).cast("int").alias("gid"),
        F.unbase64(F.regexp_extract("value", LINE_PATTERN, 3)).alias("payload"),
    )
    entries = {entry.source.number: entry for entry in options.entries}
    for node in options.plan.graph.nodes:
        if not isinstance(node, SourceNode):
            continue
        source = node.source
        if isinstance(source, ColumnFiles):
            files = file_reader(node, entries.get(node.number), options, group_keys, spool.folder.parent)
            rows = rows.unionByName(fused_rows(session, files))
        elif isinstance(source, KafkaTopics):
            topics = kafka_reader(node, entries.get(node.number), options, group_keys, spool.folder.parent)
            rows = rows.unionByName(fused_rows(session, topics))
        elif node.number in entries:
            rows = rows.unionByName(entry_rows(entries[node.number], options, group_keys))
        elif isinstance(source, DataFrameSource):
            rows = rows.unionByName(source_rows(node, options, group_keys))
    return rows
