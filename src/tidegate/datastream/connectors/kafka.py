"""PyFlink's `pyflink.datastream.connectors.kafka`: topics as sinks. Topics are read with Spark's own source."""

from typing import TYPE_CHECKING

from tidegate._refused import refusing
from tidegate.datastream.connectors._kafka_records import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from tidegate.datastream.connectors._kafka_sink import KafkaSink, KafkaSinkBuilder

__all__ = [
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
