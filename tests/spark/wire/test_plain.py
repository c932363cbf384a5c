"""Messages as plain data: they come back as they were, and what is not plain is refused by name."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.common import Row, RowKind
from tidegate.core.operator.output_tag import DeadLetter
from tidegate.core.watermark.records import Watermark, WatermarkStatus
from tidegate.engine.messages import Element, Joined, Moved, Report, Results, Tick
from tidegate.errors import InvalidTypeError
from tidegate.spark.wire.plain import decode_messages, encode_messages

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
MOMENTS = st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC)) | st.dates() | st.times() | st.timedeltas()
HASHABLE = PLAIN | MOMENTS | st.decimals(allow_nan=False) | st.uuids() | st.frozensets(st.integers())
VALUES = st.recursive(
    HASHABLE | st.sets(HASHABLE),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(HASHABLE, inner)
        | st.lists(inner, min_size=1).map(lambda values: Row(*values))
    ),
    max_leaves=8,
)


def there_and_back(value: Any) -> Any:
    (message,) = decode_messages(encode_messages([Element((1, "a"), 3, "c", None, value, 5)]))
    assert isinstance(message, Element)
    assert message[:4] == ((1, "a"), 3, "c", None)
    return message.value


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)


def test_rows_letters_and_numbers_of_numpy_come_back() -> None:
    row = Row(name="ann", at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    row.set_row_kind(RowKind.DELETE)
    assert there_and_back(row) == row
    assert there_and_back(row).get_row_kind() is RowKind.DELETE
    letter = DeadLetter("map", (1, Decimal("1.50"), uuid.UUID(int=5)), 7, "ValueError")
    assert there_and_back(letter) == letter
    assert there_and_back([np.int64(5), np.float32(0.5), np.bool_(True)]) == [5, 0.5, True]
    assert str(there_and_back([float("nan"), float("-inf")])) == "[nan, -inf]"


def test_every_message_for_sinks_comes_back_and_others_are_left_out() -> None:
    table = pa.table({"user": ["a", None], "n": [1, 2]})
    messages: list[Any] = [
        Moved((1, "a"), 2, "c", Watermark(5)),
        Moved((1, "b"), 2, "c", WatermarkStatus.IDLE),
        Joined((2, "a", 0), 2, "c"),
        Report(1, {"uid": {"count": 5}}),
        Results((3, "a"), 2, "c", table),
    ]
    assert decode_messages(encode_messages([*messages, Tick()])) == messages


class Reading(NamedTuple):
    level: int


@pytest.mark.parametrize("value", [Reading(1), object(), lambda: None, [{"deep": Reading(1)}]])
def test_what_is_not_plain_is_refused_by_name(value: Any) -> None:
    with pytest.raises(
        InvalidTypeError, match=r"sinks as plain data: .* is no plain data but a .*; map elements to rows, tuples or"
    ):
        there_and_back(value)
