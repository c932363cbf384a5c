"""The input and the output of Flink's jobs as tables, and the settings of its cluster in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

PARALLELISM = 2


def create_environments(folder: Path, **settings: str) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """An environment with checkpoints in a folder, and the one for tables on top."""
    configuration = Configuration()
    common = {
        "parallelism.default": str(PARALLELISM),
        "pipeline.object-reuse": "true",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": folder.absolute().as_uri(),
        "state.backend.type": "hashmap",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "taskmanager.memory.network.min": "128 mb",
        "table.local-time-zone": "UTC",
    }
    for name, value in (common | settings).items():
        configuration.set_string(name, value)
    os.environ.setdefault("JVM_ARGS", "-Xmx6g")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    return environment, StreamTableEnvironment.create(environment)


def create_input(tables: StreamTableEnvironment, path: str, out_of_orderness: int) -> None:
    """The table `orders`: a file for each partition, watermarks in Java behind each reader."""
    tables.execute_sql(
        f"""
        CREATE TABLE orders (
            `partition` INT, `offset` BIGINT, `user` STRING, millis BIGINT, amount BIGINT,
            ts AS TO_TIMESTAMP_LTZ(millis, 3),
            WATERMARK FOR ts AS ts - INTERVAL '{out_of_orderness / 1000:.3f}' SECOND(3)
        ) WITH ('connector' = 'filesystem', 'path' = '{Path(path).absolute().as_uri()}', 'format' = 'csv')
        """
    )
