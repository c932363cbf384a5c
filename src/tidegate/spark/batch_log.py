"""The logs of a query, which Spark writes: a file for each batch, named by its number."""

from __future__ import annotations

from pathlib import Path
from typing import Final

OFFSETS: Final = "offsets"
"""What each batch was to read, written before it begins."""
COMMITS: Final = "commits"
"""That a batch was done."""


def last_batch(query: Path, log: str) -> int | None:
    """The last batch in a log of a query, None if there is none."""
    return max((int(path.name) for path in (query / log).glob("*") if path.name.isdigit()), default=None)
