import array
import collections
from typing import Any

import numpy as np
import pytest

from tidegate.common.row import Row, RowKind
from tidegate.common.typeinfo import ListTypeInfo, TypeInformation, Types
from tidegate.errors import InvalidTypeError, InvalidValueError

PEOPLE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
PAIR = Types.ROW([Types.INT(), Types.STRING()])
Point = collections.namedtuple("Point", ["x", "y"])

FITTING: list[tuple[TypeInformation, Any, Any]] = [
    (Types.LIST(Types.DOUBLE()), [1, None], [1.0, None]),
    (Types.LIST(Types.INT()), (1, 2), [1, 2]),
    (Types.LIST(Types.INT()), range(2), [0, 1]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), array.array("i", [1, 2]), [1, 2]),
    (Types.PRIMITIVE_ARRAY(Types.DOUBLE()), np.array([1, 2]), [1.0, 2.0]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"abc", b"abc"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"abc"), b"abc"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None], ["a", None]),
    (Types.BASIC_ARRAY(Types.BYTE()), [1, -2], [1, -2]),
    (Types.OBJECT_ARRAY(PAIR), [(1, "a")], [Row(f0=1, f1="a")]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1, "b": None}, {"a": 1.0, "b": None}),
    (Types.TUPLE([Types.INT(), Types.DOUBLE()]), (1, 2), (1, 2.0)),
    (Types.TUPLE([Types.INT(), Types.DOUBLE()]), [1, None], (1, None)),
    (Types.TUPLE([Types.INT(), Types.DOUBLE()]), Row(1, 2), (1, 2.0)),
    (Types.TUPLE([Types.INT(), Types.INT()]), Point(1, 2), (1, 2)),
    (PAIR, Row(1, "a"), Row(f0=1, f1="a")),
    (PAIR, (1, "a"), Row(f0=1, f1="a")),
    (PAIR, [1, None], Row(f0=1, f1=None)),
    (PAIR, Row(id=1, name="a"), Row(f0=1, f1="a")),
    (PAIR, Row(f1="a", f0=1), Row(f0=1, f1="a")),
    (PEOPLE, Row(1, "a"), Row(id=1, name="a")),
    (PEOPLE, (1, "a"), Row(id=1, name="a")),
    (PEOPLE, Row(id=1, name="a"), Row(id=1, name="a")),
    (PEOPLE, Row(name="a", id=1), Row(id=1, name="a")),
    (PEOPLE, {"name": "a", "id": 1}, Row(id=1, name="a")),
]

MISFITS: list[tuple[TypeInformation, Any, str]] = [
    (Types.LIST(Types.INT()), "ab", "expected LIST(INT), got str 'ab'"),
    (Types.LIST(Types.INT()), {1}, "expected LIST(INT), got set {1}"),
    (Types.LIST(Types.INT()), [1, "x"], "item 1: expected INT, got str 'x'"),
    (
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        [1, 2],
        "expected PRIMITIVE_ARRAY(BYTE), which is bytes, got list [1, 2]",
    ),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)], "expected MAP(STRING, INT), got list [('a', 1)]"),
    (Types.MAP(Types.STRING(), Types.INT()), {1: 1}, "key 1: expected STRING, got int 1"),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}, "value of 'a': expected INT, got str 'b'"),
    (Types.TUPLE([Types.INT()]), (1, 2), "expected TUPLE(INT), got tuple (1, 2)"),
    (Types.TUPLE([Types.INT()]), 1, "expected TUPLE(INT), got int 1"),
    (Types.TUPLE([Types.INT()]), ("x",), "field 0: expected INT, got str 'x'"),
    (PAIR, (1,), "expected ROW(INT, STRING), got tuple (1,)"),
    (PAIR, "ab", "expected ROW(INT, STRING), got str 'ab'"),
    (PAIR, {"f0": 1, "f1": "a"}, "expected ROW(INT, STRING), got dict {'f0': 1, 'f1': 'a'}"),
    (PAIR, ("x", 1), "field 'f0': expected INT, got str 'x'"),
    (PEOPLE, Row(a=1, b="x"), "expected ROW(id: INT, name: STRING), got Row Row(a=1, b='x')"),
    (PEOPLE, {"id": 1}, "expected ROW(id: INT, name: STRING), got dict {'id': 1}"),
    (PEOPLE, Row(1, 2), "field 'name': expected STRING, got int 2"),
    (
        Types.ROW_NAMED(["tags"], [Types.LIST(Types.ROW([Types.INT()]))]),
        ([(1,), ("x",)],),
        "field 'tags', item 1, field 'f0': expected INT, got str 'x'",
    ),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), FITTING, ids=repr)
def test_value_takes_the_form_it_has_in_pyflink(type_info: TypeInformation, value: Any, expected: Any) -> None:
    converted = type_info.convert(value, "map 'clean'")
    assert repr(converted) == repr(expected)
    assert type(converted) is type(expected)


@pytest.mark.parametrize(("type_info", "value", "text"), MISFITS, ids=repr)
def test_value_that_does_not_fit_is_refused(type_info: TypeInformation, value: Any, text: str) -> None:
    with pytest.raises(InvalidTypeError) as caught:
        type_info.convert(value, "map 'clean'")
    assert str(caught.value) == f"map 'clean': {text}; change output_type or the function's return value"


def test_row_keeps_its_kind() -> None:
    row = Row.of_kind(RowKind.DELETE, 1, "a")
    assert PEOPLE.convert(row, "map").get_row_kind() is RowKind.DELETE


def test_converted_row_is_not_the_one_given() -> None:
    row = Row(id=1, name="a")
    PEOPLE.convert(row, "map")["id"] = 2
    assert row.id == 1


def test_row_type_tells_its_fields() -> None:
    assert PEOPLE.get_field_names() == ["id", "name"]
    assert PEOPLE.get_field_types() == [Types.INT(), Types.STRING()]
    assert PEOPLE.get_field_index("name") == 1
    assert PAIR.get_field_names() == ["f0", "f1"]
    with pytest.raises(InvalidValueError, match=r"no field 'x' in ROW\(INT, STRING\): it has f0, f1"):
        PAIR.get_field_index("x")


def test_tuple_and_list_types_tell_their_elements() -> None:
    assert Types.TUPLE([Types.INT()]).get_field_types() == [Types.INT()]
    assert ListTypeInfo(Types.INT()).elem_type == Types.INT()


def test_type_does_not_change_with_the_list_it_was_made_from() -> None:
    types = [Types.INT()]
    row = Types.ROW(types)
    types.append(Types.STRING())
    assert row == Types.ROW([Types.INT()])


def test_types_that_differ_in_names_differ() -> None:
    assert Types.ROW_NAMED(["a"], [Types.INT()]) != Types.ROW_NAMED(["b"], [Types.INT()])
    assert Types.ROW_NAMED(["f0"], [Types.INT()]) != Types.ROW([Types.INT()])
    assert Types.BASIC_ARRAY(Types.INT()) != Types.PRIMITIVE_ARRAY(Types.INT())


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", 1], "ab"])
def test_row_needs_as_many_different_names_as_types(names: Any) -> None:
    with pytest.raises(InvalidValueError, match="ROW_NAMED: 2 field types need 2 different names, got "):
        Types.ROW_NAMED(names, [Types.INT(), Types.INT()])


def test_uncalled_type_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"LIST: expected a type such as Types.INT\(\), got .*; add \(\) to"):
        Types.LIST(Types.INT)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"ROW, position 1: expected a type such as .*, got 'INT'$"):
        Types.ROW([Types.INT(), "INT"])  # type: ignore[list-item]
    with pytest.raises(InvalidTypeError, match="MAP, values: expected a type"):
        Types.MAP(Types.INT(), int)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="TUPLE: expected a list of types, such as"):
        Types.TUPLE(Types.INT())  # type: ignore[arg-type]


def test_arrays_refuse_elements_they_cannot_hold() -> None:
    with pytest.raises(
        InvalidTypeError, match=r"PRIMITIVE_ARRAY: an element is one of .*, got STRING; use OBJECT_ARRAY"
    ):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    with pytest.raises(InvalidTypeError, match=r"BASIC_ARRAY: an element is one of .*STRING, got LIST\(INT\)"):
        Types.BASIC_ARRAY(Types.LIST(Types.INT()))
