"""Hashes of keys in columns: equal for equal keys however the column is cut, and spread over subtasks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.columnar.key_hashes import key_hashes

texts = st.lists(st.none() | st.text(max_size=20) | st.sampled_from(["user-1", "user-2"]), max_size=20)


def hashes_of(values: pa.Array | pa.ChunkedArray) -> list[int]:
    found: list[int] = key_hashes(pa.table({"key": values}), ["key"]).tolist()
    return found


@settings(deadline=None)
@given(texts, st.integers(0, 20))
def test_texts_hash_alike_exactly_where_they_are_equal(values: list[str | None], cut: int) -> None:
    hashes = hashes_of(pa.array(values, pa.string()))
    assert len(set(hashes)) == len(set(values))
    assert len(set(zip(values, hashes, strict=True))) == len(set(values))
    cut_column = pa.chunked_array([pa.array(values[:cut], pa.string()), pa.array(values[cut:], pa.string())])
    assert hashes_of(cut_column) == hashes
    assert hashes_of(pa.array(["before", *values], pa.string()).slice(1)) == hashes
    assert hashes_of(pa.array(values, pa.large_string())) == hashes


def test_hashes_never_change() -> None:
    """A checkpoint holds keys where their hash put them."""
    found = hashes_of(pa.array(["", "a", "user-123", "a longer name than one word", None]))
    assert found == [8841707400507832957, 6840272881833043755, 3011942693975225491, 11794158978800513871, 0]


def test_keys_are_spread_over_subtasks() -> None:
    users = pa.array([f"user-{number}" for number in range(10_000)])
    for count in (2, 3, 7, 64):
        shares = np.bincount(np.array(hashes_of(users), np.uint64) % np.uint64(count))
        assert shares.min() > 0.7 * 10_000 / count
