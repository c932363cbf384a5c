from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME, add, check_timestamp, saturate, subtract
from tidegate.errors import InvalidTypeError, InvalidValueError


def test_times_are_signed_64_bit() -> None:
    assert (np.iinfo(np.int64).min, np.iinfo(np.int64).max) == (MIN_TIME, MAX_TIME)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (MAX_TIME, MAX_TIME),
        (MAX_TIME + 1, MAX_TIME),
        (2**200, MAX_TIME),
        (MIN_TIME, MIN_TIME),
        (MIN_TIME - 1, MIN_TIME),
        (-(2**200), MIN_TIME),
    ],
)
def test_saturate_gives_the_nearest_time(value: int, expected: int) -> None:
    assert saturate(value) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (2, 3, 5),
        (MAX_TIME, 0, MAX_TIME),
        (MAX_TIME, 1, MAX_TIME),
        (MIN_TIME, -1, MIN_TIME),
        (MIN_TIME, MAX_TIME, -1),
        (MAX_TIME, MAX_TIME, MAX_TIME),
    ],
)
def test_add_saturates_at_both_ends(left: int, right: int, expected: int) -> None:
    assert add(left, right) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (2, 3, -1),
        (MIN_TIME, 1, MIN_TIME),
        (MAX_TIME, -1, MAX_TIME),
        (0, MIN_TIME, MAX_TIME),
        (-1, MIN_TIME, MAX_TIME),
        (MIN_TIME, MAX_TIME, MIN_TIME),
    ],
)
def test_subtract_saturates_at_both_ends(left: int, right: int, expected: int) -> None:
    assert subtract(left, right) == expected


@pytest.mark.parametrize("value", [0, MIN_TIME, MAX_TIME, np.int64(MAX_TIME), np.int32(-7), np.uint8(3)])
def test_integers_of_python_and_numpy_are_timestamps(value: Any) -> None:
    timestamp = check_timestamp(value, "here")
    assert (timestamp, type(timestamp)) == (int(value), int)


@pytest.mark.parametrize(
    "value",
    [1.0, np.float64(1.0), "1", None, datetime.datetime(2024, 1, 1), np.datetime64(0, "ms"), np.bool_(True), [1]],
)
def test_what_is_no_integer_is_refused_with_a_hint(value: Any) -> None:
    with pytest.raises(InvalidTypeError) as caught:
        check_timestamp(value, "clicks")
    assert str(caught.value) == (
        f"clicks: a timestamp is an integer in milliseconds, got {type(value).__name__} {value!r}; "
        "convert it, for example int(value.timestamp() * 1000) for a datetime"
    )


def test_a_bool_is_no_timestamp() -> None:
    with pytest.raises(InvalidTypeError, match="clicks: a timestamp is an integer in milliseconds, got the bool True"):
        check_timestamp(True, "clicks")


@pytest.mark.parametrize("value", [MAX_TIME + 1, MIN_TIME - 1, np.uint64(2**63)])
def test_a_timestamp_beyond_64_bits_is_refused(value: Any) -> None:
    message = f"clicks: the timestamp {int(value)} does not fit into 64 bits"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        check_timestamp(value, "clicks")
