"""Batches of packets as files, for a query that runs in another process than its sinks: over Spark Connect."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tidegate.engine.plan import SINKS
from tidegate.storage.kept_file import KeptFile

SinkRow = tuple[int, bytes]
"""The grouping key of a row for a sink, and its payload."""

_ROW: Final = struct.Struct("<iI")


def sink_rows(rows: Any) -> list[SinkRow]:
    """The packets for sinks among the rows that leave a query in one batch."""
    return [(row.gid, bytes(row.payload)) for row in rows.collect() if row.stage == SINKS]


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

    def waiting(self, after: int) -> Iterator[tuple[int, list[SinkRow]]]:
        """The batches behind `after` that are there, in order. Those up to it are removed."""
        for path in sorted(self._folder.glob("*.batch")):
            batch_id = int(path.stem)
            if batch_id <= after:
                path.unlink()
                continue
            rows = KeptFile(path, "batch").load(lambda data: list(_decoded(data)))
            if rows is not None:
                yield batch_id, rows


def _write(folder: str, rows: Any, batch_id: int) -> None:
    KeptFile(Path(folder) / f"{batch_id:012d}.batch", "batch").write(_encoded(sink_rows(rows)))


def _encoded(rows: Sequence[SinkRow]) -> bytes:
    return b"".join(part for gid, payload in rows for part in (_ROW.pack(gid, len(payload)), payload))


def _decoded(data: bytes) -> Iterator[SinkRow]:
    position = 0
    while position < len(data):
        gid, length = _ROW.unpack_from(data, position)
        position += _ROW.size
        yield gid, data[position : position + length]
        position += length
