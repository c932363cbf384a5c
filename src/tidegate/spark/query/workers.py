"""Whether the workers of a session can run Tidegate, asked before a query of somebody else needs them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import SparkSession

from tidegate.errors import UserCodeError
from tidegate.spark.query.errors import translate

_NAME = "tidegate"


def check_workers(session: SparkSession) -> None:
    """Let a worker import Tidegate; its failure is told in one sentence.

    The query of a DataFrame belongs to whoever starts it, and Spark tells its failures in its own way.
    """
    probe = partial(_answer, version(_NAME))
    try:
        session.range(1, numPartitions=1).mapInArrow(probe, "id long").collect()
    except Exception as error:
        raise translate(error) from None


def _answer(expected: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found = version(_NAME)
    if found != expected:
        raise UserCodeError(
            f"a Spark worker has Tidegate {found}, the driver has {expected}; install the same on every worker"
        )
    yield from batches
