"""`KafkaSink`: a stream into topics of Kafka, at least once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.datastream.connectors._kafka_producer import KafkaProducer
from tidegate.datastream.connectors._kafka_records import KafkaRecordSerializationSchema
from tidegate.datastream.connectors.base import DeliveryGuarantee
from tidegate.errors import ClosedError, InvalidTypeError, InvalidValueError, UnsupportedError
from tidegate.ingest.kafka_library import BOOTSTRAP, check_library


class KafkaSink(Sink):
    """Sends every element to Kafka. Build it with `KafkaSink.builder()`.

    At least once: everything is delivered before its micro-batch is committed, in process before the run succeeds. A
    batch that comes again after a crash is sent again. The timestamp of an element is that of the record, as in Flink;
    an element without one gets the time when it is sent. One producer, in the driver's process, takes the records of
    all subtasks.
    """

    def __init__(self, record_serializer: KafkaRecordSerializationSchema, properties: Mapping[str, str]) -> None:
        self._serializer = record_serializer
        self._properties = dict(properties)
        self._producer: KafkaProducer | None = None

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        return KafkaSinkBuilder()

    def open(self, runtime_context: Any) -> None:
        # Every subtask opens the one sink.
        if self._producer is None:
            self._producer = KafkaProducer(self._properties)

    def write(self, value: Any, context: SinkContext) -> None:
        if self._producer is None:
            raise ClosedError("KafkaSink: not open; a job opens its sinks")
        serializer = self._serializer
        self._producer.send(
            serializer.topic(value), serializer.key(value), serializer.serialize(value), context.record_timestamp
        )

    def flush(self) -> None:
        """Wait for the delivery of everything so far: a batch counts after this."""
        if self._producer is not None:
            self._producer.flush()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def __getstate__(self) -> dict[str, Any]:
        # Connections belong to the driver's process.
        return {**self.__dict__, "_producer": None}


class KafkaSinkBuilder:
    """Needs the servers and a record serializer."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Where to find the brokers: `"host:port,host:port"`."""
        return self.set_property(BOOTSTRAP, bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """How an element becomes a record."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise InvalidTypeError(
                "set_record_serializer: expected a KafkaRecordSerializationSchema from its builder(), "
                f"got {record_serializer!r}"
            )
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """At least once, also for `NONE`, which promises less."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise InvalidTypeError(
                f"set_delivery_guarantee: expected a DeliveryGuarantee such as DeliveryGuarantee.AT_LEAST_ONCE, "
                f"got {delivery_guarantee!r}"
            )
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise UnsupportedError(
                "set_delivery_guarantee: KafkaSink has no EXACTLY_ONCE, for transactions cannot be tied to Spark's "
                "commits; use DeliveryGuarantee.AT_LEAST_ONCE and let readers drop repeated records by key, or write "
                "files with FileSink, which is exactly once"
            )
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Accepted for Flink's sake: there are no transactions."""
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A property of the producer, under librdkafka's name, which is the Java client's for most."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidTypeError(f"set_property: expected two texts, got {key!r} and {value!r}")
        if key == "transactional.id":
            raise UnsupportedError("set_property: KafkaSink has no transactions; leave 'transactional.id' out")
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink:
        check_library("KafkaSink")
        if not self._properties.get(BOOTSTRAP):
            raise InvalidValueError("KafkaSink: no servers; call set_bootstrap_servers('host:9092')")
        if self._serializer is None:
            raise InvalidValueError(
                "KafkaSink: no record serializer; call set_record_serializer(...) with one from "
                "KafkaRecordSerializationSchema.builder()"
            )
        return KafkaSink(self._serializer, self._properties)
