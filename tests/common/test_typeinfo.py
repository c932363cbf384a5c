import dataclasses
import pickle
from typing import Any

import cloudpickle
import pytest

from tidegate.common.row import Row
from tidegate.common.typeinfo import DdlType, SparkType, TypeInformation, Types, as_type
from tidegate.errors import InvalidTypeError, InvalidValueError


@dataclasses.dataclass(frozen=True)
class FakeDataType:
    """Looks like a DataType of pyspark, which this package must not import."""

    name: str = "int"

    def jsonValue(self) -> str:  # noqa: N802
        return self.name

    def simpleString(self) -> str:  # noqa: N802
        return self.name


PRINTED: list[tuple[TypeInformation, str]] = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.INT()), "ObjectArrayTypeInfo<Integer>"),
    (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
    (Types.MAP(Types.INT(), Types.STRING()), "MapTypeInfo<Integer, String>"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), "TupleTypeInfo(Integer, String)"),
    (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
    (
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.LONG())]),
        "RowTypeInfo(a: Integer, b: ListTypeInfo<Long>)",
    ),
]
TYPES = [*(type_info for type_info, _ in PRINTED), DdlType("a INT"), SparkType(FakeDataType())]


@pytest.mark.parametrize(("type_info", "text"), PRINTED, ids=repr)
def test_type_prints_as_in_pyflink(type_info: TypeInformation, text: str) -> None:
    assert repr(type_info) == text


@pytest.mark.parametrize("type_info", TYPES, ids=repr)
def test_none_fits_every_type(type_info: TypeInformation) -> None:
    assert type_info.convert(None, "map 'clean'") is None


@pytest.mark.parametrize("type_info", TYPES, ids=repr)
def test_type_is_a_frozen_value(type_info: Any) -> None:
    for twin in (pickle.loads(pickle.dumps(type_info)), pickle.loads(cloudpickle.dumps(type_info))):
        assert twin == type_info
        assert hash(twin) == hash(type_info)
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        type_info.other = 1
    for field in dataclasses.fields(type_info):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(type_info, field.name, None)


def test_types_are_all_different() -> None:
    assert len(set(TYPES)) == len(TYPES)


def test_type_still_converts_after_pickling() -> None:
    row = pickle.loads(pickle.dumps(Types.ROW_NAMED(["a"], [Types.DOUBLE()])))
    assert row.convert((1,), "map") == Row(a=1.0)


def test_nothing_and_types_are_types_as_they_are() -> None:
    assert as_type(None, "map 'clean'") is None
    type_info = Types.INT()
    assert as_type(type_info, "map 'clean'") is type_info


def test_list_of_types_is_a_row() -> None:
    assert as_type([Types.INT(), Types.STRING()], "OutputTag") == Types.ROW([Types.INT(), Types.STRING()])


def test_text_is_a_ddl_type_that_changes_nothing() -> None:
    type_info = as_type("name STRING, age INT", "map 'clean'")
    assert type_info == DdlType("name STRING, age INT")
    value = ("Alice", 11)
    assert DdlType("name STRING, age INT").convert(value, "map 'clean'") is value
    assert DdlType("name STRING").describe() == "name STRING"


def test_spark_type_changes_nothing() -> None:
    type_info = as_type(FakeDataType(), "map 'clean'")
    assert type_info == SparkType(FakeDataType())
    assert SparkType(FakeDataType()).convert("x", "map 'clean'") == "x"
    assert SparkType(FakeDataType()).describe() == "int"


@pytest.mark.parametrize("text", ["", "  "])
def test_empty_text_is_no_type(text: str) -> None:
    with pytest.raises(InvalidValueError, match="map 'clean': the type is an empty text; write a Spark DDL string"):
        as_type(text, "map 'clean'")
    with pytest.raises(InvalidValueError, match="the Spark DDL string is empty"):
        DdlType(text)


@pytest.mark.parametrize("other", [int, 1, [1], FakeDataType, Types.INT, (Types.INT(),)], ids=repr)
def test_anything_else_is_no_type(other: Any) -> None:
    with pytest.raises(
        InvalidTypeError, match=r"^map 'clean': expected a type such as Types.INT\(\), a list of them, "
    ):
        as_type(other, "map 'clean'")


def test_uncalled_type_is_told_to_be_called() -> None:
    with pytest.raises(InvalidTypeError, match=r"; add \(\) to call it$"):
        as_type(Types.INT, "map 'clean'")


def test_spark_and_ddl_types_check_what_they_hold() -> None:
    with pytest.raises(InvalidTypeError, match="SparkType: expected a pyspark DataType, got 1"):
        SparkType(1)
    with pytest.raises(InvalidTypeError, match="DdlType: expected a Spark DDL string such as 'name STRING', got 1"):
        DdlType(1)  # type: ignore[arg-type]
