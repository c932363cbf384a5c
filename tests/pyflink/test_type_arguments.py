"""Classes that PyFlink's programs write with type arguments."""

from typing import Any

import pytest

from tidegate.common.serializer import TypeSerializer
from tidegate.datastream import async_retry_strategies, functions, state, window

SUBSCRIPTED: list[Any] = [
    functions.AllWindowFunction,
    functions.AsyncFunction,
    functions.AsyncRetryPredicate,
    functions.AsyncRetryStrategy,
    functions.BroadcastProcessFunction,
    functions.KeyedBroadcastProcessFunction,
    functions.ProcessAllWindowFunction,
    functions.ProcessAllWindowFunction.Context,
    functions.ProcessWindowFunction,
    functions.ProcessWindowFunction.Context,
    functions.WindowFunction,
    async_retry_strategies.FixedDelayRetryStrategy,
    async_retry_strategies.RetryPredicate,
    state.AggregatingState,
    state.AppendingState,
    state.BroadcastState,
    state.ListState,
    state.MapState,
    state.MergingState,
    state.ReadOnlyBroadcastState,
    state.ReducingState,
    state.ValueState,
    window.MergingWindowAssigner,
    window.MergingWindowAssigner.MergeCallback,
    window.Trigger,
    window.TumblingEventTimeWindows,
    window.WindowAssigner,
]


@pytest.mark.parametrize("kind", SUBSCRIPTED, ids=lambda kind: kind.__qualname__)
def test_a_class_with_type_arguments_is_the_class(kind: Any) -> None:
    assert kind[str] is kind
    assert kind[str, int] is kind


def test_a_subclass_of_a_class_with_type_arguments_is_one_of_the_class() -> None:
    function: Any = functions.ProcessWindowFunction
    base = function[str, int, str, window.TimeWindow]
    assert issubclass(type("Counting", (base,), {}), functions.ProcessWindowFunction)


def test_a_serializer_says_what_it_writes() -> None:
    assert issubclass(window.TimeWindowSerializer, TypeSerializer)


def test_a_map_state_still_has_entries_by_key() -> None:
    map_state: Any = state.MapState
    assert map_state[str, int].__getitem__ is state.MapState.__getitem__
