from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError, InvalidValueError


def test_a_record_has_no_timestamp_unless_it_is_given_one() -> None:
    assert Record("a").timestamp is None
    assert Record("a", 5) == ("a", 5)


def test_watermarks_are_ordered_by_time() -> None:
    assert sorted([Watermark.MAX, Watermark(3), Watermark.MIN]) == [Watermark.MIN, Watermark(3), Watermark.MAX]


def test_the_first_and_the_last_watermark_are_the_ends_of_time() -> None:
    assert (Watermark.MIN.timestamp, Watermark.MAX.timestamp) == (MIN_TIME, MAX_TIME)


@pytest.mark.parametrize(("timestamp", "is_end"), [(MAX_TIME, True), (MAX_TIME - 1, False), (MIN_TIME, False)])
def test_only_the_highest_watermark_ends_its_channel(timestamp: int, is_end: bool) -> None:
    assert Watermark(timestamp).is_end is is_end


def test_a_numpy_timestamp_becomes_a_plain_integer() -> None:
    assert type(Watermark(np.int64(5)).timestamp) is int  # type: ignore[arg-type]


@pytest.mark.parametrize("timestamp", [1.5, "5", None, True])
def test_a_watermark_takes_integers_only(timestamp: Any) -> None:
    with pytest.raises(InvalidTypeError, match="Watermark: a timestamp is an integer in milliseconds, got "):
        Watermark(timestamp)


def test_a_watermark_beyond_64_bits_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="Watermark: the timestamp 9223372036854775808 does not fit"):
        Watermark(MAX_TIME + 1)


def test_a_watermark_is_frozen() -> None:
    watermark = Watermark(5)
    with pytest.raises(FrozenInstanceError):
        watermark.timestamp = 6  # type: ignore[misc]


@pytest.mark.parametrize("element", [Watermark(5), Watermark.MAX, WatermarkStatus.IDLE, Record("a", 5)])
def test_elements_are_picklable(element: Any) -> None:
    assert pickle.loads(pickle.dumps(element)) == element


def test_an_unpickled_status_is_the_same_object() -> None:
    assert pickle.loads(pickle.dumps(WatermarkStatus.IDLE)) is WatermarkStatus.IDLE


def test_watermarks_have_the_names_of_flink() -> None:
    assert Watermark.MAX_WATERMARK == Watermark.MAX
    assert Watermark.UNINITIALIZED.get_timestamp() == MIN_TIME
