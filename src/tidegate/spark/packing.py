"""The rows between stages: packets of many elements for one subtask, with the order they must be processed in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

import cloudpickle
import pyarrow as pa

from tidegate.core.columnar.pane_log import encode_in_parts
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.errors import SnapshotError
from tidegate.spark.pickling import dumps

_VERSION: Final = b"\x01"
MAX_PACKET_BYTES: Final = 16 * 1024 * 1024

SINK_STAGE: Final = -1
"""The stage number of rows that leave the query."""

BEFORE_RECORDS: Final = -(2**62)
AFTER_RECORDS: Final = 2**62
"""Positions of what happens before and after all records of a batch."""

_ARROW_ROW: Final = pa.schema([("stage", pa.int32()), ("gid", pa.int32()), ("payload", pa.binary())])

METRICS_EDGE: Final = "metrics"
"""The edge of items that report metrics to the driver."""

Order = tuple[Any, ...]
"""`(position, channel, index, index, ...)`: an output's order is its cause's with its own index behind."""


class Join(NamedTuple):
    """A channel that exists: receivers count it from now on."""


class Clock(NamedTuple):
    """Processing time as a test sets it, in place of the batch's."""

    now: int


class Tick(NamedTuple):
    """Nothing but a reason for a batch: the clock has moved."""


class End(NamedTuple):
    """The input has ended: every channel of every source."""


class Summary(NamedTuple):
    """What a part of a batch did to a channel: its highest timestamp, and the first place in its sequence."""

    highest: int
    first: int | None


class Columns(NamedTuple):
    """Elements as columns, in the value: records where `are_records`, else partial aggregates or results.

    They are encoded, but for a table that has yet to leave its stage.
    """

    are_records: bool = False


Payload = Watermark | WatermarkStatus | Join | Clock | Tick | End | Summary | Columns


class Item(NamedTuple):
    """One element, or one thing about time, on its way to an input of a node.

    `edge` names the stream and input; `channel` where it comes from; `progress` is None for an element.
    """

    order: Order
    edge: str
    channel: str
    key: Any = None
    value: Any = None
    timestamp: int | None = None
    progress: Payload | None = None


def interleaved(items: list[Item], edges: Collection[str]) -> list[Item]:
    """Channels of these edges are ordered only within themselves: they get their position in the batch as order."""
    if not edges:
        return items
    ranked = [item for item in items if item.edge not in edges]
    channels: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        if item.edge in edges:
            channels[(item.edge, item.channel)].append(item)
    for members in channels.values():
        members.sort(key=lambda item: item.order)
        ranked += [item._replace(order=(rank, f"{item.edge}/{item.channel}")) for rank, item in enumerate(members)]
    return ranked


def tick_item() -> Item:
    """An item that makes its stage look at the clock."""
    return Item((0, ""), "", "", progress=Tick())


def end_item() -> Item:
    """An item that says that the input has ended."""
    return Item((0, ""), "", "", progress=End())


def pack(items: list[Item]) -> Iterator[bytes]:
    """Items as packets that stay under the size limit."""
    return _packed(list(_encoded(items)))


def _encoded(items: list[Item]) -> Iterator[Item]:
    """Items with their columns encoded, in parts that fit a packet."""
    for item in items:
        if not isinstance(item.value, pa.Table):
            yield item
            continue
        for index, data in enumerate(encode_in_parts(item.value, MAX_PACKET_BYTES // 2)):
            yield item._replace(order=(*item.order, index), value=data)


def _packed(items: list[Item]) -> Iterator[bytes]:
    data = _VERSION + dumps([tuple(item) for item in items])
    if len(data) <= MAX_PACKET_BYTES or len(items) == 1:
        yield data
        return
    middle = len(items) // 2
    yield from _packed(items[:middle])
    yield from _packed(items[middle:])


def packed_rows(stage: int, items: Mapping[int, list[Item]]) -> pa.RecordBatch:
    """Items for a stage, by grouping key, as rows."""
    rows = [(gid, data) for gid, share in items.items() for data in pack(share)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([stage] * len(rows), pa.int32()),
            pa.array([gid for gid, _ in rows], pa.int32()),
            pa.array([data for _, data in rows], pa.binary()),
        ],
        schema=_ARROW_ROW,
    )


def unpack(data: bytes) -> list[Item]:
    if data[:1] != _VERSION:
        raise SnapshotError(
            f"a packet has version {data[:1]!r}, this Tidegate reads {_VERSION!r}; "
            "install the same Tidegate on the driver and on every worker"
        )
    return [Item(*fields) for fields in cloudpickle.loads(data[1:])]
