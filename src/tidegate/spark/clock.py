"""Whether a program needs batches without data: only what waits for the clock asks for them."""

from __future__ import annotations

from tidegate.core.function.connect import BroadcastSpec, CoProcessSpec
from tidegate.core.function.process import KeyedProcessSpec
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.window.assigners import GlobalWindows
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    PurgingTrigger,
)
from tidegate.core.window.window_operator import WindowSpec
from tidegate.graph.nodes import Node
from tidegate.graph.stream_graph import StreamGraph
from tidegate.spark.stage_options import TICK_MILLIS

_BY_EVENTS = (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
)


def needs_clock(graph: StreamGraph, auto_watermark_interval: int) -> bool:
    """Whether something in the program can be due while no data comes."""
    is_slow = auto_watermark_interval > TICK_MILLIS
    return any(_waits(node, is_slow=is_slow) for node in graph.nodes)


def _waits(node: Node, *, is_slow: bool) -> bool:
    spec = getattr(node, "spec", None)
    if isinstance(spec, AssignWatermarksSpec):
        return is_slow or spec.strategy.idle_timeout is not None
    if isinstance(spec, WindowSpec):
        is_cleaned_by_clock = not spec.assigner.is_event_time() and not isinstance(spec.assigner, GlobalWindows)
        return is_cleaned_by_clock or not _is_by_events(spec.effective_trigger)
    return isinstance(spec, KeyedProcessSpec | CoProcessSpec | BroadcastSpec)


def _is_by_events(trigger: Trigger) -> bool:
    """Whether the trigger is one of ours that never asks for the clock; a user's own might."""
    if isinstance(trigger, PurgingTrigger):
        return _is_by_events(trigger.nested_trigger)
    return type(trigger) in _BY_EVENTS
