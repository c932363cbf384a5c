"""`KeyedStream`: a stream partitioned by key, with state and timers for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidegate.core.function.fields import Field, FieldReducer
from tidegate.core.function.functions import FilterFunction, FlatMapFunction, MapFunction, as_callable, is_stateful
from tidegate.core.function.process import KeyedProcessFunction, KeyedProcessSpec
from tidegate.core.function.rolling import RollingReduceSpec
from tidegate.core.time.duration import DurationLike
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.core.window.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tidegate.datastream.data_stream import DataStream
from tidegate.errors import InvalidTypeError, UnsupportedError
from tidegate.graph.nodes import Connection, Input, KeyBy

if TYPE_CHECKING:
    from tidegate.datastream.joined_streams import IntervalJoin
    from tidegate.datastream.windowed_stream import WindowedStream


class KeyedStream(DataStream):
    """A stream partitioned by key. Functions on it have state and timers of the current key."""

    def __init__(
        self,
        origin: DataStream,
        key_selector: Callable[[Any], Any],
        label: str = "key",
        key_type: str | None = None,
    ) -> None:
        super().__init__(origin._env, origin._connections, origin._type_info)
        self._key_selector = key_selector
        self._label = label
        self._key_type = key_type

    def map(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        """As on any stream; a function that gets state in `open` gets that of the current key."""
        if not is_stateful(func):
            return super().map(func, output_type, on_error=on_error)
        return self._process("map", _StatefulMap(func), output_type, on_error)

    def flat_map(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        if not is_stateful(func):
            return super().flat_map(func, output_type, on_error=on_error)
        return self._process("flat_map", _StatefulFlatMap(func), output_type, on_error)

    def filter(self, func: Any, *, on_error: str = "fail") -> DataStream:
        if not is_stateful(func):
            return super().filter(func, on_error=on_error)
        return self._process("filter", _StatefulFilter(func), self._type_info, on_error)

    def process(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        """A `KeyedProcessFunction`: state, timers and side outputs."""
        return self._process("process", func, output_type, on_error)

    def reduce(self, func: Any) -> DataStream:
        """For each element, what all elements of its key reduce to so far."""
        return self._operator("reduce", RollingReduceSpec(func), [self._key_input()], self._type_info)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: Field = 0) -> DataStream:
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: Field = 0) -> DataStream:
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: Field = 0) -> DataStream:
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: Field = 0) -> DataStream:
        return self._rolling("max_by", position_to_max_by)

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        """Windows of each key."""
        from tidegate.datastream.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Every `size` elements of a key; or the last `size`, every `slide`."""
        from tidegate.datastream.windowed_stream import WindowedStream, count_assigner

        return WindowedStream(self, count_assigner(size, slide))

    def time_window(self, size: DurationLike, slide: DurationLike | None = None) -> WindowedStream:
        """Tumbling or sliding windows by the time that the job runs on."""
        by_clock = self._env.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime
        assigner: WindowAssigner
        if slide is None:
            assigner = TumblingProcessingTimeWindows.of(size) if by_clock else TumblingEventTimeWindows.of(size)
        else:
            sliding = SlidingProcessingTimeWindows if by_clock else SlidingEventTimeWindows
            assigner = sliding.of(size, slide)
        return self.window(assigner)

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Pairs of two keyed streams whose timestamps are close: `.between(lower, upper).process(...)`."""
        from tidegate.datastream.joined_streams import IntervalJoin

        if not isinstance(other, KeyedStream):
            raise InvalidTypeError(f"interval_join: call key_by on the other stream too, got {other!r}")
        self._check_stream(other, "interval_join")
        return IntervalJoin(self, other)

    def broadcast(self, *args: Any) -> Any:
        raise UnsupportedError("broadcast: a keyed stream has its partitioning; broadcast the stream before key_by")

    def rebalance(self) -> DataStream:
        raise UnsupportedError("rebalance: a keyed stream has its partitioning; call it before key_by")

    rescale = shuffle = forward = rebalance

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        raise UnsupportedError("partition_custom: a keyed stream has its partitioning; call it before key_by")

    def name(self, name: str) -> DataStream:
        raise UnsupportedError("name: a keyed stream is not an operator; name the stream before or after it")

    def uid(self, uid: str) -> DataStream:
        raise UnsupportedError("uid: a keyed stream is not an operator; set it on the operator behind it")

    def set_parallelism(self, parallelism: int) -> DataStream:
        raise UnsupportedError("set_parallelism: a keyed stream is not an operator; set it on the operator behind it")

    def _key_input(self) -> Input:
        """This stream as the input of an operator with keyed state."""
        by_key = KeyBy(self._key_selector, self._label, self._key_type)
        return Input(tuple(Connection(stream, by_key) for stream in self._streams))

    def _process(self, kind: str, func: Any, output_type: Any, on_error: str) -> DataStream:
        return self._operator(kind, KeyedProcessSpec(func, on_error), [self._key_input()], output_type)

    def _rolling(self, how: str, field: Field) -> DataStream:
        return self._operator(how, RollingReduceSpec(FieldReducer(how, field)), [self._key_input()], self._type_info)


class _Stateful(KeyedProcessFunction):
    """A map, flat_map or filter function with state, as a process function.

    It holds the function and no closure over it, so that a copy calls the function that it opened.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__name__ = type(function).__name__

    def open(self, runtime_context: Any) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()


class _StatefulMap(_Stateful):
    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._map = as_callable(function, "map", MapFunction, "map")

    def process_element(self, value: Any, ctx: Any) -> Any:
        return (self._map(value),)


class _StatefulFlatMap(_Stateful):
    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._flat_map = as_callable(function, "flat_map", FlatMapFunction, "flat_map")

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self._flat_map(value)


class _StatefulFilter(_Stateful):
    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._filter = as_callable(function, "filter", FilterFunction, "filter")

    def process_element(self, value: Any, ctx: Any) -> Any:
        return (value,) if self._filter(value) else ()
