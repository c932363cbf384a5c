"""PyFlink's `pyflink.datastream.connectors.file_system`: text files as sources and sinks."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.datastream.connectors._file_buckets import BucketAssigner, BucketContext
from tidegate.datastream.connectors._file_sink import FileSink, StreamingFileSink
from tidegate.datastream.connectors._file_source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from tidegate.datastream.connectors._output_files import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "DefaultRollingPolicy",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
