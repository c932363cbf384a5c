"""The Spark session and its settings."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

from pyspark.sql import SparkSession

from tidegate.errors import InvalidValueError

SETTINGS: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
"""Session settings that the runtime needs, set when a query starts."""


def get_session(spark: Any, parallelism: int) -> SparkSession:
    """The user's session, or a quiet local one."""
    if spark is not None:
        return spark  # type: ignore[no-any-return]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName("tidegate")
        .master(f"local[{max(parallelism, 2)}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(parallelism))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
    )
    for name, value in json.loads(os.environ.get("TIDEGATE_CONF", "{}")).items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def apply_settings(session: SparkSession, parallelism: int) -> None:
    """Set what the runtime needs; a setting of the user's that it cannot work with is refused."""
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.shuffle.partitions", str(parallelism))
    if session.conf.get("spark.sql.streaming.unsupportedOperationCheck", "true") == "false":
        raise InvalidValueError("spark.sql.streaming.unsupportedOperationCheck=false is not supported; unset it")
