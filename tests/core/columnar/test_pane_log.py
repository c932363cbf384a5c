"""The pane log reads what it stored only where it is no longer known, and finds rows by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.columnar.key_hashes import key_hashes
from tidegate.core.columnar.pane_log import PaneLog
from tidegate.core.columnar.table_cache import StoredTable, TableCache
from tidegate.core.state.blobs import MemoryBlobs

KEYS = st.lists(st.tuples(st.none() | st.sampled_from(["", "a", "b"]), st.integers(0, 2)), max_size=20)


class CountingBlobs(MemoryBlobs):
    """Knows how often it was read."""

    num_reads = 0

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        self.num_reads += 1
        return super().get(name, is_there=is_there)

    @property
    def names(self) -> set[str]:
        return set(self.snapshot())


def numbers(*values: int) -> pa.Table:
    return pa.table({"number": pa.array(values, pa.int64())})


def values(log: PaneLog, pane: int) -> list[list[int]]:
    return [table["number"].to_pylist() for table in log.load(pane)]


def after_restart(log: PaneLog, blobs: MemoryBlobs, cache: TableCache) -> PaneLog:
    restored = PaneLog(blobs, cache)
    restored.restore(log.snapshot())
    return restored


def test_what_waits_is_stored_by_flush_as_one_table_for_each_pane() -> None:
    blobs = CountingBlobs()
    log = PaneLog(blobs)
    log.append(0, numbers(1))
    log.append(0, numbers(2))
    log.append(7, numbers(3))
    assert (log.panes, log.rows(0), log.num_stored(0), len(blobs.names)) == ([0, 7], 2, 0, 0)
    log.flush()
    assert (log.panes, log.rows(0), log.num_stored(0), len(blobs.names)) == ([0, 7], 2, 1, 2)
    assert values(log, 0) == [[1, 2]]


def test_a_pane_that_is_removed_before_it_is_stored_never_is() -> None:
    blobs = CountingBlobs()
    log = PaneLog(blobs)
    log.append(0, numbers(1))
    log.remove(0)
    log.flush()
    assert (0 in log, blobs.names) == (False, set())


def test_what_the_cache_knows_is_not_read_again() -> None:
    blobs, cache = CountingBlobs(), TableCache()
    log = PaneLog(blobs, cache)
    log.append(0, numbers(1, 2))
    log.flush()
    known = after_restart(log, blobs, cache)
    assert (values(known, 0), blobs.num_reads) == ([[1, 2]], 0)
    unknown = after_restart(log, blobs, TableCache())
    assert (values(unknown, 0), values(unknown, 0), blobs.num_reads) == ([[1, 2]], [[1, 2]], 1)


def test_a_table_of_another_attempt_is_not_taken_for_that_of_this_one() -> None:
    blobs, others = CountingBlobs(), TableCache()
    lost = PaneLog(CountingBlobs(), others, attempt="lost")
    lost.append(0, numbers(1))
    lost.flush()
    log = PaneLog(blobs, TableCache(), attempt="second")
    log.append(0, numbers(2))
    log.flush()
    elsewhere = after_restart(log, blobs, others)
    assert values(elsewhere, 0) == [[2]]


def test_a_table_that_takes_the_place_of_others_has_a_name_of_its_own() -> None:
    blobs, cache = CountingBlobs(), TableCache()
    log = PaneLog(blobs, cache)
    log.append(0, numbers(1))
    log.flush()
    first = blobs.names
    log = after_restart(log, blobs, cache)
    log.replace(0, numbers(3))
    log.flush()
    assert not first & blobs.names
    assert values(log, 0) == [[3]]


def test_beyond_its_limit_a_cache_lets_go_what_was_used_longest_ago() -> None:
    stored = StoredTable(numbers(*range(100)))
    cache = TableCache(max_bytes=2 * stored.num_bytes)
    for name in ("a", "b"):
        cache.put(name, stored)
    assert cache.get("a") is not None
    cache.put("c", stored)
    assert [cache.get(name) is not None for name in ("a", "b", "c")] == [True, False, True]
    assert cache.num_bytes == 2 * stored.num_bytes
    cache.put("larger than all", StoredTable(numbers(*range(1_000))))
    assert cache.get("larger than all") is None
    assert cache.num_bytes == 0


@given(KEYS, KEYS)
def test_rows_are_found_by_key(stored: list[Any], wanted: list[Any]) -> None:
    table = keyed(stored).append_column("place", pa.array(range(len(stored)), pa.int64()))
    log = PaneLog(MemoryBlobs())
    log.append(0, table.slice(0, len(stored) // 2))
    log.append(0, table.slice(len(stored) // 2))
    hashes = np.unique(key_hashes(keyed(wanted), ["text", "number"]))
    found = [place for part in log.find(0, ["text", "number"], hashes) for place in part["place"].to_pylist()]
    assert sorted(found) == [place for place, key in enumerate(stored) if key in wanted]


def keyed(keys: list[Any]) -> pa.Table:
    texts = pa.array([text for text, _ in keys], pa.string())
    return pa.table({"text": texts, "number": pa.array([number for _, number in keys], pa.int64())})
