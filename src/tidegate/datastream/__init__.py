"""PyFlink's `pyflink.datastream`: a program runs when `pyflink` in its imports becomes `tidegate`."""

from tidegate.core.output_tag import DEAD_LETTERS, DeadLetter, OutputTag
from tidegate.core.process import FunctionTimers as TimerService
from tidegate.core.process import TimeDomain
from tidegate.core.time import TimeCharacteristic
from tidegate.datastream.async_data_stream import AsyncDataStream
from tidegate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from tidegate.datastream.closeable_iterator import CloseableIterator
from tidegate.datastream.connected_streams import ConnectedStreams
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.data_stream_sink import DataStreamSink
from tidegate.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SourceFunction,
    WindowFunction,
)
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.datastream.runtime_execution_mode import RuntimeExecutionMode
from tidegate.datastream.sinks import CollectSink, PrintSink, Sink
from tidegate.datastream.sources import Source
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.datastream.window import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from tidegate.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "CollectSink",
    "ConnectedStreams",
    "DEAD_LETTERS",
    "DataStream",
    "DataStreamSink",
    "DeadLetter",
    "EventTimeSessionWindows",
    "FilterFunction",
    "FlatMapFunction",
    "GlobalWindows",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "OutputTag",
    "Partitioner",
    "PrintSink",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "Sink",
    "SlidingEventTimeWindows",
    "Source",
    "SourceFunction",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]
