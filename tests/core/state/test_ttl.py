from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tidegate.core.state.keyed_state import (
    KeyedStateBackend,
    ListState,
    MapState,
    MemoryStore,
    ReducingState,
    ValueState,
)
from tidegate.core.state.ttl import StateTtlConfig
from tidegate.core.time.duration import Time
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.testing import ManualClock

WRITES = StateTtlConfig.new_builder(Time.milliseconds(10)).build()
READS = StateTtlConfig.new_builder(Time.milliseconds(10)).update_ttl_on_read_and_write().build()
SHOWS = StateTtlConfig.new_builder(Time.milliseconds(10)).return_expired_if_not_cleaned_up().build()


def with_ttl(descriptor: StateDescriptor, config: StateTtlConfig) -> Any:
    descriptor.enable_time_to_live(config)
    return descriptor


class Expiring:
    """A state of one key under a clock."""

    def __init__(self, descriptor: StateDescriptor, config: StateTtlConfig) -> None:
        self.clock = ManualClock()
        self.backend = KeyedStateBackend(MemoryStore(), self.clock)
        self.backend.set_current_key("a")
        self.state: Any = self.backend.get(with_ttl(descriptor, config))


@pytest.fixture
def value() -> Expiring:
    return Expiring(ValueStateDescriptor("v"), WRITES)


def test_a_value_expires_when_its_time_to_live_has_passed_since_it_was_written(value: Expiring) -> None:
    assert isinstance(value.state, ValueState)
    value.state.update(1)
    value.clock.advance_to(9)
    assert value.state.value() == 1
    value.clock.advance_to(10)
    assert value.state.value() is None


def test_writing_starts_the_time_anew(value: Expiring) -> None:
    value.state.update(1)
    value.clock.advance_to(9)
    value.state.update(2)
    value.clock.advance_to(18)
    assert value.state.value() == 2
    value.clock.advance_to(19)
    assert value.state.value() is None


def test_reading_starts_the_time_anew_only_where_asked() -> None:
    reading = Expiring(ValueStateDescriptor("v"), READS)
    reading.state.update(1)
    for now in (9, 18, 27):
        reading.clock.advance_to(now)
        assert reading.state.value() == 1
    reading.clock.advance_to(37)
    assert reading.state.value() is None


def test_an_expired_value_may_be_seen_once_where_asked() -> None:
    showing = Expiring(ValueStateDescriptor("v"), SHOWS)
    showing.state.update(1)
    showing.clock.advance_to(50)
    assert showing.state.value() == 1
    assert showing.state.value() is None


def test_lists_and_reductions_expire_as_a_whole() -> None:
    listed = Expiring(ListStateDescriptor("l"), WRITES)
    reduced = Expiring(ReducingStateDescriptor("r", lambda left, right: left + right), WRITES)
    assert isinstance(listed.state, ListState)
    assert isinstance(reduced.state, ReducingState)
    for expiring in (listed, reduced):
        expiring.state.add(1)
        expiring.clock.advance_to(10)
        expiring.state.add(2)
    assert list(listed.state) == [2]
    assert reduced.state.get() == 2


def test_every_entry_of_a_map_expires_by_itself() -> None:
    mapped = Expiring(MapStateDescriptor("m"), WRITES)
    state = mapped.state
    assert isinstance(state, MapState)
    state.put("old", 1)
    mapped.clock.advance_to(5)
    state.put("new", 2)
    mapped.clock.advance_to(10)
    assert state.get("old") is None
    assert not state.contains("old")
    assert state.contains("new")
    assert dict(state.items()) == {"new": 2}
    mapped.clock.advance_to(15)
    assert state.is_empty()


def test_merged_states_keep_their_values() -> None:
    listed = Expiring(ListStateDescriptor("l"), WRITES)
    namespace = "first"
    state = listed.backend.bind(with_ttl(ListStateDescriptor("l"), WRITES), lambda: namespace)
    assert isinstance(state, ListState)
    state.add(1)
    namespace = "second"
    state.add(2)
    state.merge_from(["first"])
    assert list(state) == [2, 1]


def test_a_value_from_before_the_time_to_live_was_asked_for_starts_to_count_when_it_is_met(value: Expiring) -> None:
    value.backend.values("v")[None] = "old"
    value.clock.advance_to(100)
    assert value.state.value() == "old"
    value.clock.advance_to(110)
    assert value.state.value() is None


def test_a_disabled_time_to_live_is_none() -> None:
    disabled = StateTtlConfig.new_builder(Time.milliseconds(10)).set_update_type(StateTtlConfig.UpdateType.Disabled)
    lasting = Expiring(ValueStateDescriptor("v"), disabled.build())
    lasting.state.update(1)
    lasting.clock.advance_to(1_000_000)
    assert lasting.state.value() == 1


def test_the_builder_takes_every_option_of_flink() -> None:
    config = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(Time.seconds(2))
        .update_ttl_on_create_and_write()
        .never_return_expired()
        .set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(1000)
        .disable_cleanup_in_background()
        .build()
    )
    assert config.get_ttl() == Time.seconds(2)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled()


@pytest.mark.parametrize("ttl", [0, -5])
def test_a_time_to_live_must_be_longer_than_nothing(ttl: int) -> None:
    with pytest.raises(InvalidValueError, match="StateTtlConfig: ttl must be longer than 0 ms"):
        StateTtlConfig.new_builder(Time.milliseconds(ttl))


def test_a_descriptor_takes_a_built_config() -> None:
    with pytest.raises(InvalidTypeError, match="state 'v': expected a StateTtlConfig, got"):
        ValueStateDescriptor("v").enable_time_to_live(Time.seconds(1))  # type: ignore[arg-type]
