"""`KafkaSink` with a real broker, in process and on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.kafka.broker import Broker

from tidegate.common import SimpleStringSchema, WatermarkStrategy
from tidegate.common.serialization import SerializationSchema
from tidegate.datastream import StreamExecutionEnvironment
from tidegate.datastream.connectors.base import DeliveryGuarantee
from tidegate.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from tidegate.datastream.window import TumblingEventTimeWindows
from tidegate.errors import DeliveryError

pytestmark = pytest.mark.spark

CREATE_TIME = 1
"""Kafka's mark for a timestamp that the sender has chosen."""


class UserAsKey(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element[0]).encode()


class AmountAsValue(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element[2]).encode()


def sink(broker: Broker, topic: Any, **properties: str) -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder()
    schema = schema.set_topic_selector(topic) if callable(topic) else schema.set_topic(topic)
    serializer = (
        schema.set_key_serialization_schema(UserAsKey()).set_value_serialization_schema(AmountAsValue()).build()
    )
    builder = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    )
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()


def totals(env: StreamExecutionEnvironment, orders: list[tuple[str, int, int]]) -> Any:
    """The sum of each user's minute; its timestamp is the last millisecond of the minute."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda order, _: order[1])
    return (
        env.from_collection(orders)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda order: order[0])
        .window(TumblingEventTimeWindows.of("1 minute"))
        .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    )


ORDERS = [("ann", 5_000, 3), ("bob", 7_000, 1), ("ann", 9_000, 4), ("ann", 61_000, 5), ("bob", 130_000, 2)]
TOTALS = {
    ("ann", "7", 59_999),
    ("bob", "1", 59_999),
    ("ann", "5", 119_999),
    ("bob", "2", 179_999),
}


def records(messages: list[Any]) -> set[tuple[str, str, int]]:
    assert all(message.timestamp()[0] == CREATE_TIME for message in messages)
    return {(message.key().decode(), message.value().decode(), message.timestamp()[1]) for message in messages}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_results_arrive_with_their_keys_and_timestamps(broker: Broker, parallelism: int) -> None:
    topic = broker.create_topic("totals", partitions=3)
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=parallelism)
    totals(env, ORDERS).sink_to(sink(broker, topic))
    env.execute("totals")
    messages = broker.read(topic, len(TOTALS))
    assert len(messages) == len(TOTALS)
    assert records(messages) == TOTALS
    places = {(message.key(), message.partition()) for message in messages}
    assert len(places) == 2, "a key has one partition"


def test_results_arrive_from_spark_with_their_keys_and_timestamps(broker: Broker, spark: Any) -> None:
    topic = broker.create_topic("totals")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2)
    totals(env, ORDERS).sink_to(sink(broker, topic))
    env.execute("totals")
    messages = broker.read(topic, len(TOTALS))
    assert len(messages) == len(TOTALS)
    assert records(messages) == TOTALS


def test_a_selector_chooses_the_topic_and_many_records_keep_their_order(broker: Broker) -> None:
    topics = {"even": broker.create_topic("even"), "odd": broker.create_topic("odd")}
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local", parallelism=1)
    numbers = env.from_collection([("all", 0, number) for number in range(20_000)])
    # Fewer than there are records: the sink waits while the queue is full.
    target = sink(broker, lambda e: topics["even" if e[2] % 2 == 0 else "odd"], queue_buffering_max_messages="1000")
    numbers.sink_to(target)
    env.execute("numbers")
    for parity, topic in enumerate(topics.values()):
        values = [int(message.value()) for message in broker.read(topic, 10_000)]
        assert values == list(range(parity, 20_000, 2))


def test_text_without_a_key_or_a_timestamp_is_sent_too(broker: Broker) -> None:
    topic = broker.create_topic("words")
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    words = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(serializer).build()
    env.from_collection(["high", "low"]).sink_to(words)
    env.execute("words")
    messages = broker.read(topic, 2)
    assert sorted(message.value() for message in messages) == [b"high", b"low"]
    assert {message.key() for message in messages} == {None}
    assert all(message.timestamp()[1] > 1_700_000_000_000 for message in messages), "Kafka gives them that of the clock"


def test_a_topic_that_is_not_there_fails_the_job_with_its_name(broker: Broker) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.from_collection(ORDERS).sink_to(sink(broker, "nowhere", topic_metadata_propagation_max_ms="500"))
    with pytest.raises(DeliveryError, match=rf"topic 'nowhere' on {broker.servers}: .*[Uu]nknown topic"):
        env.execute()


def test_a_record_that_the_broker_refuses_fails_the_job_on_spark(broker: Broker, spark: Any, tmp_path: Path) -> None:
    """And goes on where it was, when it can be delivered."""
    missing = "comes-later"
    folder = str(tmp_path / "checkpoint")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=folder)
    totals(env, ORDERS).sink_to(sink(broker, missing, topic_metadata_propagation_max_ms="500"))
    with pytest.raises(DeliveryError, match=r"topic 'comes-later' on .*[Uu]nknown topic"):
        env.execute()
    topic = broker.create_topic("totals")
    env = StreamExecutionEnvironment.get_execution_environment(spark, parallelism=2, checkpoint=folder)
    totals(env, ORDERS).sink_to(sink(broker, topic))
    env.execute()
    assert records(broker.read(topic, len(TOTALS))) == TOTALS
