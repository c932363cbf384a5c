"""The Spark session and its settings."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from tidegate.errors import InvalidValueError
from tidegate.spark.query.noise import quiet_children

_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_FORMAT: Final = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_STATE_PACKAGE: Final = "org.apache.spark.sql.execution.streaming.state"

STATE_SETTINGS: Final = {
    _PROVIDER: f"{_STATE_PACKAGE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # Every version of state has a name of its own, which the commit knows. Without it a thread of Spark's that uploads
    # the state of a query that has just ended may mix it into what another history begins with in the same folder.
    _FORMAT: "2",
}
"""Settings of any query of ours, which Spark takes from the session when the query starts."""

OWN_SETTINGS: Final = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Settings of a query in which nothing is computed but by us."""

_BATCH_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_DEFAULT_BATCH_BYTES: Final = "67108864b"
_NO_LIMIT: Final = str(2**31 - 1)
"""With any other limit Spark adds up the size of all columns after each row, which takes most of the hand-over's time.
The limit of rows stays."""

_APPLYING: Final = threading.RLock()
"""Two threads that start queries would each take the settings of the other for the user's."""


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
    if hasattr(socket, "AF_UNIX"):
        # Each of the many short messages between Spark and its Python workers comes sooner.
        builder = builder.config("spark.python.unix.domain.socket.enabled", "true")
    for name, value in json.loads(os.environ.get("TIDEGATE_CONF", "{}")).items():
        builder = builder.config(name, value)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with quiet_children():
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def is_remote(session: SparkSession) -> bool:
    """Whether the session is a client of Spark Connect: its server runs elsewhere and cannot call into this process."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def query_settings(session: SparkSession, parallelism: int, *, has_frames: bool) -> dict[str, str]:
    """What a query of ours needs of its session when it starts. What it cannot work with is refused.

    `has_frames` is whether rows of DataFrames are handed over to Python.
    """
    provider = session.conf.get(_PROVIDER, "") or ""
    if provider and not provider.startswith(_STATE_PACKAGE) and "RocksDB" not in provider:
        raise InvalidValueError(
            f"{_PROVIDER}={provider} is not supported: stages keep their state in RocksDB; unset it"
        )
    if session.conf.get("spark.sql.streaming.unsupportedOperationCheck", "true") == "false":
        raise InvalidValueError(
            "spark.sql.streaming.unsupportedOperationCheck=false is not supported: Spark would run queries whose "
            "state cannot be trusted; unset it"
        )
    settings = STATE_SETTINGS | {"spark.sql.shuffle.partitions": str(parallelism)}
    if "RocksDB" in provider:
        settings[_PROVIDER] = provider
        if not provider.startswith(_STATE_PACKAGE):
            # What formats that of a vendor knows is the vendor's affair.
            del settings[_FORMAT]
    if has_frames and session.conf.get(_BATCH_BYTES, _DEFAULT_BATCH_BYTES) == _DEFAULT_BATCH_BYTES:
        settings[_BATCH_BYTES] = _NO_LIMIT
    return settings


@contextlib.contextmanager
def applied(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, for what is made in here; those of the user are put back behind it.

    A query keeps the settings that it started with.
    """
    with _APPLYING:
        before = {name: session.conf.get(name, None) for name in settings}
        try:
            for name, value in settings.items():
                session.conf.set(name, value)
            yield
        finally:
            for name, saved in before.items():
                if saved is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, saved)
