"""PyFlink's `pyflink.datastream.functions`: everything that a user writes or is handed."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.core.function.async_io import AsyncFunction
from tidegate.core.function.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
from tidegate.core.function.connect import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from tidegate.core.function.functions import (
    AggregateFunction,
    AllWindowFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from tidegate.core.function.interval_join import ProcessJoinFunction
from tidegate.core.function.process import FunctionTimers as TimerService
from tidegate.core.function.process import KeyedProcessFunction, ProcessFunction
from tidegate.core.operator.runtime_context import KeyedStateStore, RuntimeContext
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.source.source import ParallelSourceFunction, SourceFunction
from tidegate.core.source.source_context import SourceContext

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "ParallelSourceFunction",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "Sink",
    "SinkContext",
    "SourceContext",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
