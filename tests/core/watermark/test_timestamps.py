from __future__ import annotations

import pickle
import re
from typing import Any, NamedTuple

import pytest

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.timestamps import (
    ColumnTimestampAssigner,
    FunctionTimestampAssigner,
    RecordTimestampAssigner,
    TimestampAssigner,
    as_timestamp_assigner,
)
from tidegate.errors import InvalidTypeError, InvalidValueError


class Click(NamedTuple):
    user: str
    ts: int


class Visit:
    def __init__(self, ts: int) -> None:
        self.ts = ts


class FromUser(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Lookalike:
    """Has the method, but not the base class: PyFlink's own classes look like this to us."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) + 1


def double(value: Any, record_timestamp: int) -> int:
    return 2 * int(value)


@pytest.mark.parametrize("timestamp", [5, MIN_TIME])
def test_by_default_a_record_keeps_its_timestamp(timestamp: int) -> None:
    assert RecordTimestampAssigner().extract_timestamp("a", timestamp) == timestamp


def test_an_assigner_object_is_taken_as_it_is() -> None:
    assigner = FromUser()
    assert as_timestamp_assigner(assigner) is assigner


def test_a_function_gets_the_record_and_its_earlier_timestamp() -> None:
    assigner = as_timestamp_assigner(lambda value, earlier: value["ts"] + earlier)
    assert assigner.extract_timestamp({"ts": 5}, 100) == 105


def test_an_object_with_the_method_of_an_assigner_is_one() -> None:
    assert as_timestamp_assigner(Lookalike()).extract_timestamp("6", MIN_TIME) == 7


@pytest.mark.parametrize("assigner", [None, 5, "ts", FromUser, Lookalike, int])
def test_what_is_no_assigner_is_refused(assigner: Any) -> None:
    message = (
        "with_timestamp_assigner: expected a TimestampAssigner object or a function "
        f"(value, record_timestamp) -> milliseconds, got {assigner!r}"
    )
    with pytest.raises(InvalidTypeError, match=re.escape(message)):
        as_timestamp_assigner(assigner)


@pytest.mark.parametrize("value", [{"ts": 5}, Click("anna", 5), Visit(5)])
def test_a_column_is_found_in_mappings_tuples_with_names_and_objects(value: Any) -> None:
    assert ColumnTimestampAssigner("ts").extract_timestamp(value, MIN_TIME) == 5


@pytest.mark.parametrize("value", [{"time": 5}, ("anna", 5), "text", 5, None])
def test_a_record_without_the_column_is_refused(value: Any) -> None:
    message = f"with_timestamp_column: the record {value!r} has no field 'ts'"
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        ColumnTimestampAssigner("ts").extract_timestamp(value, MIN_TIME)


@pytest.mark.parametrize(
    "assigner", [RecordTimestampAssigner(), FunctionTimestampAssigner(double), ColumnTimestampAssigner("ts")]
)
def test_assigners_are_picklable_values(assigner: TimestampAssigner) -> None:
    assert pickle.loads(pickle.dumps(assigner)) == assigner
