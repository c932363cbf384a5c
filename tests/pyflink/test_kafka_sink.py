"""Building a `KafkaSink`: what is refused, and what happens without a broker."""

import pickle
import socket
import sys
from typing import Any

import pytest

from tidegate.common import SimpleStringSchema
from tidegate.common.serialization import SerializationSchema
from tidegate.core.operator.sink import SinkContext
from tidegate.core.time.millis import MIN_TIME
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.connectors.base import DeliveryGuarantee
from tidegate.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from tidegate.errors import (
    ClosedError,
    DeliveryError,
    InvalidTypeError,
    InvalidValueError,
    MissingLibraryError,
    UnsupportedError,
)


class FirstLetter(KafkaTopicSelector):
    def apply(self, data: Any) -> str:
        return str(data)[0]


class NotBytes(SerializationSchema):
    def serialize(self, element: Any) -> Any:
        return 5


def serializer(topic: str = "tides") -> KafkaRecordSerializationSchema:
    return (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )


def builder() -> KafkaSinkBuilder:
    return KafkaSink.builder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer())


def test_a_missing_library_is_told_when_the_sink_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'tidegate\[kafka\]'"):
        builder().build()


def test_exactly_once_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnsupportedError, match=r"no EXACTLY_ONCE.*use DeliveryGuarantee\.AT_LEAST_ONCE.*FileSink"):
        builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(UnsupportedError, match=r"no transactions; leave 'transactional\.id' out"):
        builder().set_property("transactional.id", "a")


def test_weaker_guarantees_and_a_prefix_without_transactions_are_accepted() -> None:
    sink = builder().set_delivery_guarantee(DeliveryGuarantee.NONE).set_transactional_id_prefix("a").build()
    assert isinstance(sink, KafkaSink)


def test_what_is_missing_is_told_by_the_name_of_its_setter() -> None:
    with pytest.raises(InvalidValueError, match=r"no servers; call set_bootstrap_servers"):
        KafkaSink.builder().set_record_serializer(serializer()).build()
    with pytest.raises(InvalidValueError, match=r"no record serializer; call set_record_serializer"):
        KafkaSink.builder().set_bootstrap_servers("localhost:9092").build()
    with pytest.raises(InvalidValueError, match=r"no topic; call set_topic"):
        KafkaRecordSerializationSchema.builder().set_value_serialization_schema(SimpleStringSchema()).build()
    with pytest.raises(InvalidValueError, match=r"no schema for values; call set_value_serialization_schema"):
        KafkaRecordSerializationSchema.builder().set_topic("a").build()
    with pytest.raises(InvalidValueError, match=r"the topic is set already"):
        KafkaRecordSerializationSchema.builder().set_topic("a").set_topic_selector(FirstLetter())


def test_what_has_the_wrong_type_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(InvalidTypeError, match=r"set_topic: expected the name of a topic, got 5"):
        KafkaRecordSerializationSchema.builder().set_topic(wrong)
    with pytest.raises(InvalidTypeError, match=r"expected a KafkaTopicSelector or a function of the element, got 5"):
        KafkaRecordSerializationSchema.builder().set_topic_selector(wrong)
    with pytest.raises(InvalidTypeError, match=r"set_key_serialization_schema: expected a SerializationSchema"):
        KafkaRecordSerializationSchema.builder().set_key_serialization_schema(wrong)
    with pytest.raises(InvalidTypeError, match=r"set_record_serializer: expected a KafkaRecordSerializationSchema"):
        KafkaSink.builder().set_record_serializer(wrong)
    with pytest.raises(InvalidTypeError, match=r"set_delivery_guarantee: expected a DeliveryGuarantee"):
        KafkaSink.builder().set_delivery_guarantee(wrong)
    with pytest.raises(InvalidTypeError, match=r"set_property: expected two texts, got 'linger\.ms' and 5"):
        KafkaSink.builder().set_property("linger.ms", wrong)


def test_records_of_a_schema_are_checked() -> None:
    schema = KafkaRecordSerializationSchema.builder().set_topic_selector(FirstLetter())
    made = schema.set_value_serialization_schema(NotBytes()).build()
    assert made.topic("high") == "h"
    with pytest.raises(InvalidTypeError, match=r"the schema of the value must give bytes, got int 5; encode it"):
        made.serialize("high")
    selected: Any = KafkaRecordSerializationSchema.builder().set_topic_selector(lambda element: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidTypeError, match=r"the topic selector must give the name of a topic, got None"):
        selected.set_value_serialization_schema(SimpleStringSchema()).build().topic("high")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max.request.size", "1000", r"'max\.request\.size' is of the Java client; use 'message\.max\.bytes'"),
        ("no.such", "1", r"No such configuration property: \"no\.such\"; set_property takes the names of librdkafka"),
        ("linger.ms", "soon", r"a property is not accepted: Invalid value"),
    ],
)
def test_a_property_that_is_not_known_fails_before_the_first_record(name: str, value: str, message: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["high"]).sink_to(builder().set_property(name, value).build())
    with pytest.raises(InvalidValueError, match=message):
        env.execute()


def test_a_broker_that_is_not_there_fails_the_job_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = builder().set_bootstrap_servers(address).set_property("delivery.timeout.ms", "1500").build()
    env.from_collection(["high"]).sink_to(sink)
    with pytest.raises(DeliveryError, match=rf"topic 'tides' on {address}: .*timed out \(.*Connection refused"):
        env.execute()


def test_a_sink_travels_without_its_connection() -> None:
    sink = builder().build()
    sink.open(None)
    copy = pickle.loads(pickle.dumps(sink))
    sink.close()
    sink.flush()
    with pytest.raises(ClosedError, match=r"KafkaSink: not open"):
        copy.write("high", SinkContext(None, MIN_TIME))
