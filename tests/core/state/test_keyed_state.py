from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.core.function.functions import AggregateFunction, ReduceFunction
from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tidegate.core.state.keyed_state import (
    AggregatingState,
    KeyedStateBackend,
    ListState,
    MapState,
    MemoryStore,
    ReducingState,
    ValueState,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError
from tidegate.testing import ManualClock


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Longer(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2, key=len)


@pytest.fixture
def backend() -> KeyedStateBackend:
    backend = KeyedStateBackend(MemoryStore(), ManualClock())
    backend.set_current_key("a")
    return backend


@pytest.fixture
def context(backend: KeyedStateBackend) -> RuntimeContext:
    return RuntimeContext("counter", 1, 4, MetricGroup(), backend, {"region": "north"})


# Kinds


def test_a_value_is_kept_for_each_key(context: RuntimeContext, backend: KeyedStateBackend) -> None:
    state = context.get_state(ValueStateDescriptor("v"))
    assert isinstance(state, ValueState)
    assert state.value() is None
    state.update(1)
    backend.set_current_key("b")
    assert state.value() is None
    state.update(2)
    backend.set_current_key("a")
    assert state.value() == 1


@pytest.mark.parametrize("clear", [lambda state: state.clear(), lambda state: state.update(None)])
def test_a_value_can_be_cleared(context: RuntimeContext, clear: Callable[[Any], None]) -> None:
    state = context.get_state(ValueStateDescriptor("v"))
    state.update(0)
    assert state.value() == 0
    clear(state)
    assert state.value() is None
    clear(state)


def test_a_list_keeps_the_order_of_adding(context: RuntimeContext) -> None:
    state = context.get_list_state(ListStateDescriptor("l"))
    assert isinstance(state, ListState)
    assert list(state.get()) == []
    state.add(1)
    state.add_all([2, 3])
    state.add_all([])
    state.add(4)
    assert list(state) == [1, 2, 3, 4]
    state.update([9])
    assert list(state.get()) == [9]
    state.update([])
    assert list(state) == []


def test_a_list_may_be_changed_while_it_is_read(context: RuntimeContext) -> None:
    state = context.get_list_state(ListStateDescriptor("l"))
    state.add_all([1, 2])
    for value in state:
        state.add(value * 10)
    assert list(state) == [1, 2, 10, 20]


def test_a_map_keeps_entries(context: RuntimeContext) -> None:
    state = context.get_map_state(MapStateDescriptor("m"))
    assert isinstance(state, MapState)
    assert state.is_empty()
    assert state.get("x") is None
    state.put("x", 1)
    state["y"] = 2
    state.put_all({"z": 3})
    assert state["y"] == 2
    assert "z" in state
    assert state.contains("x")
    assert "nothing" not in state
    del state["x"]
    state.remove("not there")
    assert (list(state), list(state.keys()), list(state.values())) == (["y", "z"], ["y", "z"], [2, 3])
    assert dict(state.items()) == {"y": 2, "z": 3}
    state.clear()
    assert state.is_empty()


def test_a_map_may_be_changed_while_it_is_read(context: RuntimeContext) -> None:
    state = context.get_map_state(MapStateDescriptor("m"))
    state.put_all({1: "a", 2: "b", 3: "c"})
    for key in state:
        state.remove(key)
    assert state.is_empty()


@pytest.mark.parametrize("function", [Longer(), lambda left, right: max(left, right, key=len)])
def test_a_reducing_state_is_what_everything_reduces_to(context: RuntimeContext, function: Any) -> None:
    descriptor = ReducingStateDescriptor("r", function)
    state = context.get_reducing_state(descriptor)
    assert isinstance(state, ReducingState)
    assert state.get() is None
    for word in ("a", "ccc", "bb"):
        state.add(word)
    assert state.get() == "ccc"
    assert descriptor.get_reduce_function()("x", "yy") == "yy"


def test_an_aggregating_state_is_read_through_its_result(context: RuntimeContext) -> None:
    function = Mean()
    descriptor = AggregatingStateDescriptor("a", function)
    state = context.get_aggregating_state(descriptor)
    assert isinstance(state, AggregatingState)
    assert state.get() is None
    for number in (1, 2, 6):
        state.add(number)
    assert state.get() == 3
    assert descriptor.get_agg_function() is function


def test_states_of_one_name_are_one_state(context: RuntimeContext) -> None:
    context.get_state(ValueStateDescriptor("v")).update(1)
    assert context.get_state(ValueStateDescriptor("v")).value() == 1
    assert context.get_state(ValueStateDescriptor("w")).value() is None


# Namespaces


def test_states_that_can_merge_take_over_what_other_namespaces_hold(backend: KeyedStateBackend) -> None:
    namespace = "first"

    def at() -> str:
        return namespace

    listed = backend.bind(ListStateDescriptor("l"), at)
    reduced = backend.bind(ReducingStateDescriptor("r", lambda left, right: left + right), at)
    averaged = backend.bind(AggregatingStateDescriptor("a", Mean()), at)
    assert isinstance(listed, ListState)
    assert isinstance(reduced, ReducingState)
    assert isinstance(averaged, AggregatingState)
    for name, number in (("first", 1), ("second", 2), ("third", 6)):
        namespace = name
        for state in (listed, reduced, averaged):
            state.add(number)
    namespace = "first"
    for state in (listed, reduced, averaged):
        state.merge_from(["second", "third", "never used"])
    assert (list(listed), reduced.get(), averaged.get()) == ([1, 2, 6], 9, 3)
    namespace = "second"
    assert (list(listed), reduced.get(), averaged.get()) == ([], None, None)


def test_merging_nothing_changes_nothing(backend: KeyedStateBackend) -> None:
    state = backend.get(ListStateDescriptor("l"))
    state.merge_from(["x"])
    assert isinstance(state, ListState)
    assert list(state) == []


@pytest.mark.parametrize(
    ("descriptor", "kind"), [(ValueStateDescriptor("s"), "ValueState"), (MapStateDescriptor("s"), "MapState")]
)
def test_values_and_maps_cannot_merge(backend: KeyedStateBackend, descriptor: StateDescriptor, kind: str) -> None:
    with pytest.raises(InvalidValueError, match=f"state 's': a {kind} cannot merge; use a reducing or list state"):
        backend.get(descriptor).merge_from(["x"])


def test_a_namespace_can_be_forgotten_as_a_whole(backend: KeyedStateBackend) -> None:
    kept = backend.bind(ValueStateDescriptor("v"), lambda: "kept")
    gone = backend.bind(ValueStateDescriptor("v"), lambda: "gone")
    only = backend.bind(ListStateDescriptor("l"), lambda: "gone")
    assert isinstance(kept, ValueState)
    assert isinstance(gone, ValueState)
    assert isinstance(only, ListState)
    kept.update(1)
    gone.update(2)
    only.add(3)
    backend.clear_namespace("gone")
    assert (kept.value(), gone.value(), list(only)) == (1, None, [])
    assert set(backend.slots) == {"v"}


# Keys


def test_a_key_that_has_nothing_left_is_forgotten(context: RuntimeContext, backend: KeyedStateBackend) -> None:
    state = context.get_map_state(MapStateDescriptor("m"))
    state.put("x", 1)
    backend.set_current_key("b")
    assert list(backend.store.keys()) == ["a", "b"]
    backend.set_current_key("a")
    state.remove("x")
    backend.release_key()
    assert list(backend.store.keys()) == []


@pytest.mark.parametrize("key", [None, 0, "", (), ("a", 1)])
def test_any_value_that_can_be_hashed_is_a_key(backend: KeyedStateBackend, key: Any) -> None:
    state = backend.get(ValueStateDescriptor("v"))
    assert isinstance(state, ValueState)
    backend.set_current_key(key)
    state.update("kept")
    backend.set_current_key("other")
    backend.release_key()
    backend.set_current_key(key)
    assert state.value() == "kept"


def test_a_key_that_cannot_be_hashed_is_refused(backend: KeyedStateBackend) -> None:
    with pytest.raises(InvalidTypeError, match=r"the key \['x'\] of type list cannot be hashed; return a string"):
        backend.set_current_key(["x"])


# Saving


def test_a_snapshot_is_a_copy_that_later_changes_do_not_reach(
    context: RuntimeContext, backend: KeyedStateBackend
) -> None:
    store = backend.store
    assert isinstance(store, MemoryStore)
    state = context.get_list_state(ListStateDescriptor("l"))
    state.add(1)
    saved = pickle.loads(pickle.dumps(store.snapshot()))
    state.add(2)
    restored = MemoryStore()
    restored.restore(saved)
    restored.load("a")["l"][None].append(3)
    again = MemoryStore()
    again.restore(saved)
    assert again.load("a") == {"l": {None: [1]}}


def test_a_snapshot_of_something_else_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a snapshot of 'keyed_state'"):
        MemoryStore().restore({"kind": "timers", "version": 1})


# What a function learns when it is opened


def test_a_runtime_context_says_where_the_function_runs(context: RuntimeContext) -> None:
    assert context.get_task_name() == "counter"
    assert context.get_task_name_with_subtasks() == "counter (2/4)"
    assert context.get_index_of_this_subtask() == 1
    assert context.get_number_of_parallel_subtasks() == context.get_max_number_of_parallel_subtasks() == 4
    assert context.get_attempt_number() == 0
    assert context.get_job_parameter("region", "south") == "north"
    assert context.get_job_parameter("zone", "south") == "south"


def test_metrics_of_groups_carry_their_names(context: RuntimeContext) -> None:
    metrics = context.get_metrics_group()
    metrics.counter("seen").inc(3)
    metrics.counter("seen").dec()
    metrics.add_group("orders").counter("seen").inc()
    metrics.add_group("shop", "7").meter("sold").mark_event(2)
    metrics.gauge("level", lambda: 42)
    spread = metrics.distribution("size")
    spread.update(5)
    spread.update(1)
    assert metrics.values() == {"seen": 2, "orders.seen": 1, "shop.7.sold": 2, "level": 42, "size.count": 2}
    assert (spread.lowest, spread.highest, spread.total) == (1, 5, 6)
    assert metrics.counter("seen").get_count() == 2


# Refused


def test_a_state_needs_the_descriptor_of_its_kind(context: RuntimeContext) -> None:
    with pytest.raises(InvalidTypeError, match="counter: expected a ValueStateDescriptor, got"):
        context.get_state(ListStateDescriptor("l"))  # type: ignore[arg-type]


def test_keyed_state_needs_a_keyed_stream() -> None:
    context = RuntimeContext("counter", 0, 1, MetricGroup())
    with pytest.raises(InvalidValueError, match="counter: keyed state needs a keyed stream; call key_by before it"):
        context.get_state(ValueStateDescriptor("v"))


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_state_needs_a_name(name: Any) -> None:
    with pytest.raises(InvalidValueError, match="a state needs a name, got"):
        ValueStateDescriptor(name)


def test_a_descriptor_knows_its_name() -> None:
    assert MapStateDescriptor("m").get_name() == "m"


def test_what_is_no_descriptor_is_refused(backend: KeyedStateBackend) -> None:
    with pytest.raises(InvalidTypeError, match="expected a state descriptor such as ValueStateDescriptor, got 'v'"):
        backend.get("v")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ReducingStateDescriptor("r", 5), "reduce: expected a ReduceFunction object or a function, got 5"),
        (lambda: ReducingStateDescriptor("r", Longer), "reduce: expected a ReduceFunction object or a function"),
        (lambda: AggregatingStateDescriptor("a", Mean), "aggregate: expected an AggregateFunction object, got"),
    ],
)
def test_functions_of_states_are_checked(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        build()
