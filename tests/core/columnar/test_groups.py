"""Rows in groups are those that Arrow finds, for every type and with nulls, and so are the aggregates."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.columnar.groups import Groups

TIMES = st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2030, 1, 1))
VALUES = {
    pa.int64(): st.integers(-(2**40), 2**40),
    pa.int8(): st.integers(-128, 127),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.float64(): st.integers(-1000, 1000).map(float) | st.just(float("nan")),
    pa.decimal128(20, 2): st.integers(-1000, 1000).map(lambda n: Decimal(n) / 100),
    pa.timestamp("us", "UTC"): TIMES.map(lambda time: time.replace(tzinfo=datetime.UTC)),
    pa.date32(): TIMES.map(lambda time: time.date()),
}
OPTIONS = {"count": pc.CountOptions(mode="only_valid")}
KEYS = st.lists(st.tuples(st.none() | st.sampled_from(["", "a", "b"]), st.none() | st.integers(0, 2)), max_size=30)


def by_arrow(table: pa.Table, how: str) -> dict[Any, Any]:
    options = OPTIONS.get(how, pc.ScalarAggregateOptions(skip_nulls=True, min_count=1))
    found = table.group_by(["text", "number"]).aggregate([("value", how, options)])
    return dict(zip(keys_of(found), found[f"value_{how}"].to_pylist(), strict=True))


def keys_of(table: pa.Table) -> list[Any]:
    return list(zip(table["text"].to_pylist(), table["number"].to_pylist(), strict=True))


def same(left: Any, right: Any) -> bool:
    return bool(left == right or (left != left and right != right))


@pytest.mark.parametrize("how", ["count", "sum", "min", "max"])
@pytest.mark.parametrize("kind", VALUES, ids=str)
@settings(deadline=None, max_examples=50)
@given(keys=KEYS, data=st.data())
def test_aggregates_are_those_of_arrow(kind: pa.DataType, how: str, keys: list[Any], data: st.DataObject) -> None:
    if how == "sum" and pa.types.is_temporal(kind):
        return
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=len(keys), max_size=len(keys)))
    texts, numbers = [text for text, _ in keys], [number for _, number in keys]
    table = pa.table({"text": pa.array(texts, pa.string()), "number": pa.array(numbers, pa.int64())})
    table = table.append_column("value", pa.array(values, kind))
    cut = data.draw(st.integers(0, len(keys)))
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    groups = Groups.of(table, ["text", "number"])
    assert len(set(keys_of(groups.distinct))) == len(groups)
    assert [keys_of(groups.distinct)[number] for number in groups.numbers] == keys
    assert groups.sizes().to_pylist() == [Counter(keys)[key] for key in keys_of(groups.distinct)]
    expected = by_arrow(table, how)
    found = dict(zip(keys_of(groups.distinct), groups.aggregate(how, table["value"]).to_pylist(), strict=True))
    assert found.keys() == expected.keys()
    assert all(same(found[key], expected[key]) for key in expected), (found, expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3) | st.just(2**50)), max_size=30))
def test_split_groups_come_in_the_order_of_the_number(rows: list[Any]) -> None:
    table = pa.table({"user": pa.array([user for user, _ in rows], pa.string())})
    starts = np.array([start for _, start in rows], np.int64)
    keys = Groups.of(table, ["user"])
    groups, parents = keys.split("start", starts)
    distinct = list(zip(groups.distinct["user"].to_pylist(), groups.distinct["start"].to_pylist(), strict=True))
    assert [distinct[number] for number in groups.numbers] == rows
    assert groups.distinct["start"].to_pylist() == sorted(groups.distinct["start"].to_pylist())
    users = keys.distinct["user"].to_pylist()
    assert [users[parent] for parent in parents] == groups.distinct["user"].to_pylist()


@settings(deadline=None)
@given(st.lists(st.none() | st.sampled_from("abc"), max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_a_part_has_only_its_own_groups(users: list[str | None], begin: int, end: int) -> None:
    groups = Groups.of(pa.table({"user": pa.array(users, pa.string())}), ["user"])
    part = groups.part(begin, end)
    names = part.distinct["user"].to_pylist()
    assert [names[number] for number in part.numbers] == users[begin:end]
    assert set(names) == set(users[begin:end])


@settings(deadline=None)
@given(st.lists(st.none() | st.sampled_from("abc"), min_size=1, max_size=20), st.integers(0, 20))
def test_dictionaries_are_read_through(users: list[str | None], cut: int) -> None:
    chunks = [pa.array(users[:cut], pa.string()), pa.array(users[cut:], pa.string())]
    unused = pa.DictionaryArray.from_arrays(pa.array([1], pa.int32()), pa.array(["never", "a"]))
    column = pa.chunked_array([*(chunk.dictionary_encode() for chunk in chunks), unused])
    groups = Groups.of(pa.table({"user": column}), ["user"])
    names = groups.distinct["user"].to_pylist()
    assert [names[number] for number in groups.numbers] == [*users, "a"]
    assert sorted(map(str, names)) == sorted(map(str, {*users, "a"}))
    assert groups.distinct["user"].type == pa.string()
