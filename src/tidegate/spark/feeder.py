"""Feeds the spool from sources that live in the driver: collections, sockets, source functions."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any, Final

from tidegate.core.key.hashing import stable_hash
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.source.dataframe_source import DataFrameSource
from tidegate.core.source.source_context import create_source_context
from tidegate.core.time.millis import Clock, TimeCharacteristic
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.graph.nodes import SourceNode
from tidegate.graph.stream_graph import StreamGraph
from tidegate.ingest.column_source import ColumnSource
from tidegate.ingest.readers import ChannelReader, ThreadReader, create_reader, read_in_turn
from tidegate.spark.packing import Item, Payload, tick_item
from tidegate.spark.routing import source_edge
from tidegate.spark.spool import Spool

_READ_AT_ONCE: Final = 20_000
_READ_SECONDS: Final = 0.2


class Feeder:
    """Reads every driver-side source through its source context into the spool.

    How far it came is noted with each file of the spool, so that a restart goes on exactly behind what was spooled.
    """

    def __init__(
        self,
        graph: StreamGraph,
        spool: Spool,
        parallelism: int,
        clock: Clock,
        *,
        time_characteristic: TimeCharacteristic,
        auto_watermark_interval: int,
        needs_clock: bool = False,
    ) -> None:
        self._spool = spool
        self._parallelism = parallelism
        self._clock = clock
        self._interval = auto_watermark_interval
        self._needs_clock = needs_clock
        self._next_probe = clock() + auto_watermark_interval
        self.wake = threading.Event()
        self._pending: dict[tuple[int, int], list[Item]] = defaultdict(list)
        self._readers: dict[str, ChannelReader] = {}
        self._receivers: dict[str, _SpoolReceiver] = {}
        saved: dict[str, Any] = spool.note or {}
        for node in graph.nodes:
            if isinstance(node, SourceNode) and not isinstance(node.source, DataFrameSource | ColumnSource):
                for channel in node.source.channels():
                    name = f"{graph.uid(node)}/{channel}"
                    self._readers[name] = self._create(node, channel, name, time_characteristic, saved.get(name))

    @property
    def has_ended(self) -> bool:
        return all(reader.has_ended for reader in self._readers.values())

    def start(self) -> None:
        for reader in self._readers.values():
            if isinstance(reader, ThreadReader) and not reader.has_ended:
                reader.start()

    def step(self) -> int:
        """Spool what is at hand. Returns how many elements that were."""
        self.wake.clear()
        count = self._read()
        now = self._clock()
        if self._interval > 0 and now >= self._next_probe:
            self._next_probe = now + self._interval
            for reader in self._readers.values():
                if not reader.has_ended:
                    reader.context.on_periodic_emit()
        self._flush()
        return count

    def _read(self) -> int:
        """Read what is at hand, for a moment: a slow source must not keep what it gave already from the query."""
        deadline = time.monotonic() + _READ_SECONDS
        total, limit = 0, 1
        while total < _READ_AT_ONCE:
            count = read_in_turn([r for r in self._readers.values() if not r.has_ended], limit)
            total += count
            if count == 0 or time.monotonic() > deadline:
                break
            limit = min(2 * limit, _READ_AT_ONCE - total)
        return total

    def end(self) -> None:
        """End every channel: what is open fires."""
        for reader in self._readers.values():
            reader.finish()
        self._flush()

    def stop(self) -> None:
        for reader in self._readers.values():
            reader.stop()

    def _create(
        self, node: SourceNode, channel: str, name: str, time_characteristic: TimeCharacteristic, saved: Any
    ) -> ChannelReader:
        receiver = self._receivers[name] = _SpoolReceiver(self, name.removesuffix(f"/{channel}"), channel)
        context = create_source_context(
            time_characteristic,
            OperatorOutput((receiver,)),
            self._clock,
            watermark_interval=self._interval or 200,
        )
        if saved is None:
            return create_reader(name, context, self.wake, node.source, channel)
        position, has_ended, receiver.number, progress = saved
        context.restore(progress)
        reader = create_reader(name, context, self.wake, node.source, channel, skip=position)
        reader.has_ended = has_ended
        return reader

    def put(self, item: Item) -> None:
        self._pending[(0, stable_hash(item.channel) % self._parallelism)].append(item)

    def _flush(self) -> None:
        if not self._pending:
            return
        note = {
            name: (reader.position, reader.has_ended, self._receivers[name].number, reader.context.snapshot())
            for name, reader in self._readers.items()
        }
        if self._needs_clock:
            for subtask in range(self._parallelism):
                self._pending[(0, subtask)].append(tick_item())
        self._spool.write(self._pending, note)
        self._pending.clear()


class _SpoolReceiver:
    """The end of a source context: what it emits becomes items, numbered in order."""

    def __init__(self, feeder: Feeder, uid: str, channel: str) -> None:
        self._feeder = feeder
        self._edge = source_edge(uid)
        self._channel = channel
        self.number = 0
        """How many items there were; it goes on after a restart, for one batch may hold items from before and after."""

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._feeder.put(Item(self._order(), self._edge, self._channel, None, value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self._progress(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._progress(status)

    def _progress(self, progress: Payload) -> None:
        self._feeder.put(Item(self._order(), self._edge, self._channel, progress=progress))

    def _order(self) -> tuple[int, str]:
        self.number += 1
        return (self.number, f"{self._edge}/{self._channel}")
