"""What a Kafka sink sends for an element: the topic, the key and the value of a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from tidegate.common.serialization import SerializationSchema
from tidegate.errors import InvalidTypeError, InvalidValueError


class KafkaTopicSelector(ABC):
    """Chooses the topic of each element. A function of the element does as well."""

    __slots__ = ()

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The name of the topic."""


class KafkaRecordSerializationSchema(SerializationSchema):
    """The record of an element. Make one with `KafkaRecordSerializationSchema.builder()`.

    >>> from tidegate.common import SimpleStringSchema
    >>> schema = KafkaRecordSerializationSchema.builder().set_topic("tides").set_value_serialization_schema(
    ...     SimpleStringSchema()).build()
    >>> schema.topic("high"), schema.key("high"), schema.serialize("high")
    ('tides', None, b'high')
    """

    def __init__(
        self,
        topic_selector: Callable[[Any], str],
        value_schema: SerializationSchema,
        key_schema: SerializationSchema | None = None,
    ) -> None:
        self._topic_selector = topic_selector
        self._value_schema = value_schema
        self._key_schema = key_schema

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        return KafkaRecordSerializationSchemaBuilder()

    def topic(self, element: Any) -> str:
        topic = self._topic_selector(element)
        if not isinstance(topic, str) or not topic:
            raise InvalidTypeError(f"KafkaSink: the topic selector must give the name of a topic, got {topic!r}")
        return topic

    def key(self, element: Any) -> bytes | None:
        """The key, None if there is no schema for keys: then records are spread over the partitions."""
        return None if self._key_schema is None else _checked(self._key_schema.serialize(element), "key")

    def serialize(self, element: Any) -> bytes:
        """The value; a schema that gives None makes a record without a value, which deletes its key."""
        value: Any = _checked(self._value_schema.serialize(element), "value")
        return value  # type: ignore[no-any-return]


class KafkaRecordSerializationSchemaBuilder:
    """Needs a topic or a topic selector, and a schema for values."""

    def __init__(self) -> None:
        self._topic_selector: Callable[[Any], str] | None = None
        self._key_schema: SerializationSchema | None = None
        self._value_schema: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """One topic for all."""
        if not isinstance(topic, str) or not topic:
            raise InvalidTypeError(f"set_topic: expected the name of a topic, got {topic!r}")
        return self._select(_OneTopic(topic).apply)

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """A topic for each element."""
        select = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        if not callable(select):
            raise InvalidTypeError(
                f"set_topic_selector: expected a KafkaTopicSelector or a function of the element, got {select!r}"
            )
        return self._select(select)

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The key of each element; records with the same key go to the same partition."""
        self._key_schema = _checked_schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """The value of each element."""
        self._value_schema = _checked_schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        if self._topic_selector is None:
            raise InvalidValueError(
                "KafkaRecordSerializationSchema: no topic; call set_topic(...) or set_topic_selector(...)"
            )
        if self._value_schema is None:
            raise InvalidValueError(
                "KafkaRecordSerializationSchema: no schema for values; call "
                "set_value_serialization_schema(...), for text with SimpleStringSchema()"
            )
        return KafkaRecordSerializationSchema(self._topic_selector, self._value_schema, self._key_schema)

    def _select(self, select: Callable[[Any], str]) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic_selector is not None:
            raise InvalidValueError("KafkaRecordSerializationSchema: the topic is set already; set it once")
        self._topic_selector = select
        return self


class _OneTopic(KafkaTopicSelector):
    __slots__ = ("_topic",)

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def apply(self, data: Any) -> str:
        return self._topic


def _checked_schema(schema: Any, where: str) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise InvalidTypeError(f"{where}: expected a SerializationSchema such as SimpleStringSchema(), got {schema!r}")
    return schema


def _checked(data: Any, what: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    raise InvalidTypeError(
        f"KafkaSink: the schema of the {what} must give bytes, got {type(data).__name__} {data!r}; encode it"
    )
