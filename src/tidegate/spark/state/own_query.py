"""Whether a task is of the query that its program keeps its checkpoint for: on a worker, whoever started the query."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from pyspark import TaskContext

from tidegate.errors import InvalidValueError, SnapshotError

_QUERY_ID = "sql.streaming.queryId"
"""Where Spark says which query a task is of."""
_RUN_ID = "spark.jobGroup.id"
"""The jobs of a query are a group, which is named after its run."""


def current_query_run() -> str | None:
    """The run of the query that this task is of: a query has another each time that it is started."""
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(_RUN_ID)


def check_own_query(location: str) -> None:
    """Refuse to run in another query than that whose checkpoint is there."""
    context = TaskContext.get()
    current = None if context is None else context.getLocalProperty(_QUERY_ID)
    if current is not None and not _is_at(location, current):
        raise InvalidValueError(
            f"this query keeps its checkpoint elsewhere than in {location}, where all that it needs is kept; begin "
            "with the DataFrame of to_dataframe(), as in frame.join(other), and start the query from what comes of it"
        )


@functools.lru_cache(maxsize=16)
def _is_at(location: str, query_id: str) -> bool:
    metadata = Path(location) / "metadata"
    try:
        known = json.loads(metadata.read_text())["id"]
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError) as error:
        raise SnapshotError(f"{metadata} cannot be read: {error}; put it back, or use another folder") from None
    return bool(known == query_id)
