"""PyFlink's `pyflink.datastream.state`: descriptors, handles, time to live."""

from tidegate.core.connect import BroadcastState
from tidegate.core.state import AggregatingState, ListState, MapState, ReducingState, State, ValueState
from tidegate.core.state_descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tidegate.core.ttl import StateTtlConfig

ReadOnlyBroadcastState = BroadcastState

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]
