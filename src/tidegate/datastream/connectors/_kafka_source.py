"""`KafkaSource`: topics of Kafka as a stream, exactly once into state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NoReturn

from tidegate.common.row import row_maker
from tidegate.common.serialization import DeserializationSchema
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError
from tidegate.ingest.kafka_library import BOOTSTRAP, check_library
from tidegate.ingest.kafka_offsets import OffsetKind, OffsetRule
from tidegate.ingest.kafka_topics import KafkaTopics
from tidegate.ingest.schemas import as_arrow_schema

_DISCOVERY: Final = "partition.discovery.interval.ms"
_DISCOVERY_MILLIS: Final = "10000"


@dataclass(frozen=True, slots=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where to begin a partition that a rule says nothing about; `NONE` fails the job."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


_RESETS: Final[Mapping[KafkaOffsetResetStrategy, OffsetKind | None]] = {
    KafkaOffsetResetStrategy.LATEST: OffsetKind.LATEST,
    KafkaOffsetResetStrategy.EARLIEST: OffsetKind.EARLIEST,
    KafkaOffsetResetStrategy.NONE: None,
}


@dataclass(frozen=True, slots=True)
class KafkaOffsetsInitializer:
    """Where each partition begins, or ends. Get one from its static methods."""

    rule: OffsetRule

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record that is there."""
        return KafkaOffsetsInitializer(OffsetRule(OffsetKind.EARLIEST))

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Behind the last record that is there when the job begins."""
        return KafkaOffsetsInitializer(OffsetRule(OffsetKind.LATEST))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp in Kafka is this or later, in milliseconds since 1970."""
        if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
            raise InvalidValueError(
                f"KafkaOffsetsInitializer.timestamp: expected milliseconds since 1970, got {timestamp!r}"
            )
        return KafkaOffsetsInitializer(OffsetRule(OffsetKind.TIMESTAMP, timestamp))

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the group of `set_group_id` has committed. Tidegate itself commits nothing."""
        return KafkaOffsetsInitializer(OffsetRule(OffsetKind.COMMITTED, otherwise=_RESETS[offset_reset_strategy]))

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These offsets."""
        given = tuple(sorted((f"{place.topic}/{place.partition}", offset) for place, offset in offsets.items()))
        rule = OffsetRule(OffsetKind.GIVEN, given=given, otherwise=_RESETS[offset_reset_strategy])
        return KafkaOffsetsInitializer(rule)


class KafkaSource(KafkaTopics):
    """Topics of Kafka. Each partition is a channel `topic/partition` with a watermark of its own.

    The offsets of a batch are chosen before it is read and kept in the checkpoint: a batch that comes again reads the
    same records. Nothing is committed to Kafka. The timestamp of an element is that of its record. Build it with
    `KafkaSource.builder()`.
    """

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        return KafkaSourceBuilder()


class KafkaSourceBuilder:
    """Needs the servers, the topics, and how values become elements: a schema for JSON, or a deserializer."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._topics: tuple[str, ...] = ()
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False
        self._deserializer: DeserializationSchema | None = None
        self._schema: Any = None
        self._max_rows: int | None = None
        self._fails_on_loss = True

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Where to find the brokers: `"host:port,host:port"`."""
        return self.set_property(BOOTSTRAP, bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The name of the group, for rights and quotas in Kafka, and for `committed_offsets`."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """How the consumers call themselves."""
        return self.set_property("client.id", prefix)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise InvalidValueError(f"set_topics: expected names of topics, got {topics!r}")
        self._topics = tuple(dict.fromkeys(topics))
        return self

    def set_topic_pattern(self, topic_pattern: str) -> NoReturn:
        raise UnsupportedError("set_topic_pattern: name the topics with set_topics")

    def set_partitions(self, partitions: Any) -> NoReturn:
        raise UnsupportedError("set_partitions: topics are read whole; name them with set_topics")

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Where a new job begins: the first record unless this says otherwise. A restart goes on where it was."""
        self._starting = _initializer(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """End there, at the latest with what is there when the job begins. Offsets are fixed when it first runs."""
        self._stopping = _initializer(stopping_offsets_initializer, "set_bounded")
        self._is_bounded = True
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Read up to there, and let time wait instead of ending it."""
        self._stopping = _initializer(stopping_offsets_initializer, "set_unbounded")
        self._is_bounded = False
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """How a value becomes an element, such as `SimpleStringSchema()`."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise InvalidTypeError(
                "set_value_only_deserializer: expected a DeserializationSchema such as SimpleStringSchema(), "
                f"got {deserialization_schema!r}"
            )
        self._deserializer = deserialization_schema
        return self

    def set_json_schema(self, schema: Any) -> KafkaSourceBuilder:
        """Values are JSON objects of which these columns are read: DDL text, a StructType or a pyarrow.Schema.

        Elements are rows with these fields, null where an object has none. Windows with `agg` run on columns.
        """
        self._schema = as_arrow_schema(schema, "KafkaSource")
        return self

    def set_max_rows_per_batch(self, max_rows: int) -> KafkaSourceBuilder:
        """At most so many offsets in a batch, of each partition in proportion to what waits there."""
        if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
            raise InvalidValueError(f"set_max_rows_per_batch: expected a number from 1 on, got {max_rows!r}")
        self._max_rows = max_rows
        return self

    def set_fail_on_data_loss(self, fail_on_data_loss: bool) -> KafkaSourceBuilder:
        """Whether the job fails where Kafka has deleted records before they were read. It does by default."""
        self._fails_on_loss = bool(fail_on_data_loss)
        return self

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A property of the consumer, under librdkafka's name, which is the Java client's for most.

        What says where to begin and when to commit is Tidegate's. `partition.discovery.interval.ms` is how often new
        partitions are looked for.
        """
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidTypeError(f"set_property: expected two texts, got {key!r} and {value!r}")
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        check_library("KafkaSource")
        if not self._properties.get(BOOTSTRAP):
            raise InvalidValueError("KafkaSource: no servers; call set_bootstrap_servers('host:9092')")
        if not self._topics:
            raise InvalidValueError("KafkaSource: no topics; call set_topics('orders')")
        if (self._schema is None) == (self._deserializer is None):
            raise InvalidValueError(
                "KafkaSource: say how values become elements, in one way: set_json_schema('user string, amount long') "
                "or set_value_only_deserializer(SimpleStringSchema())"
            )
        properties = dict(self._properties)
        interval = properties.pop(_DISCOVERY, _DISCOVERY_MILLIS)
        if not interval.isdecimal():
            raise InvalidValueError(f"KafkaSource: {_DISCOVERY} must be milliseconds, got {interval!r}")
        return KafkaSource(
            self._topics,
            properties,
            self._starting.rule,
            None if self._stopping is None else self._stopping.rule,
            deserialize=None if self._deserializer is None else self._deserializer.deserialize,
            schema=self._schema,
            make_rows=row_maker,
            is_bounded=self._is_bounded,
            max_rows=self._max_rows,
            fails_on_loss=self._fails_on_loss,
            discovery_millis=int(interval),
        )


def _initializer(value: Any, where: str) -> KafkaOffsetsInitializer:
    if not isinstance(value, KafkaOffsetsInitializer):
        raise InvalidTypeError(f"{where}: expected KafkaOffsetsInitializer.latest() or another, got {value!r}")
    return value
