from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tidegate.core.function.fields import FieldKey
from tidegate.core.function.functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from tidegate.core.window.window_join import CoGroupWindow, JoinWindow, Tagged, TaggedKey, TagInput
from tidegate.errors import InvalidTypeError

ELEMENTS = [Tagged(0, "l1"), Tagged(1, "r1"), Tagged(0, "l2"), Tagged(1, "r2")]


class Opened:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: Any) -> None:
        self.calls.append(f"open {runtime_context}")

    def close(self) -> None:
        self.calls.append("close")


class Join(Opened, JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first + second


class FlatJoin(Opened, FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        return [first, second] if first == "l1" else None


class CoGroup(Opened, CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        return [list(first), list(second)]


def test_elements_are_marked_with_their_input_and_keyed_by_its_selector() -> None:
    key = TaggedKey(FieldKey(0), FieldKey("name"))
    first, second = TagInput(0)(("a", 1)), TagInput(1)({"name": "a"})
    assert (first, second) == (Tagged(0, ("a", 1)), Tagged(1, {"name": "a"}))
    assert key(first) == key(second) == "a"


@pytest.mark.parametrize("function", [Join(), lambda first, second: first + second])
def test_a_join_gives_every_pair_of_a_window(function: Any) -> None:
    assert list(JoinWindow(function).apply("k", None, ELEMENTS)) == ["l1r1", "l1r2", "l2r1", "l2r2"]


@pytest.mark.parametrize("elements", [[Tagged(0, "l1")], [Tagged(1, "r1")], []])
def test_a_join_of_one_side_gives_nothing(elements: list[Tagged]) -> None:
    assert list(JoinWindow(Join()).apply("k", None, elements)) == []


def test_a_flat_join_gives_any_number_of_results_for_a_pair() -> None:
    assert list(JoinWindow(FlatJoin()).apply("k", None, ELEMENTS)) == ["l1", "r1", "l1", "r2"]


@pytest.mark.parametrize("function", [CoGroup(), lambda first, second: [first, second]])
def test_a_co_group_gets_both_groups_also_where_one_is_empty(function: Any) -> None:
    grouped = CoGroupWindow(function)
    assert list(grouped.apply("k", None, ELEMENTS) or ()) == [["l1", "l2"], ["r1", "r2"]]
    assert list(grouped.apply("k", None, ELEMENTS[:1]) or ()) == [["l1"], []]


@pytest.mark.parametrize(
    ("wrap", "function"), [(JoinWindow, Join()), (JoinWindow, FlatJoin()), (CoGroupWindow, CoGroup())]
)
def test_functions_are_opened_and_closed(wrap: Any, function: Any) -> None:
    window = wrap(function)
    window.open("context")
    window.close()
    assert function.calls == ["open context", "close"]


@pytest.mark.parametrize(("wrap", "name"), [(JoinWindow, "JoinFunction"), (CoGroupWindow, "CoGroupFunction")])
@pytest.mark.parametrize("function", [5, Join, CoGroup])
def test_what_is_no_function_is_refused(wrap: Any, name: str, function: Any) -> None:
    with pytest.raises(InvalidTypeError, match=f"expected a {name} object or a function, got"):
        wrap(function)
