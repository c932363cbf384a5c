"""`DataStream`: a stream of elements, and what can be done with it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tidegate._refused import refuse
from tidegate.common.typeinfo import DeclaredType, as_type
from tidegate.core.function.fields import FieldKey
from tidegate.core.function.functions import KeySelector, Partitioner, as_callable
from tidegate.core.function.process import ProcessSpec
from tidegate.core.function.stateless import FilterSpec, FlatMapSpec, MapSpec
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.descriptors import MapStateDescriptor
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream._element_functions import CheckedKey, Projection, same
from tidegate.datastream.aggregate_types import check_timestamp_column, described_key
from tidegate.datastream.data_stream_sink import DataStreamSink
from tidegate.datastream.sinks import PrintSink
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError
from tidegate.graph.nodes import (
    Automatic,
    Broadcast,
    ByPartitioner,
    Connection,
    Forward,
    Input,
    Node,
    Partitioning,
    Rebalance,
    Stream,
)

if TYPE_CHECKING:
    from tidegate.core.window.assigners import WindowAssigner
    from tidegate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from tidegate.datastream.closeable_iterator import CloseableIterator
    from tidegate.datastream.connected_streams import ConnectedStreams
    from tidegate.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from tidegate.datastream.keyed_stream import KeyedStream
    from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
    from tidegate.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]

ON_ERROR = ("fail", "side_output")

_OTHER_STREAMS: Final = {
    "AllWindowedStream": "tidegate.datastream.windowed_stream",
    "BroadcastConnectedStream": "tidegate.datastream.broadcast_stream",
    "BroadcastStream": "tidegate.datastream.broadcast_stream",
    "CloseableIterator": "tidegate.datastream.closeable_iterator",
    "ConnectedStreams": "tidegate.datastream.connected_streams",
    "KeyedStream": "tidegate.datastream.keyed_stream",
    "WindowedStream": "tidegate.datastream.windowed_stream",
}
"""PyFlink has every kind of stream in this module; here each has its own, which imports this one."""


if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _OTHER_STREAMS:
            return getattr(importlib.import_module(_OTHER_STREAMS[name]), name)
        return refuse(__name__, name)


class DataStream:
    """A stream of elements. Every operation returns a new stream."""

    def __init__(
        self, env: StreamExecutionEnvironment, streams: Sequence[Stream | Connection], type_info: Any = None
    ) -> None:
        self._env = env
        self._connections = tuple(s if isinstance(s, Connection) else Connection(s) for s in streams)
        self._type_info = type_info
        self._labelled: Node | None = None

    @property
    def _streams(self) -> tuple[Stream, ...]:
        return tuple(connection.stream for connection in self._connections)

    # One element at a time

    def map(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        """One result for each element."""
        return self._chain("map", MapSpec(func, _check_on_error(on_error)), output_type)

    def flat_map(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        """Any number of results for each element."""
        return self._chain("flat_map", FlatMapSpec(func, _check_on_error(on_error)), output_type)

    def filter(self, func: Any, *, on_error: str = "fail") -> DataStream:
        """Only the elements for which `func` is true."""
        return self._pass("filter", FilterSpec(func, _check_on_error(on_error)))

    def process(self, func: Any, output_type: Any = None, *, on_error: str = "fail") -> DataStream:
        """A `ProcessFunction`: sees time, and can write to side outputs."""
        return self._chain("process", ProcessSpec(func, _check_on_error(on_error)), output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """Tuples of only these fields."""
        if not field_indexes:
            raise InvalidValueError("project needs at least one field index")
        return self._chain("project", MapSpec(Projection(field_indexes)), None)

    def assign_timestamps_and_watermarks(self, watermark_strategy: Any, *, on_error: str = "fail") -> DataStream:
        """Give every element a timestamp, and the stream its watermarks, for each channel of the input."""
        spec = AssignWatermarksSpec(WatermarkStrategy.of(watermark_strategy), _check_on_error(on_error))
        check_timestamp_column(spec.strategy.timestamp_assigner, self.get_type())
        return self._pass("assign_timestamps_and_watermarks", spec, gives_timestamps=True)

    # Keys, windows, several streams

    def key_by(self, key_selector: Any, key_type: Any = None, *, on_error: str = "fail") -> KeyedStream:
        """Partition by key: a function, a `KeySelector`, or the position or name of a field."""
        from tidegate.datastream.keyed_stream import KeyedStream

        selector, label = as_key_selector(key_selector)
        stream = self
        if _check_on_error(on_error) == "side_output":
            stream = self._pass("key_by", MapSpec(CheckedKey(selector), on_error))
        return KeyedStream(stream, selector, label, described_key(selector, key_type, self.get_type()))

    def window_all(self, window_assigner: WindowAssigner) -> AllWindowedStream:
        """Windows over the whole stream; they run in one subtask."""
        from tidegate.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Every `size` elements of the whole stream; or the last `size`, every `slide`."""
        from tidegate.datastream.windowed_stream import AllWindowedStream, count_assigner

        return AllWindowedStream(self, count_assigner(size, slide))

    def _check_stream(self, stream: Any, where: str) -> None:
        if not isinstance(stream, DataStream):
            raise InvalidTypeError(f"{where}: expected a DataStream, got {stream!r}")
        self._env._check_own(stream, where)

    def union(self, *streams: DataStream) -> DataStream:
        """All elements of these streams; their channels meet in one valve."""
        for stream in streams:
            self._check_stream(stream, "union")
        same_type = all(stream._type_info == self._type_info for stream in streams)
        connections = [*self._connections, *(c for stream in streams for c in stream._connections)]
        return DataStream(self._env, connections, self._type_info if same_type else None)

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Two streams under one function; with a `BroadcastStream` its state is in every subtask."""
        from tidegate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from tidegate.datastream.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            self._check_stream(ds.input_stream, "connect")
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        self._check_stream(ds, "connect")
        return ConnectedStreams(self, ds)

    def join(self, other: DataStream) -> JoinedStreams:
        """`a.join(b).where(...).equal_to(...).window(...).apply(...)`: pairs of the same key and window."""
        from tidegate.datastream.joined_streams import JoinedStreams

        self._check_stream(other, "join")
        return JoinedStreams(self, other)

    def co_group(self, other: DataStream) -> CoGroupedStreams:
        """As `join`, with both groups of each key and window."""
        from tidegate.datastream.joined_streams import CoGroupedStreams

        self._check_stream(other, "co_group")
        return CoGroupedStreams(self, other)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """What the operator sent to this side output."""
        if not isinstance(output_tag, OutputTag):
            raise InvalidTypeError(f"get_side_output: expected an OutputTag, got {output_tag!r}")
        declared = as_type(output_tag.type_info, f"OutputTag {output_tag.tag_id!r}")
        side = Stream(self._node("get_side_output"), output_tag.tag_id)
        if declared is None:
            return DataStream(self._env, [side])
        # Values reach a side output in many ways; they take the form of its type where they leave it.
        output_type = DeclaredType(declared, "change the type of the OutputTag or what is sent to it")
        inputs = [Input((Connection(side),))]
        converted = self._env._program.operator("side output", MapSpec(same), inputs, output_type=output_type)
        return DataStream(self._env, [converted], declared).name(f"side output {output_tag.tag_id}")

    # Where elements go

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> Any:
        """Every element to every subtask; with descriptors, a `BroadcastStream` to connect to."""
        from tidegate.datastream.broadcast_stream import BroadcastStream

        if broadcast_state_descriptor is None:
            return self._repartition(Broadcast())
        return BroadcastStream(self, [broadcast_state_descriptor, *other_broadcast_state_descriptors])

    def rebalance(self) -> DataStream:
        """The elements to all subtasks of the next operator in turn."""
        return self._repartition(Rebalance())

    def rescale(self) -> DataStream:
        return self._repartition(Rebalance())

    def shuffle(self) -> DataStream:
        """To all subtasks evenly; in turn instead of at random, so that a replay gives the same."""
        return self._repartition(Rebalance())

    def forward(self) -> DataStream:
        """The elements stay in their subtask: the next operator must have the same parallelism."""
        return self._repartition(Forward())

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        """Every element to the subtask of the next operator that `partitioner(key, number_of_subtasks)` names."""
        partition = as_callable(partitioner, "partition", Partitioner, "partition_custom")
        return self._repartition(ByPartitioner(partition, as_key_selector(key_selector)[0]))

    # Ends

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write every element to standard output."""
        return self._sink("print", PrintSink(sink_identifier))

    def sink_to(self, sink: Any) -> DataStreamSink:
        """End the stream in a sink."""
        return self._sink("sink", sink)

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        return self._sink("sink", sink_func)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give the elements of this stream; with `limit`, a list of the first ones."""
        collected: CloseableIterator | list[Any] = self._env._execute_and_collect(self, job_execution_name, limit)
        return collected

    def to_dataframe(self, *, checkpoint: str | None = None) -> Any:
        """This stream as a streaming DataFrame, for any Spark sink."""
        return self._env.to_dataframe(checkpoint=checkpoint, main=self)

    # Names and settings

    def name(self, name: str) -> DataStream:
        self._env._program.label(self._node("name"), name=name)
        return self

    def get_name(self) -> str:
        return self._env._program.name_of(self._node("get_name"))

    def uid(self, uid: str) -> DataStream:
        """Name the operator for checkpoints, so that the program may change around it."""
        self._env._program.label(self._node("uid"), uid=uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        return self.uid(uid_hash)

    def set_description(self, description: str) -> DataStream:
        self._env._program.label(self._node("set_description"), description=description)
        return self

    def set_parallelism(self, parallelism: int) -> DataStream:
        """The number of subtasks; between operators of different parallelism elements take turns."""
        self._env._program.label(self._node("set_parallelism"), parallelism=parallelism)
        return self

    def force_non_parallel(self) -> DataStream:
        return self.set_parallelism(1)

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Accepted for Flink's sake: that of the environment counts for all operators."""
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Accepted for Flink's sake: elements travel with their micro-batch."""
        return self

    def start_new_chain(self) -> DataStream:
        """Accepted for Flink's sake: chaining does not change results."""
        return self

    def disable_chaining(self) -> DataStream:
        """Accepted for Flink's sake: chaining does not change results."""
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> DataStream:
        """Accepted for Flink's sake: Spark places tasks."""
        return self

    def get_type(self) -> Any:
        """The declared type of the elements, None if they are any Python objects."""
        return self._type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._env

    def get_execution_config(self) -> Any:
        return self._env.get_config()

    def iterate(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            "iterate: loops in a stream carry no watermarks, and Spark has none; write the loop inside a process "
            "function, or feed results back through a topic"
        )

    def cache(self) -> NoReturn:
        raise UnsupportedError("cache: streams are not cached; write the stream to a FileSink and read it again")

    # For the other streams of the API

    def _operator(
        self,
        kind: str,
        spec: OperatorSpec,
        inputs: Sequence[Input],
        output_type: Any = None,
        *,
        parallelism: int | None = None,
        gives_timestamps: bool = False,
    ) -> DataStream:
        declared = as_type(output_type, kind)
        stream = self._env._program.operator(
            kind, spec, inputs, parallelism=parallelism, gives_timestamps=gives_timestamps, output_type=declared
        )
        return DataStream(self._env, [stream], declared)

    def _chain(self, kind: str, spec: OperatorSpec, output_type: Any) -> DataStream:
        """An operator over the elements of this stream, one at a time."""
        return self._operator(kind, spec, [self._input()], output_type)

    def _pass(self, kind: str, spec: OperatorSpec, *, gives_timestamps: bool = False) -> DataStream:
        """An operator that gives only elements that came in, which have their type already."""
        stream = self._env._program.operator(kind, spec, [Input(self._connections)], gives_timestamps=gives_timestamps)
        return DataStream(self._env, [stream], self._type_info)

    def _input(self) -> Input:
        """This stream as the input of an operator."""
        return Input(self._connections)

    def _repartition(self, partitioning: Partitioning) -> DataStream:
        connections = [Connection(stream, partitioning) for stream in self._streams]
        return DataStream(self._env, connections, self._type_info)

    def _sink(self, kind: str, sink: Any) -> DataStreamSink:
        return DataStreamSink.ending(self._env._program, kind, sink, self._connections)

    def _node(self, method: str) -> Node:
        if len(self._connections) != 1:
            raise InvalidValueError(f"{method}: a union is not an operator; call it on one of the united streams")
        if not isinstance(self._connections[0].partitioning, Automatic):
            raise InvalidValueError(
                f"{method}: moving elements to other subtasks is not an operator; call it on the operator before or "
                "behind"
            )
        return self._labelled or self._connections[0].stream.node

    def __getattr__(self, name: str) -> Any:
        if name in ("window", "count_window", "time_window"):
            raise UnsupportedError(f"{name}: windows are of a key; call key_by before it, or use {name}_all")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def as_key_selector(key_selector: Any) -> tuple[Callable[[Any], Any], str]:
    """A key selector in any form as a function, with a word for the plan."""
    if isinstance(key_selector, list | tuple) and key_selector:
        return FieldKey(*key_selector), "key " + ", ".join(map(str, key_selector))
    if isinstance(key_selector, int | str):
        return FieldKey(key_selector), f"key {key_selector}"
    return as_callable(key_selector, "get_key", KeySelector, "key_by"), "key"


def _check_on_error(on_error: str) -> str:
    if on_error not in ON_ERROR:
        raise InvalidValueError(f"on_error must be 'fail' or 'side_output', got {on_error!r}")
    return on_error
