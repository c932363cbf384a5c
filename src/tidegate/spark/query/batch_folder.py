"""Batches of packets as files, for a query that runs in another process than its sinks: over Spark Connect."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from tidegate.engine.messages import Message
from tidegate.engine.plan import SINKS
from tidegate.spark.wire.packets import unpack
from tidegate.spark.wire.plain import decode_messages, encode_messages
from tidegate.storage.kept_file import PRIVATE, KeptFile, make_folder

SinkMessages = list[tuple[int, list[Message]]]
"""Messages for sinks, with the grouping key of the subtask that they come from."""

_ROW: Final = struct.Struct("<iI")


def sink_messages(rows: Any) -> SinkMessages:
    """The messages for sinks among the rows that leave a query in one batch."""
    return [(row.gid, unpack(bytes(row.payload))) for row in rows.collect() if row.stage == SINKS]


class BatchFolder:
    """Files that appear all at once, one for each batch; the same batch again replaces its file.

    The server writes a batch before Spark commits it, and the client takes the batches in order. So none is lost, and
    one that comes again after a crash is the same: whoever has taken it needs it no more.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_folder(folder, PRIVATE)

    def writer(self) -> Callable[[Any, int], None]:
        """What the query calls for each batch, on the server."""
        return partial(_write, str(self._folder))

    def waiting(self, after: int) -> Iterator[tuple[int, SinkMessages]]:
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
    KeptFile(Path(folder) / f"{batch_id:012d}.batch", "batch").write(_encoded(sink_messages(rows)))


def _encoded(messages: SinkMessages) -> bytes:
    parts = []
    for gid, some in messages:
        data = encode_messages(some)
        parts += [_ROW.pack(gid, len(data)), data]
    return b"".join(parts)


def _decoded(data: bytes) -> Iterator[tuple[int, list[Message]]]:
    position = 0
    while position < len(data):
        gid, length = _ROW.unpack_from(data, position)
        position += _ROW.size
        yield gid, decode_messages(data[position : position + length])
        position += length
