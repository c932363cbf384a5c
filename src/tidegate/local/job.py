"""A running local job: reads its sources, keeps the clock, and ends, stops or drains."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.core.operator.operator import Operator
from tidegate.core.source.source_context import SourceContext, create_source_context
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import Clock, TimeCharacteristic
from tidegate.graph.nodes import SourceNode
from tidegate.graph.stream_graph import StreamGraph
from tidegate.ingest.readers import ChannelReader, ThreadReader, create_reader, read_in_turn
from tidegate.local.source_alignment import SourceAlignment
from tidegate.local.topology import Topology

_READ_AT_ONCE: Final = 512
_MAX_WAIT_SECONDS: Final = 0.05


def wall_clock() -> int:
    """Processing time: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a local job runs; times in milliseconds."""

    clock: Clock = wall_clock
    auto_watermark_interval: int = 200
    time_characteristic: TimeCharacteristic = TimeCharacteristic.EventTime
    job_parameters: Mapping[str, str] = field(default_factory=dict)


class LocalJob:
    """Runs a graph in the calling thread. `stop` and `drain` may be called from others."""

    def __init__(self, graph: StreamGraph, options: LocalOptions, snapshot: Mapping[str, Any] | None = None) -> None:
        self._graph = graph
        self._options = options
        self.topology = Topology(graph, options.clock, job_parameters=options.job_parameters)
        self._wake = threading.Event()
        self._is_stopping = False
        self._is_draining = False
        self._next_probe = options.clock() + options.auto_watermark_interval
        fields = None if snapshot is None else open_snapshot(snapshot, "local_job", 1)
        if fields is not None:
            self.topology.restore(fields["topology"])
        self._readers: list[ChannelReader] = []
        self._places: dict[ChannelReader, tuple[SourceNode, int]] = {}
        self._create_readers(fields)
        self._alignment = SourceAlignment(graph, self.topology, options.clock)

    def run(self) -> None:
        """Run until every source has ended, or until `stop`."""
        self.topology.open()
        try:
            for reader in self._readers:
                if isinstance(reader, ThreadReader):
                    reader.start()
            while not self._is_stopping and not all(reader.has_ended for reader in self._readers):
                self._step()
            if not self._is_stopping:
                for operator in self.topology.operators():
                    operator.drain()
        except BaseException:
            self._stop_reading()
            self.topology.abort()
            raise
        self._stop_reading()
        self.topology.close()

    def stop(self) -> None:
        """Stop soon, between two elements. Time does not end: open windows stay open."""
        self._is_stopping = True
        self._wake.set()

    def drain(self) -> None:
        """End time: every channel sends its last watermark, and what is open fires."""
        self._is_draining = True
        self._wake.set()

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        return self.topology.metrics()

    def snapshot(self) -> Snapshot:
        """Everything needed to go on, taken between two elements."""
        positions: dict[str, list[Any]] = {}
        for node in self._graph.nodes:
            if isinstance(node, SourceNode):
                uid = self._graph.uid(node)
                positions[uid] = [
                    [reader.position, reader.has_ended, reader.context.snapshot()]
                    for reader, (source, _) in self._places.items()
                    if source is node
                ]
        return make_snapshot("local_job", 1, topology=self.topology.snapshot(), sources=positions)

    def _step(self) -> None:
        if self._is_draining:
            for reader in self._readers:
                reader.finish()
            return
        self._wake.clear()
        count = self._read()
        self._keep_time()
        if count == 0 and not self._is_stopping and not all(reader.has_ended for reader in self._readers):
            self._wake.wait(_MAX_WAIT_SECONDS)
            for operator in self.topology.operators():
                operator.poll()

    def _stop_reading(self) -> None:
        for reader in self._readers:
            reader.stop()

    def _read(self) -> int:
        """Read what is at hand from the channels that may be read."""
        self._alignment.update()
        readers = [r for r in self._readers if not r.has_ended and self._alignment.may_read(*self._places[r])]
        return read_in_turn(readers, _READ_AT_ONCE)

    def _keep_time(self) -> None:
        now = self._options.clock()
        for operator in self.topology.operators():
            self._fire_due(operator, now)
        if self._options.auto_watermark_interval > 0 and now >= self._next_probe:
            self._next_probe = now + self._options.auto_watermark_interval
            for operator in self.topology.operators():
                operator.on_periodic_emit()
            for reader in self._readers:
                if not reader.has_ended:
                    reader.context.on_periodic_emit()

    @staticmethod
    def _fire_due(operator: Operator, now: int) -> None:
        due = operator.next_clock_time()
        if due is not None and due < now:
            operator.on_clock()

    def _create_readers(self, fields: Mapping[str, Any] | None) -> None:
        for node in self._graph.nodes:
            if isinstance(node, SourceNode):
                saved = [] if fields is None else fields["sources"].get(self._graph.uid(node), [])
                for index, channel in enumerate(node.source.channels()):
                    state = saved[index] if index < len(saved) else None
                    reader = self._create_reader(node, index, channel, state)
                    self._readers.append(reader)
                    self._places[reader] = (node, index)

    def _create_reader(self, node: SourceNode, index: int, channel: str, state: Any) -> ChannelReader:
        options = self._options
        context: SourceContext = create_source_context(
            options.time_characteristic,
            self.topology.source_output(node, index),
            options.clock,
            watermark_interval=options.auto_watermark_interval or 200,
        )
        skip = 0
        if state is not None:
            skip, has_ended, saved_context = state
            context.restore(saved_context)
        name = f"{self._graph.uid(node)}/{channel}"
        reader = create_reader(name, context, self._wake, node.source, channel, skip=skip)
        if state is not None:
            reader.has_ended = has_ended
        return reader
