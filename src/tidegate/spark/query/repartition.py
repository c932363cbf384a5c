"""Spark's own way to another number of state partitions: the one private call, for a query that is stopped.

Spark has no public name for it yet. It is there in classic sessions only.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from tidegate.errors import SnapshotError, UnsupportedError
from tidegate.spark.batch_log import OFFSETS, last_batch
from tidegate.spark.query.session import is_remote

_PARTITIONS = "spark.sql.shuffle.partitions"


def repartition(session: SparkSession, query: Path, partitions: int) -> None:
    """Let the state of a query have so many partitions. Spark writes one more batch for it, which is empty."""
    check_session(session)
    session._streamingCheckpointManager.repartition(str(query), partitions)


def check_session(session: SparkSession) -> None:
    """Refuse a session that cannot do it."""
    if is_remote(session) or not hasattr(session, "_streamingCheckpointManager"):
        raise UnsupportedError(
            "rescale needs a classic session of Spark 4.2 or later, for Spark repartitions state nowhere else; run the "
            "command where Spark is installed, without Spark Connect"
        )


def num_partitions(query: Path) -> int:
    """The number of state partitions of the last batch, by the log of offsets."""
    path = query / OFFSETS / str(last_batch(query, OFFSETS))
    lines = path.read_text().splitlines()
    for line in lines:
        try:
            settings = json.loads(line)["conf"]
        except (ValueError, KeyError, TypeError):
            continue
        return int(settings[_PARTITIONS])
    raise SnapshotError(f"{path} does not say how many partitions there are; restore it")
