import pickle
from typing import Any

import pytest

from tidegate.common import ByteArraySchema, DeserializationSchema, Encoder, SerializationSchema, SimpleStringSchema
from tidegate.errors import InvalidTypeError, InvalidValueError


@pytest.mark.parametrize("charset", ["UTF-8", "gbk", "UTF-16"])
def test_text_survives_its_bytes(charset: str) -> None:
    schema = SimpleStringSchema(charset)
    assert schema.deserialize(schema.serialize("潮 tide")) == "潮 tide"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert SimpleStringSchema().deserialize(b"a\xff") == "a\N{REPLACEMENT CHARACTER}"
    assert SimpleStringSchema("ascii").serialize("a\N{EURO SIGN}") == b"a?"


def test_schemas_refuse_other_values() -> None:
    with pytest.raises(InvalidTypeError, match="SimpleStringSchema: expected text, got int 1; map it to str first"):
        SimpleStringSchema().serialize(1)
    with pytest.raises(InvalidTypeError, match="SimpleStringSchema: expected bytes, got str 'a'"):
        SimpleStringSchema().deserialize("a")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="ByteArraySchema: expected bytes, got str 'a'"):
        ByteArraySchema().serialize("a")


def test_bytes_stay_as_they_are() -> None:
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"ab")) == b"ab"
    assert schema.deserialize(b"ab") == b"ab"


def test_encoder_writes_lines() -> None:
    assert Encoder.simple_string_encoder().encode("a") == b"a\n"
    assert Encoder.simple_string_encoder("UTF-16-BE").encode(1) == b"\0001\000\n"


@pytest.mark.parametrize("charset", ["nope", "base64", 5])
def test_unknown_charset_is_refused(charset: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"SimpleStringSchema: unknown charset .*; use for example 'UTF-8'"):
        SimpleStringSchema(charset)
    with pytest.raises(InvalidValueError, match="simple_string_encoder: unknown charset"):
        Encoder.simple_string_encoder(charset)


@pytest.mark.parametrize("schema", [SimpleStringSchema("gbk"), ByteArraySchema(), Encoder.simple_string_encoder()])
def test_schema_survives_pickling(schema: Any) -> None:
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_users_write_their_own_schemas() -> None:
    class Reversed(SerializationSchema, DeserializationSchema):
        def serialize(self, element: Any) -> bytes:
            return bytes(reversed(element))

        def deserialize(self, message: bytes) -> Any:
            return bytes(reversed(message))

    assert Reversed().deserialize(Reversed().serialize(b"ab")) == b"ab"
