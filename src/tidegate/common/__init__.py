"""PyFlink's `common` names: time, types, rows, watermark strategies, configuration and jobs."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.common.completable_future import CompletableFuture
from tidegate.common.config_options import ConfigOption, ConfigOptions
from tidegate.common.configuration import Configuration
from tidegate.common.execution_config import ExecutionConfig
from tidegate.common.input_dependency_constraint import InputDependencyConstraint
from tidegate.common.job import JobExecutionResult, JobID, JobStatus
from tidegate.common.job_client import JobClient
from tidegate.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from tidegate.common.row import Row, RowKind
from tidegate.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from tidegate.common.serializer import TypeSerializer
from tidegate.common.time import Duration, Instant, Time
from tidegate.common.typeinfo import TypeInformation, Types
from tidegate.common.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStatus,
    WatermarkStrategy,
)

__all__ = [
    # time and watermarks
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessTimestampExtractor",
    "Duration",
    "Instant",
    "Time",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStatus",
    "WatermarkStrategy",
    # types and rows
    "Row",
    "RowKind",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    # bytes
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "SerializationSchema",
    "SimpleStringSchema",
    # configuration
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    # jobs
    "CompletableFuture",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
