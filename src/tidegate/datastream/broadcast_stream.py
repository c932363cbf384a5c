"""`BroadcastStream`: a stream whose elements reach every subtask, and what is connected to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.core.function.connect import BroadcastSpec
from tidegate.core.state.descriptors import MapStateDescriptor
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.errors import InvalidTypeError
from tidegate.graph.nodes import Broadcast


class BroadcastStream:
    """Connect a stream to it: `stream.connect(broadcast).process(...)`."""

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        for descriptor in broadcast_state_descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise InvalidTypeError(f"broadcast: expected a MapStateDescriptor, got {descriptor!r}")
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)


class BroadcastConnectedStream:
    """A stream, keyed or not, connected to a broadcast one."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)

    def process(self, func: Any, output_type: Any = None) -> DataStream:
        """A `KeyedBroadcastProcessFunction` on a keyed stream, a `BroadcastProcessFunction` on others."""
        stream = self.non_broadcast_stream
        is_keyed = isinstance(stream, KeyedStream)
        first = stream._key_input() if isinstance(stream, KeyedStream) else stream._input()
        second = self.broadcast_stream.input_stream._repartition(Broadcast())._input()
        spec = BroadcastSpec(func, tuple(self.broadcast_state_descriptors), is_keyed)
        return stream._operator("broadcast process", spec, [first, second], output_type)
