"""Building a `KafkaSource`: what is refused, and what travels; no broker."""

import pickle
import socket
import sys
from typing import Any

import pytest

from tidegate.common import SimpleStringSchema
from tidegate.datastream.connectors import KafkaSource
from tidegate.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from tidegate.errors import (
    FetchError,
    InvalidTypeError,
    InvalidValueError,
    MissingLibraryError,
    TidegateError,
    UnsupportedError,
)


def builder() -> KafkaSourceBuilder:
    return KafkaSource.builder().set_bootstrap_servers("localhost:9092").set_topics("tides")


def text() -> KafkaSourceBuilder:
    return builder().set_value_only_deserializer(SimpleStringSchema())


def test_a_missing_library_is_told_when_the_source_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingLibraryError, match=r"KafkaSource needs .* pip install 'tidegate\[kafka\]'"):
        text().build()


def test_what_is_missing_is_told_by_the_name_of_its_setter() -> None:
    with pytest.raises(InvalidValueError, match=r"no servers; call set_bootstrap_servers"):
        KafkaSource.builder().build()
    with pytest.raises(InvalidValueError, match=r"no topics; call set_topics"):
        KafkaSource.builder().set_bootstrap_servers("localhost:9092").build()
    with pytest.raises(InvalidValueError, match=r"in one way: set_json_schema\(.*or set_value_only_deserializer"):
        builder().build()
    with pytest.raises(InvalidValueError, match=r"in one way"):
        text().set_json_schema("user string").build()


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda b: b.set_topics(), InvalidValueError, "set_topics: expected names of topics"),
        (lambda b: b.set_topic_pattern("t.*"), UnsupportedError, "name the topics with set_topics"),
        (lambda b: b.set_partitions({}), UnsupportedError, "name them with set_topics"),
        (lambda b: b.set_starting_offsets("earliest"), InvalidTypeError, "set_starting_offsets: expected KafkaOff"),
        (lambda b: b.set_bounded(5), InvalidTypeError, "set_bounded: expected KafkaOffsetsInitializer"),
        (lambda b: b.set_unbounded(5), InvalidTypeError, "set_unbounded: expected KafkaOffsetsInitializer"),
        (lambda b: b.set_value_only_deserializer(str), InvalidTypeError, "expected a DeserializationSchema"),
        (lambda b: b.set_json_schema("user txt"), InvalidValueError, "KafkaSource: unknown type 'txt'"),
        (lambda b: b.set_max_rows_per_batch(0), InvalidValueError, "expected a number from 1 on, got 0"),
        (lambda b: b.set_property("a", 1), InvalidTypeError, "set_property: expected two texts"),
        (
            lambda b: b.set_property("partition.discovery.interval.ms", "soon").build(),
            InvalidValueError,
            "must be milliseconds, got 'soon'",
        ),
        (
            lambda b: b.set_property("value.deserializer", "x").build().client(),
            InvalidValueError,
            "property 'value.deserializer' is of the Java client; leave it out",
        ),
        (lambda b: KafkaOffsetsInitializer.timestamp(-1), InvalidValueError, "expected milliseconds since 1970"),
    ],
)
def test_what_cannot_work_is_refused(call: Any, kind: type[TidegateError], said: str) -> None:
    with pytest.raises(kind, match=said):
        call(text())


def test_a_broker_that_does_not_answer_is_told_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.ingest.kafka_client._ASK_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    source = text().set_bootstrap_servers(address).build()
    with pytest.raises(FetchError, match=rf"KafkaSource: {address}: "):
        source.expected_channels()


def test_a_source_travels_with_all_that_was_set() -> None:
    start = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("tides", 3): 5}, KafkaOffsetResetStrategy.LATEST)
    source = (
        builder()
        .set_json_schema("user string, ts timestamp")
        .set_starting_offsets(start)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_properties({"client.rack": "a", "partition.discovery.interval.ms": "500"})
        .set_group_id("g")
        .set_max_rows_per_batch(7)
        .set_fail_on_data_loss(False)
        .build()
    )
    copy = pickle.loads(pickle.dumps(source))
    assert copy.properties == {"bootstrap.servers": "localhost:9092", "client.rack": "a", "group.id": "g"}
    assert copy.starting.given == (("tides/3", 5),)
    assert copy.schema.names == ["user", "ts"]
    assert (copy.is_bounded, copy.max_rows, copy.fails_on_loss, copy.discovery_millis) == (True, 7, False, 500)
