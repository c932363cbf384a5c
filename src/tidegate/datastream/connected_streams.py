"""`ConnectedStreams`: two streams under one function."""

from __future__ import annotations

from typing import Any

from tidegate.core.function.connect import CoProcessSpec
from tidegate.core.function.functions import CoFlatMapFunction, CoMapFunction
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.errors import InvalidTypeError, InvalidValueError


class ConnectedStreams:
    """Two streams whose elements one function sees, each through its own method."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(self, key_selector1: Any, key_selector2: Any, key_type: Any = None) -> ConnectedStreams:
        """Partition both by key, so that equal keys meet."""
        streams = self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        return ConnectedStreams(*streams)

    def map(self, func: CoMapFunction, output_type: Any = None) -> DataStream:
        if not isinstance(func, CoMapFunction):
            raise InvalidTypeError(f"connect.map: expected a CoMapFunction object, got {func!r}")
        return self._connect("connect map", func, output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: Any = None) -> DataStream:
        if not isinstance(func, CoFlatMapFunction):
            raise InvalidTypeError(f"connect.flat_map: expected a CoFlatMapFunction object, got {func!r}")
        return self._connect("connect flat_map", func, output_type)

    def process(self, func: Any, output_type: Any = None) -> DataStream:
        """A `KeyedCoProcessFunction` on keyed streams, a `CoProcessFunction` on others."""
        if isinstance(func, CoMapFunction | CoFlatMapFunction):
            raise InvalidTypeError(f"connect.process: expected a KeyedCoProcessFunction object, got {func!r}")
        return self._connect("connect process", func, output_type)

    def _connect(self, kind: str, func: Any, output_type: Any) -> DataStream:
        first, second = self.stream1, self.stream2
        keyed = [isinstance(stream, KeyedStream) for stream in (first, second)]
        if any(keyed) and not all(keyed):
            raise InvalidValueError("connect: call key_by on both streams or on none, or equal keys would not meet")
        if isinstance(first, KeyedStream) and isinstance(second, KeyedStream):
            inputs = [first._key_input(), second._key_input()]
        else:
            inputs = [first._input(), second._input()]
        return first._operator(kind, CoProcessSpec(func, is_keyed=all(keyed)), inputs, output_type)
