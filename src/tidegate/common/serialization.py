"""Schemas and encoders: how values become bytes in sinks, and bytes become values in sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate._refused import refusing
from tidegate.errors import InvalidTypeError, InvalidValueError


class SerializationSchema(ABC):
    """Turns a value into bytes, one message for each value. Subclass it for a format of your own."""

    __slots__ = ()

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """The message for this value."""


class DeserializationSchema(ABC):
    """Turns a message into a value. Subclass it for a format of your own."""

    __slots__ = ()

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The value of this message, or None to leave it out."""


@dataclass(frozen=True, slots=True)
class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    r"""Text as bytes in a charset. What the charset cannot say is replaced, as in Flink, and does not fail the job.

    >>> SimpleStringSchema().serialize("tide")
    b'tide'
    >>> SimpleStringSchema("ISO-8859-1").deserialize(b"caf\xe9")
    'café'
    """

    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset, "SimpleStringSchema")

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, str):
            raise InvalidTypeError(
                f"SimpleStringSchema: expected text, got {type(element).__name__} {element!r}; map it to str first"
            )
        return element.encode(self.charset, "replace")

    def deserialize(self, message: bytes) -> str:
        return _check_bytes(message, "SimpleStringSchema").decode(self.charset, "replace")


@dataclass(frozen=True, slots=True)
class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, element: Any) -> bytes:
        return _check_bytes(element, "ByteArraySchema")

    def deserialize(self, message: bytes) -> bytes:
        return _check_bytes(message, "ByteArraySchema")


class Encoder(ABC):
    """Turns a value into the bytes that a file sink appends. Subclass it for a format of your own."""

    __slots__ = ()

    @abstractmethod
    def encode(self, element: Any) -> bytes:
        """The bytes of this value, with whatever separates it from the next."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        r"""One line of text for each value, as `str` gives it.

        >>> Encoder.simple_string_encoder().encode(("a", 1))
        b"('a', 1)\n"
        """
        return _LineEncoder(charset_name)


@dataclass(frozen=True, slots=True)
class _LineEncoder(Encoder):
    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset, "simple_string_encoder")

    def encode(self, element: Any) -> bytes:
        return f"{element}\n".encode(self.charset, "replace")


def _check_charset(name: str, where: str) -> None:
    try:
        "".encode(name)
    except (LookupError, TypeError):
        raise InvalidValueError(f"{where}: unknown charset {name!r}; use for example 'UTF-8'") from None


def _check_bytes(value: Any, where: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise InvalidTypeError(f"{where}: expected bytes, got {type(value).__name__} {value!r}")


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
