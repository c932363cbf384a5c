"""State whose declared type changed, made over by a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.common import Time, Types
from tidegate.core.state.keyed_state import KeyedStateBackend, MemoryStore
from tidegate.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError, UserCodeError
from tidegate.testing import ManualClock


class Kept:
    """A store that outlives backends, as a checkpoint does."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self._store = MemoryStore()
        self._formats: dict[str, Any] = {}

    def run(self, descriptor: StateDescriptor, act: Callable[[Any], Any]) -> list[Any]:
        """What `act` gives for two keys."""
        backend = KeyedStateBackend(self._store, self.clock)
        backend.restore_formats(self._formats)
        state = backend.get(descriptor)
        found = []
        for key in ("a", "b"):
            backend.set_current_key(key)
            found.append(act(state))
        backend.release_key()
        self._formats = backend.save_formats()
        return found


def test_a_value_becomes_what_the_function_makes_of_it_once() -> None:
    kept = Kept()
    kept.run(ValueStateDescriptor("total", Types.INT()), lambda state: state.update(5))
    text = ValueStateDescriptor("total", Types.STRING()).migrate_from(Types.INT(), lambda value: f"{value}!")
    assert kept.run(text, lambda state: state.value()) == ["5!", "5!"]
    assert kept.run(text, lambda state: state.value()) == ["5!", "5!"]
    assert kept.run(ValueStateDescriptor("total", Types.STRING()), lambda state: state.value()) == ["5!", "5!"]


def test_elements_of_lists_and_entries_of_maps_are_made_over_one_by_one() -> None:
    kept = Kept()
    kept.run(ListStateDescriptor("items", Types.INT()), lambda state: state.add_all([1, 2]))
    texts = ListStateDescriptor("items", Types.STRING()).migrate_from(Types.INT(), str)
    assert kept.run(texts, lambda state: list(state.get())) == [["1", "2"]] * 2
    kept.run(MapStateDescriptor("map", Types.STRING(), Types.INT()), lambda state: state.put("x", 1))
    turned = MapStateDescriptor("map", Types.INT(), Types.STRING())
    turned.migrate_from((Types.STRING(), Types.INT()), lambda key, value: (value, key))
    assert kept.run(turned, lambda state: list(state.items())) == [[(1, "x")]] * 2


def test_values_keep_their_time_to_live() -> None:
    kept = Kept()
    expiring = [ValueStateDescriptor("total", kind) for kind in (Types.INT(), Types.STRING())]
    for descriptor in expiring:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(10)).build())
    kept.run(expiring[0], lambda state: state.update(5))
    kept.clock.advance_to(6_000)
    expiring[1].migrate_from(Types.INT(), str)
    assert kept.run(expiring[1], lambda state: state.value()) == ["5", "5"]
    kept.clock.advance_to(10_000)
    assert kept.run(expiring[1], lambda state: state.value()) == [None, None]


def test_only_state_of_the_type_that_the_function_is_for_is_made_over() -> None:
    kept = Kept()
    kept.run(ValueStateDescriptor("total", Types.INT()), lambda state: state.update(5))
    for_longs = ValueStateDescriptor("total", Types.STRING()).migrate_from(Types.LONG(), str)
    with pytest.raises(SnapshotError, match=r"its type was .* and is .* now; .* migrate_from\(TYPE, FUNCTION\)"):
        kept.run(for_longs, lambda state: state.value())
    as_list = ListStateDescriptor("total", Types.INT()).migrate_from(Types.INT(), str)
    with pytest.raises(SnapshotError, match="it was value state and is list state now"):
        kept.run(as_list, lambda state: state.get())


def test_state_that_had_no_declared_type_is_made_over_too() -> None:
    kept = Kept()
    kept.run(ValueStateDescriptor("total"), lambda state: state.update(5))
    text = ValueStateDescriptor("total", Types.STRING()).migrate_from(Types.INT(), lambda value: f"{value}!")
    assert kept.run(text, lambda state: state.value()) == ["5!", "5!"]
    assert kept.run(text, lambda state: state.value()) == ["5!", "5!"]


def test_entries_of_a_map_that_would_take_the_place_of_others_are_refused() -> None:
    kept = Kept()
    kept.run(MapStateDescriptor("map", Types.INT(), Types.INT()), lambda state: state.put_all({1: 1, 2: 2, 11: 3}))
    tens = MapStateDescriptor("map", Types.LONG(), Types.INT())
    tens.migrate_from((Types.INT(), Types.INT()), lambda key, value: (key // 10, value))
    with pytest.raises(InvalidValueError, match="two entries of one map the key 0, and one of them would be lost"):
        kept.run(tens, lambda state: list(state.items()))


def test_a_function_that_fails_says_for_what() -> None:
    kept = Kept()
    kept.run(ValueStateDescriptor("total", Types.INT()), lambda state: state.update(0))
    broken = ValueStateDescriptor("total", Types.STRING()).migrate_from(Types.INT(), lambda value: str(1 // value))
    with pytest.raises(UserCodeError, match=r"'total': the function of migrate_from raised ZeroDivisionError.* \(0,\)"):
        kept.run(broken, lambda state: state.value())
    with pytest.raises(InvalidTypeError, match="migrate_from takes a function"):
        ValueStateDescriptor("total").migrate_from(Types.INT(), None)  # type: ignore[arg-type]
