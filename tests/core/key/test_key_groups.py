"""The one rule that says which subtask holds a key: the same for single keys and for columns of them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.key.key_groups import KeyGroups, default_key_groups

INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=40)


def subtasks(keys: Iterable[Any], parallelism: int) -> list[int]:
    groups = KeyGroups(128, parallelism)
    return [groups.subtask_of(key) for key in keys]


@given(st.integers(1, 300), st.data())
def test_every_subtask_holds_neighbours_and_about_as_many_as_the_others(count: int, data: st.DataObject) -> None:
    parallelism = data.draw(st.integers(1, count))
    holders = [KeyGroups(count, parallelism).subtask_of_group(group) for group in range(count)]
    assert holders == sorted(holders)
    assert set(holders) == set(range(parallelism))
    assert max(Counter(holders).values()) - min(Counter(holders).values()) <= 1


@pytest.mark.parametrize(("parallelism", "groups"), [(1, 128), (85, 128), (86, 256), (30_000, 32_768)])
def test_there_is_room_for_a_higher_parallelism(parallelism: int, groups: int) -> None:
    assert default_key_groups(parallelism) == groups


@pytest.mark.parametrize("groups", [1, 2, 7, 128])
@given(st.lists(st.one_of(st.none(), INTEGERS)))
def test_columns_of_integers_have_the_groups_of_their_values(groups: int, values: list[int | None]) -> None:
    table = pa.table({"k": pa.array(values, pa.int64())})
    assert KeyGroups(128, groups).subtasks_of(table, ["k"]).tolist() == subtasks(values, groups)


@given(st.lists(st.one_of(st.none(), TEXTS)))
def test_columns_of_texts_have_the_groups_of_their_values(values: list[str | None]) -> None:
    table = pa.table({"k": pa.array(values, pa.string())})
    assert KeyGroups(128, 7).subtasks_of(table, ["k"]).tolist() == subtasks(values, 7)


@given(st.lists(st.tuples(st.one_of(st.none(), TEXTS), INTEGERS)))
def test_several_columns_have_the_groups_of_tuples(rows: list[tuple[str | None, int]]) -> None:
    table = pa.table(
        {"a": pa.array([row[0] for row in rows], pa.string()), "b": pa.array([row[1] for row in rows], pa.int64())}
    )
    assert KeyGroups(128, 5).subtasks_of(table, ["a", "b"]).tolist() == subtasks(rows, 5)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -1, None, 127], pa.int8()),
        ([1, 2**64 - 1], pa.uint64()),
        ([datetime.date(2026, 1, 1), None], pa.date32()),
        ([1.0, 1.5, None], pa.float64()),
        ([Decimal("1.00"), Decimal("1.50")], pa.decimal128(10, 2)),
        ([True, False], pa.bool_()),
        (["a", "b", "a", None], pa.dictionary(pa.int32(), pa.string())),
        (["ä", "", "x" * 300], pa.large_string()),
    ],
)
def test_columns_of_any_type_have_the_groups_of_their_values(values: list[Any], kind: pa.DataType) -> None:
    array = pa.array(values, kind.value_type).dictionary_encode() if pa.types.is_dictionary(kind) else None
    table = pa.table({"k": pa.array(values, kind) if array is None else array})
    assert KeyGroups(128, 64).subtasks_of(table, ["k"]).tolist() == subtasks(values, 64)


def test_a_part_of_a_column_has_the_groups_of_its_values() -> None:
    table = pa.table({"k": ["a", "bb", "ccc", None, "e"]}).slice(1, 3)
    assert KeyGroups(128, 64).subtasks_of(table, ["k"]).tolist() == subtasks(("bb", "ccc", None), 64)


@pytest.mark.parametrize("groups", [2, 3, 8])
@pytest.mark.parametrize("pattern", ["user-{:06d}", "{}", "k{}"])
def test_keys_are_spread_evenly(groups: int, pattern: str) -> None:
    counts = Counter(KeyGroups(groups, groups).group_of(pattern.format(number)) for number in range(3_000))
    assert len(counts) == groups
    assert max(counts.values()) < 1.2 * min(counts.values())
