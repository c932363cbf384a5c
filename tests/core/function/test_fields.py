from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tidegate.common import Row
from tidegate.core.function.fields import FieldKey, FieldReducer, get_field, with_field
from tidegate.errors import InvalidTypeError, InvalidValueError


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    user: str
    amount: int


def named_row() -> Row:
    row = Row("ann", 3)
    row.set_field_names(["user", "amount"])
    return row


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        (("a", 1), 1, 1),
        (["a", 1], 0, "a"),
        ({"a": 1}, "a", 1),
        ({0: "zero"}, 0, "zero"),
        (Point(1, 2), "y", 2),
        (Point(1, 2), 0, 1),
        (Order("ann", 3), "amount", 3),
        (named_row(), "amount", 3),
        (named_row(), 0, "ann"),
        (5, 0, 5),
        (2.5, 0, 2.5),
    ],
    ids=repr,
)
def test_a_field_is_found_by_position_or_name(value: Any, field: Any, expected: Any) -> None:
    assert get_field(value, field) == expected


@pytest.mark.parametrize(
    ("value", "field"),
    [(("a",), 1), (("a",), "x"), ({"a": 1}, "b"), (5, 1), (Order("ann", 3), "x"), (Order("a", 1), 0), (None, 0)],
    ids=repr,
)
def test_a_field_that_is_not_there_names_the_record(value: Any, field: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"the record .* has no field"):
        get_field(value, field)


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        (("a", 1), 1, ("a", 9)),
        (["a", 1], 1, ["a", 9]),
        ({"a": 1}, "a", {"a": 9}),
        (Point(1, 2), "y", Point(1, 9)),
        (Point(1, 2), 0, Point(9, 2)),
        (Order("ann", 3), "amount", Order("ann", 9)),
        (5, 0, 9),
    ],
    ids=repr,
)
def test_replacing_a_field_leaves_the_element_as_it_was(value: Any, field: Any, expected: Any) -> None:
    before = repr(value)
    changed = with_field(value, field, 9)
    assert changed == expected
    assert type(changed) is type(value)
    assert repr(value) == before


def test_a_field_of_a_row_with_names_can_be_replaced() -> None:
    row = named_row()
    changed = with_field(row, "amount", 9)
    assert (changed["user"], changed["amount"], row["amount"]) == ("ann", 9, 3)


@pytest.mark.parametrize(
    ("how", "expected"),
    [("sum", ("a", 8)), ("min", ("a", 3)), ("max", ("a", 5)), ("min_by", ("b", 3)), ("max_by", ("a", 5))],
)
def test_reductions_by_a_field(how: str, expected: Any) -> None:
    assert FieldReducer(how, 1)(("a", 5), ("b", 3)) == expected


@pytest.mark.parametrize("how", ["min_by", "max_by"])
def test_of_equal_elements_the_earlier_stays(how: str) -> None:
    assert FieldReducer(how, 1)(("first", 5), ("second", 5)) == ("first", 5)


def test_a_key_may_be_one_field_or_several() -> None:
    assert FieldKey("user")({"user": "ann", "shop": 7}) == "ann"
    assert FieldKey("user", "shop")({"user": "ann", "shop": 7}) == ("ann", 7)


@pytest.mark.parametrize("field", [True, None, 1.5])
def test_a_field_is_a_position_or_a_name(field: Any) -> None:
    with pytest.raises(InvalidTypeError, match="sum: expected the position or name of a field, got"):
        FieldReducer("sum", field)
    with pytest.raises(InvalidTypeError, match="key_by: expected the position or name of a field, got"):
        FieldKey(field)
