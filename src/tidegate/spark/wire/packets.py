"""The rows between stages: packets of messages for one subtask.

A packet is a version, a kind, and what it holds: many messages, pickled; or one message with columns, whose table
follows as an Arrow stream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import cloudpickle
import pyarrow as pa

from tidegate.core.columnar.table_codec import decode_table, encode_in_parts
from tidegate.engine.messages import (
    Closing,
    Element,
    Ended,
    Joined,
    Message,
    Moved,
    Partials,
    Records,
    Report,
    Results,
    Retired,
    Summary,
    Target,
    Tick,
)
from tidegate.errors import SnapshotError
from tidegate.spark.wire.pickling import dumps

ROW_SCHEMA: Final = "stage int, gid int, payload binary"
MAX_PACKET_BYTES: Final = 16 * 1024 * 1024

_VERSION: Final = 2
_HEAD: Final = struct.Struct("<BBI")
_MANY: Final = 0
_ARROW_ROW: Final = pa.schema([("stage", pa.int32()), ("gid", pa.int32()), ("payload", pa.binary())])
_KINDS: Final[tuple[type[Message], ...]] = (Element, Moved, Joined, Summary, Tick, Ended, Closing, Report, Retired)
"""Messages by the number that stands for their kind in a packet of many."""
_TABLES: Final[tuple[type[Records | Partials | Results], ...]] = (Records, Partials, Results)
"""Messages with a table; the number of a kind is behind that of packets of many."""
_NUMBERS: Final = {kind: number for number, kind in enumerate(_KINDS)}

Rows = Iterable[tuple[int, int, bytes]]
"""Stage, grouping key and payload."""


def pack(messages: Iterable[Message]) -> Iterator[bytes]:
    """Messages as packets that stay under the size limit."""
    plain: list[Message] = []
    for message in messages:
        if isinstance(message, Records | Partials | Results):
            yield from _packed_table(message)
        else:
            plain.append(message)
    if plain:
        yield from _packed(plain)


def _packed(messages: Sequence[Message]) -> Iterator[bytes]:
    data = _HEAD.pack(_VERSION, _MANY, 0) + dumps([(_NUMBERS[type(message)], *message) for message in messages])
    if len(data) <= MAX_PACKET_BYTES or len(messages) == 1:
        yield data
        return
    middle = len(messages) // 2
    yield from _packed(messages[:middle])
    yield from _packed(messages[middle:])


def _packed_table(message: Records | Partials | Results) -> Iterator[bytes]:
    """A message with columns, in as many packets as its table needs."""
    kind = _TABLES.index(type(message)) + 1
    for index, data in enumerate(encode_in_parts(message.table, MAX_PACKET_BYTES // 2)):
        fields = (
            ((*message.order, index), message.port, message.channel)
            if isinstance(message, Results)
            else (message.port,)
        )
        head = dumps(fields)
        yield b"".join((_HEAD.pack(_VERSION, kind, len(head)), head, data))


def unpack(payload: bytes) -> list[Message]:
    """The messages of a packet."""
    version, kind, length = _HEAD.unpack_from(payload) if len(payload) >= _HEAD.size else (-1, 0, 0)
    if version != _VERSION:
        raise SnapshotError(
            f"a packet has version {version}, this Tidegate reads {_VERSION}; install the same Tidegate on the driver "
            "and on every worker"
        )
    view = memoryview(payload)[_HEAD.size :]
    if kind == _MANY:
        return [_KINDS[number](*fields) for number, *fields in cloudpickle.loads(view)]
    return [_TABLES[kind - 1](*cloudpickle.loads(view[:length]), decode_table(view[length:]))]


def packet_rows(messages: Mapping[Target, Iterable[Message]], group_keys: Sequence[int]) -> Rows:
    """Messages as rows, by where they go."""
    for (stage, subtask), sent in messages.items():
        for payload in pack(sent):
            yield stage, group_keys[subtask], payload


def record_batch(rows: Rows) -> pa.RecordBatch:
    """Rows as Arrow has them."""
    stages, gids, payloads = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    arrays = [pa.array(stages, pa.int32()), pa.array(gids, pa.int32()), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_ROW)
