"""Keyed state and timers in buckets are what they are in memory, and a batch costs what it touches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.core.key.hashing import stable_hash
from tidegate.core.state.blobs import MemoryBlobs
from tidegate.core.state.timers import MemoryTimerQueue
from tidegate.spark.state import buckets, timer_buckets
from tidegate.spark.state.blobs import BlobCache
from tidegate.spark.state.buckets import BucketStore, bucket_of, parent_of
from tidegate.spark.state.timer_buckets import TimerBuckets

KEYS = st.integers(0, 40) | st.sampled_from(["a", "b", 1.0, None])
TIMES = st.integers(-5, 60).map(lambda number: number * 1_000)
TIMERS = st.tuples(TIMES, KEYS, st.sampled_from([None, "window"]))
TIMER_STEPS = st.one_of(
    st.tuples(st.just("add"), TIMERS),
    st.tuples(st.just("add"), TIMERS),
    st.tuples(st.just("remove"), TIMERS),
    st.tuples(st.just("pop"), TIMES),
    st.just(("next", None)),
    st.just(("batch", None)),
)
KEY_STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS),
    st.tuples(st.just("discard"), KEYS),
    st.just(("keys", None)),
    st.just(("batch", None)),
)
several = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class CountingBlobs(MemoryBlobs):
    """Counts the calls and the bytes that go through."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.bytes = 0

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        found = super().get(name, is_there=is_there)
        self.calls += 1
        self.bytes += len(found or b"")
        return found

    def put(self, name: str, data: bytes) -> None:
        self.calls += 1
        self.bytes += len(data)
        super().put(name, data)


@pytest.fixture
def tiny_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "KEYS_PER_BUCKET", 2)
    monkeypatch.setattr(timer_buckets, "TIMERS_PER_BUCKET", 2)


@given(KEYS, st.integers(1, 100))
def test_a_further_bucket_takes_keys_from_one_other_only(key: Any, count: int) -> None:
    before, after = bucket_of(key, count), bucket_of(key, count + 1)
    assert 0 <= before < count
    assert after == before or (after == count and before == parent_of(count))


def test_the_keys_of_a_subtask_use_all_buckets() -> None:
    mine = [key for key in range(40_000) if stable_hash(key) % 8 == 3]
    sizes = [0] * 16
    for key in mine:
        sizes[bucket_of(key, 16)] += 1
    assert min(sizes) > len(mine) / 16 * 0.7


@pytest.mark.usefixtures("tiny_buckets")
@several
@given(st.lists(TIMER_STEPS, max_size=60))
def test_timers_in_buckets_are_those_of_a_queue(steps: list[Any]) -> None:
    blobs = MemoryBlobs()
    meta: dict[str, Any] = {}
    expected = MemoryTimerQueue()
    cache = BlobCache(blobs)
    timers = TimerBuckets(cache, "event", "t", meta)
    for what, value in [*steps, ("batch", None), ("pop", 2**60)]:
        if what == "add":
            timers.add(*value)
            expected.add(*value)
        elif what == "remove":
            timers.remove(*value)
            expected.remove(*value)
        elif what == "pop":
            while (timer := expected.pop_until(value)) is not None:
                assert timers.pop_until(value) == timer
            assert timers.pop_until(value) is None
        elif what == "next":
            assert timers.next_timestamp() == expected.next_timestamp()
        else:
            timers.finish()
            cache.flush()
            cache = BlobCache(blobs)
            timers = TimerBuckets(cache, "event", "t", meta)
        assert len(timers) == len(expected)
    timers.finish()
    cache.flush()
    assert blobs.snapshot() == {}


@pytest.mark.usefixtures("tiny_buckets")
@several
@given(st.lists(KEY_STEPS, max_size=60))
def test_keyed_state_in_buckets_is_that_of_a_dict(steps: list[Any]) -> None:
    blobs = MemoryBlobs()
    meta: dict[str, Any] = {}
    expected: dict[Any, Any] = {}
    cache = BlobCache(blobs)
    store = BucketStore(cache, "k", meta)
    for number, (what, key) in enumerate(steps):
        if what == "put":
            slots = store.load(key)
            assert slots == expected.get(key, {})
            slots["value"] = {None: number}
            expected[key] = {"value": {None: number}}
        elif what == "discard":
            store.discard(key)
            expected.pop(key, None)
        elif what == "keys":
            assert sorted(map(repr, store.keys())) == sorted(map(repr, expected))
        else:
            store.finish()
            cache.flush()
            cache = BlobCache(blobs)
            store = BucketStore(cache, "k", meta)


def cost_of_a_batch(num_stored: int, touched: range) -> tuple[int, int]:
    """Calls and bytes of a batch that touches some of the keys stored, each with state and a timer at the same time."""
    blobs = CountingBlobs()
    keys: dict[str, Any] = {}
    spans: dict[str, Any] = {}
    for batch in (range(num_stored), touched):
        blobs.calls = blobs.bytes = 0
        cache = BlobCache(blobs)
        store, timers = BucketStore(cache, "k", keys), TimerBuckets(cache, "event", "t", spans)
        for key in batch:
            store.load(key)["sum"] = {None: len(batch)}
            timers.add(3_600_000, key, None)
        store.finish()
        timers.finish()
        cache.flush()
    return blobs.calls, blobs.bytes


def test_a_batch_costs_what_it_touches_and_not_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "KEYS_PER_BUCKET", 16)
    monkeypatch.setattr(timer_buckets, "TIMERS_PER_BUCKET", 16)
    (few_calls, few_bytes), (many_calls, many_bytes) = (cost_of_a_batch(n, range(40)) for n in (5_000, 40_000))
    assert many_calls <= few_calls * 1.3
    assert many_bytes <= few_bytes * 1.3
