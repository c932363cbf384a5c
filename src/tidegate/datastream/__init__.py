"""PyFlink's `pyflink.datastream`: a program runs when `pyflink` in its imports becomes `tidegate`."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.core.function.process import FunctionTimers as TimerService
from tidegate.core.function.process import TimeDomain
from tidegate.core.operator.output_tag import DEAD_LETTERS, DeadLetter, OutputTag
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.datastream.async_data_stream import AsyncDataStream
from tidegate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from tidegate.datastream.checkpoint_config import CheckpointConfig
from tidegate.datastream.checkpointing_mode import CheckpointingMode
from tidegate.datastream.closeable_iterator import CloseableIterator
from tidegate.datastream.connected_streams import ConnectedStreams
from tidegate.datastream.connectors._file_sink import FileSink
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.data_stream_sink import DataStreamSink
from tidegate.datastream.execution_mode import RuntimeExecutionMode
from tidegate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from tidegate.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
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
    ParallelSourceFunction,
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
from tidegate.datastream.sinks import CollectSink, ForeachBatchSink, PrintSink, Sink
from tidegate.datastream.sources import Source
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.datastream.window import (
    CountWindow,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TimeWindow,
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
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "CollectSink",
    "ConnectedStreams",
    "CountWindow",
    "DEAD_LETTERS",
    "DataStream",
    "DataStreamSink",
    "DeadLetter",
    "EventTimeSessionWindows",
    "ExternalizedCheckpointRetention",
    "FileSink",
    "FilterFunction",
    "FlatMapFunction",
    "ForeachBatchSink",
    "GlobalWindow",
    "GlobalWindows",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MergingWindowAssigner",
    "OutputTag",
    "ParallelSourceFunction",
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
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
