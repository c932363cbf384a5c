"""PyFlink's `pyflink.datastream.connectors`: sources and sinks, and the base classes to write your own."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from tidegate.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from tidegate.datastream.connectors.kafka import KafkaSource
from tidegate.datastream.connectors.number_seq import NumberSequenceSource

__all__ = [
    "BucketAssigner",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "KafkaSource",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
    "Sink",
    "Source",
    "StreamFormat",
    "StreamingFileSink",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
