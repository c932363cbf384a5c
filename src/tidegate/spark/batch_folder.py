"""Batches of packets as files, for a query that runs in another process than its sinks: over Spark Connect."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tidegate.errors import SnapshotError
from tidegate.spark.packing import SINK_STAGE


def sink_payloads(rows: Any) -> list[bytes]:
    """The packets for sinks among the rows that leave a query in one batch."""
    return [bytes(row.payload) for row in rows.collect() if row.stage == SINK_STAGE]


class BatchFolder:
    """Files that appear all at once, one for each batch; the same batch again replaces its file.

    The server writes a batch before Spark commits it, and the client takes the batches in order. So none is lost, and
    one that comes again after a crash is the same: whoever has taken it needs it no more.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def writer(self) -> Callable[[Any, int], None]:
        """What the query calls for each batch, on the server."""
        return partial(_write, str(self._folder))

    def waiting(self, after: int) -> Iterator[tuple[int, list[bytes]]]:
        """The batches behind `after` that are there, in order. Those up to it are removed."""
        for path in sorted(self._folder.glob("*.batch")):
            batch_id = int(path.stem)
            if batch_id <= after:
                path.unlink()
                continue
            try:
                payloads: list[bytes] = pickle.loads(path.read_bytes())
            except Exception as error:
                raise SnapshotError(
                    f"{path} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder"
                ) from error
            yield batch_id, payloads


def _write(folder: str, rows: Any, batch_id: int) -> None:
    target = Path(folder) / f"{batch_id:012d}.batch"
    hidden = target.with_suffix(".tmp")
    hidden.write_bytes(pickle.dumps(sink_payloads(rows)))
    os.replace(hidden, target)
