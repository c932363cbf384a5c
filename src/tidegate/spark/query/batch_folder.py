"""Batches of packets as files, for a query that runs in another process than its sinks: over Spark Connect."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from tidegate.core.operator.sink import BatchId
from tidegate.engine.messages import Message
from tidegate.engine.plan import SINKS
from tidegate.errors import SnapshotError
from tidegate.spark.wire.packets import unpack
from tidegate.spark.wire.plain import decode_messages, encode_messages
from tidegate.storage.kept_file import PRIVATE, KeptFile, make_folder

SinkMessages = list[tuple[int, list[Message]]]
"""Messages for sinks, with the grouping key of the subtask that they come from."""

_ROW: Final = struct.Struct("<iI")
_TOKEN_LENGTH: Final = 64


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

    def writer(self, query: Path) -> Callable[[Any, int], None]:
        """What the query, whose checkpoint that is, calls for each batch, on the server."""
        return partial(_write, str(self._folder), str(query))

    def waiting(self, after: int) -> Iterator[tuple[BatchId, SinkMessages]]:
        """The batches behind `after` that are there, in order. Those up to it are removed."""
        for path in sorted(self._folder.glob("*.batch")):
            batch_id = int(path.stem)
            if batch_id <= after:
                path.unlink()
                continue
            found = _file(path).load(_decoded)
            if found is not None:
                token, messages = found
                yield BatchId(batch_id, token), messages


def batch_token(query: Path, batch_id: int) -> str:
    """What a batch is made of: the offsets that Spark has written down for it, the same when it comes again."""
    path = query / "offsets" / str(batch_id)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise SnapshotError(
            f"{path}, which says what batch {batch_id} is made of, cannot be read: {error}; put it back, or start from "
            "a new checkpoint"
        ) from None


def _file(path: Path) -> KeptFile:
    return KeptFile(path, "batch", 2)


def _write(folder: str, query: str, rows: Any, batch_id: int) -> None:
    token = batch_token(Path(query), batch_id)
    _file(Path(folder) / f"{batch_id:012d}.batch").write(_encoded(token, sink_messages(rows)))


def _encoded(token: str, messages: SinkMessages) -> bytes:
    parts = [token.encode()]
    for gid, some in messages:
        data = encode_messages(some)
        parts += [_ROW.pack(gid, len(data)), data]
    return b"".join(parts)


def _decoded(data: bytes) -> tuple[str, SinkMessages]:
    position = _TOKEN_LENGTH
    messages: SinkMessages = []
    while position < len(data):
        gid, length = _ROW.unpack_from(data, position)
        position += _ROW.size
        messages.append((gid, decode_messages(data[position : position + length])))
        position += length
    return data[:_TOKEN_LENGTH].decode(), messages
