from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.function.fields import FieldReducer
from tidegate.core.function.functions import ReduceFunction
from tidegate.core.function.rolling import RollingReduceSpec
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import OneInputHarness, Record


class Concat(ReduceFunction):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


def rolling(function: Any) -> OneInputHarness:
    return OneInputHarness(RollingReduceSpec(function), key_selector=0)


def test_each_element_gives_what_its_key_reduces_to_so_far() -> None:
    harness = rolling(Concat())
    for key, text, timestamp in (("a", "x", 5), ("b", "y", 3), ("a", "z", None)):
        harness.process_element((key, text), timestamp)
    assert harness.outputs() == [Record(("a", "x"), 5), Record(("b", "y"), 3), Record(("a", "xz"), None)]


def test_the_reduction_survives_a_restart() -> None:
    harness = rolling(lambda left, right: (left[0], left[1] + right[1]))
    harness.process_element(("a", 1))
    harness.restore(harness.snapshot())
    harness.process_element(("a", 2))
    assert harness.outputs() == [Record(("a", 3), None)]


def test_the_function_is_opened_and_closed() -> None:
    function = Concat()
    rolling(function).close()
    assert function.calls == ["open", "close"]


def test_an_error_names_the_operator_and_the_record() -> None:
    harness = rolling(Concat())
    harness.process_element(("a", "x"))
    with pytest.raises(UserCodeError, match=r"test: TypeError: .*, for the record \('a', 1\)"):
        harness.process_element(("a", 1))


def test_an_unknown_field_names_the_operator_and_the_record() -> None:
    harness = rolling(FieldReducer("sum", 7))
    harness.process_element(("a", 1))
    with pytest.raises(InvalidValueError, match=r"test.*the record \('a', 1\) has no field 7"):
        harness.process_element(("a", 2))


@pytest.mark.parametrize("function", [5, Concat])
def test_what_is_no_reduce_function_is_refused(function: Any) -> None:
    with pytest.raises(InvalidTypeError, match="reduce: expected a ReduceFunction object or a function, got"):
        RollingReduceSpec(function)
