"""The rows between stages: packets of many elements for one subtask, with the order they must be processed in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import cloudpickle

from tidegate.core.records import Watermark, WatermarkStatus
from tidegate.errors import SnapshotError

_VERSION: Final = b"\x01"
MAX_PACKET_BYTES: Final = 16 * 1024 * 1024

SINK_STAGE: Final = -1
"""The stage number of rows that leave the query."""

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


Payload = Watermark | WatermarkStatus | Join | Clock | Tick | End


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


def tick_item() -> Item:
    """An item that makes its stage look at the clock."""
    return Item((0, ""), "", "", progress=Tick())


def pack(items: list[Item]) -> Iterator[bytes]:
    """Items as packets that stay under the size limit."""
    data: bytes = _VERSION + cloudpickle.dumps([tuple(item) for item in items], protocol=5)
    if len(data) <= MAX_PACKET_BYTES or len(items) == 1:
        yield data
        return
    middle = len(items) // 2
    yield from pack(items[:middle])
    yield from pack(items[middle:])


def unpack(data: bytes) -> list[Item]:
    if data[:1] != _VERSION:
        raise SnapshotError(
            f"a packet has version {data[:1]!r}, this Tidegate reads {_VERSION!r}; "
            "install the same Tidegate on the driver and on every worker"
        )
    return [Item(*fields) for fields in cloudpickle.loads(data[1:])]
