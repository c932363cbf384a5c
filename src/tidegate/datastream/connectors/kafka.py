"""PyFlink's `pyflink.datastream.connectors.kafka`: topics as sources and sinks."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.datastream.connectors._kafka_records import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from tidegate.datastream.connectors._kafka_sink import KafkaSink, KafkaSinkBuilder
from tidegate.datastream.connectors._kafka_source import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)

__all__ = [
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
