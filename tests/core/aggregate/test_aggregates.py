from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest

from tidegate import agg
from tidegate.core.aggregate.aggregate import Aggregate
from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.errors import InvalidTypeError, InvalidValueError

ROWS = [
    {"n": 3, "name": "c"},
    {"n": None, "name": "nothing"},
    {"n": 1, "name": "a"},
    {"n": 3, "name": "later c"},
    {"n": 2, "name": None},
]


def result(aggregate: Aggregate, rows: list[Any]) -> Any:
    accumulator = aggregate.create()
    for row in rows:
        accumulator = aggregate.add(accumulator, row)
    return aggregate.result(accumulator)


ALL: list[tuple[Callable[[], Aggregate], Any, Any]] = [
    (lambda: agg.count(), 5, 0),
    (lambda: agg.count("n"), 4, 0),
    (lambda: agg.sum("n"), 9, None),
    (lambda: agg.min("n"), 1, None),
    (lambda: agg.max("n"), 3, None),
    (lambda: agg.mean("n"), 2.25, None),
    (lambda: agg.first("n"), 3, None),
    (lambda: agg.last("n"), 2, None),
    (lambda: agg.last("name"), "later c", None),
    (lambda: agg.min_by("name", "n"), "a", None),
    (lambda: agg.max_by("name", "n"), "c", None),
    (lambda: agg.count_distinct("n"), 3, 0),
    (lambda: agg.collect_list("n"), [3, 1, 3, 2], []),
    (lambda: agg.stddev("n"), pytest.approx(statistics.stdev([3, 1, 3, 2])), None),
]
EACH = pytest.mark.parametrize(("build", "expected", "of_nothing"), ALL)


@EACH
def test_an_aggregate_leaves_out_what_is_none(build: Callable[[], Aggregate], expected: Any, of_nothing: Any) -> None:
    assert result(build(), ROWS) == expected


@EACH
def test_an_aggregate_of_nothing(build: Callable[[], Aggregate], expected: Any, of_nothing: Any) -> None:
    assert result(build(), []) == of_nothing
    if not isinstance(of_nothing, int):
        assert result(build(), [{"n": None, "name": None}]) == of_nothing


@EACH
@pytest.mark.parametrize("cut", range(6))
def test_aggregates_of_two_parts_merge_into_that_of_the_whole(
    build: Callable[[], Aggregate], expected: Any, of_nothing: Any, cut: int
) -> None:
    aggregate = build()
    left, right = aggregate.create(), aggregate.create()
    for row in ROWS[:cut]:
        left = aggregate.add(left, row)
    for row in ROWS[cut:]:
        right = aggregate.add(right, row)
    assert aggregate.result(aggregate.merge(left, right)) == expected


def test_the_deviation_of_one_value_is_unknown() -> None:
    assert result(agg.stddev("n"), [{"n": 5}]) is None


def test_the_deviation_of_large_numbers_is_exact() -> None:
    numbers = [1e9 + n for n in (4, 7, 13, 16)]
    assert result(agg.stddev(0), [(number,) for number in numbers]) == pytest.approx(30**0.5)


def test_a_collected_list_is_not_changed_by_later_elements() -> None:
    aggregate = agg.collect_list("n")
    accumulator = aggregate.add(aggregate.create(), {"n": 1})
    before = aggregate.result(accumulator)
    aggregate.add(accumulator, {"n": 2})
    assert before == [1]


def test_several_aggregates_are_one_function() -> None:
    function = CombinedAggregate({"orders": agg.count(), "total": agg.sum(1)})
    left = function.add(("a", 5), function.create_accumulator())
    right = function.add(("a", 7), function.add(("a", 1), function.create_accumulator()))
    assert function.names == ("orders", "total")
    assert function.get_result(left) == (1, 5)
    assert function.get_result(function.merge(left, right)) == (3, 13)


def test_a_field_that_is_not_there_names_the_record() -> None:
    with pytest.raises(InvalidValueError, match=r"the record \{'n': 1\} has no field 'amount'"):
        result(agg.sum("amount"), [{"n": 1}])


def test_no_aggregate_at_all_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"agg\(\) needs at least one aggregate, for example agg\(orders=agg.c"):
        CombinedAggregate({})


def test_what_is_no_aggregate_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"agg\(total=...\): expected an aggregate such as agg.count"):
        CombinedAggregate({"total": "sum"})  # type: ignore[dict-item]


def test_a_sum_of_texts_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"agg\.sum\('n'\): '5' is a text, and texts are not added; make it a"):
        result(agg.sum("n"), [{"n": "5"}])
