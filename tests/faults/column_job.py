"""A job to be killed whose windows are on columns, over files or a topic that the workers read.

Called as `column_job.py <runtime> files:<folder>|kafka:<servers>/<topic> <limit of a batch> <checkpoint> <output>`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tidegate import agg
from tidegate.common import WatermarkStrategy
from tidegate.datastream import FileSink, StreamExecutionEnvironment
from tidegate.datastream.connectors.file_system import FileSource
from tidegate.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from tidegate.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

SCHEMA = "user string, ts long, amount long"
RECORDS = 60
MINUTE = 60_000


def records_of(channel: str, minute: int) -> list[str]:
    """The records of a minute as JSON: a second apart with some disorder, of users who are silent now and then."""
    shift = 0 if channel == "a" else 3
    found = []
    for number in range(RECORDS):
        user = (number * 7 + minute + shift) % 10
        if (minute + user) % 4:
            time = minute * MINUTE + number * 1_000 - number * 7 % 3 * 2_000
            found.append(json.dumps({"user": f"u{user}", "ts": max(time, 0), "amount": number + minute}))
    return found


def source_of(place: str, limit: int) -> Any:
    kind, _, rest = place.partition(":")
    if kind == "files":
        return FileSource.json_lines(rest, SCHEMA, max_files_per_batch=limit)
    servers, _, topic = rest.partition("/")
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_json_schema(SCHEMA)
        .set_max_rows_per_batch(limit)
        .build()
    )


def main(runtime: Any, place: str, limit: int, checkpoint: str, output: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        runtime=runtime, parallelism=2, checkpoint=checkpoint if runtime == "spark" else None
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("10 seconds").with_timestamp_column("ts")
    users = env.from_source(source_of(place, limit), strategy, "records").key_by("user")
    for name, assigner in (
        ("windows", TumblingEventTimeWindows.of("2 minutes")),
        ("sessions", EventTimeSessionWindows.with_gap("30 seconds")),
    ):
        (
            users.window(assigner)
            .agg(records=agg.count(), total=agg.sum("amount"), biggest=agg.max("amount"))
            .map(list)
            .sink_to(FileSink(f"{output}/{name}", "json"))
        )
    env.execute("to be killed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
