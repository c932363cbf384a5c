"""A query that was killed before its first batch counted: what it left is nothing, but Spark refuses to start on it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegate.spark.batch_log import COMMITS, OFFSETS, last_batch


def forget_unstarted(query: Path) -> None:
    """Remove the checkpoint of a query of which no batch was ever begun.

    Spark writes down a batch's offsets before anything else of it counts. Where it was killed while it wrote those of
    the first, a hidden file is left, and the next start fails because the folder is not empty.
    """
    if not query.is_dir() or has_begun(query):
        return
    if any(path.is_file() for path in (query / "state").rglob("*")):
        # State without offsets is damage, and not a start that never was.
        return
    shutil.rmtree(query)


def has_begun(query: Path) -> bool:
    """Whether a batch of a query was ever begun."""
    return any(last_batch(query, log) is not None for log in (OFFSETS, COMMITS))
