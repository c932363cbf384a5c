"""The functions that pipeline cases name: aggregates, timers, joins, requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from tidegate.core.window.windows import TimeWindow
from tidegate.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from tidegate.datastream.state import MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor

Element = dict[str, Any]


class Fold(AggregateFunction):
    """`sum`, `count`, `min`, `max` or `list` of the values."""

    def __init__(self, how: str) -> None:
        self._how = how

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Element, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value["v"]]

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b

    def get_result(self, accumulator: list[Any]) -> Any:
        return {"sum": sum, "count": len, "min": min, "max": max, "list": list}[self._how](accumulator)  # type: ignore[operator]


class WindowResult(ProcessWindowFunction):
    """The result of a window with its key and, for time windows, its span."""

    def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        for value in elements:
            result: Element = {"k": key, "v": value}
            if isinstance(window, TimeWindow):
                result["w"] = [window.start, window.end]
            yield result


class TimerAfter(KeyedProcessFunction):
    """Each element sets a timer; a timer emits the last value of its key."""

    def __init__(self, delay: int, *, by_clock: bool) -> None:
        self._delay = delay
        self._by_clock = by_clock

    def open(self, runtime_context: RuntimeContext) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Element, ctx: Any) -> None:
        self._last.update((value["v"],))
        timers = ctx.timer_service()
        if self._by_clock:
            timers.register_processing_time_timer(timers.current_processing_time() + self._delay)
        else:
            timers.register_event_time_timer(ctx.timestamp() + self._delay)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield {"k": ctx.get_current_key(), "v": self._last.value()[0]}


class CountUntil(KeyedProcessFunction):
    """Counts per key until no element came for the gap: one timer, which moves."""

    def __init__(self, gap: int) -> None:
        self._gap = gap

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))
        self._timer = runtime_context.get_state(ValueStateDescriptor("timer"))

    def process_element(self, value: Element, ctx: Any) -> None:
        self._count.update((self._count.value() or 0) + 1)
        timers = ctx.timer_service()
        before = self._timer.value()
        if before is not None:
            timers.delete_event_time_timer(before)
        self._timer.update(ctx.timestamp() + self._gap)
        timers.register_event_time_timer(ctx.timestamp() + self._gap)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield {"k": ctx.get_current_key(), "v": self._count.value()}
        self._count.clear()
        self._timer.clear()


class Passthrough(KeyedProcessFunction):
    """Each element with the watermark it saw."""

    def process_element(self, value: Element, ctx: Any) -> Iterable[Any]:
        watermark = ctx.timer_service().current_watermark()
        yield {"k": ctx.get_current_key(), "v": value["v"], "wm": watermark}


class SumBoth(KeyedCoProcessFunction):
    """Adds both inputs, emits at a timer set to each element's timestamp, and starts from zero again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))

    def process_element1(self, value: Element, ctx: Any) -> None:
        self._sum.add(value["v"])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield {"k": ctx.get_current_key(), "v": self._sum.get() or 0}
        self._sum.clear()


THRESHOLDS = MapStateDescriptor("thresholds")


class Threshold(KeyedBroadcastProcessFunction):
    """Elements at or above the broadcast threshold pass; none before the first."""

    def process_element(self, value: Element, ctx: Any) -> Iterable[Any]:
        threshold = ctx.get_broadcast_state(THRESHOLDS).get("threshold")
        if threshold is not None and value["v"] >= threshold:
            yield {"k": ctx.get_current_key(), "v": value["v"]}

    def process_broadcast_element(self, value: Element, ctx: Any) -> None:
        ctx.get_broadcast_state(THRESHOLDS).put("threshold", value["v"])


class Answers(AsyncFunction):
    """Requests that the script answers by id."""

    def __init__(self) -> None:
        self._futures: dict[Any, asyncio.Future[list[Any]]] = {}

    async def async_invoke(self, value: Element) -> list[Any]:
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._futures[value["id"]] = future
        return await future

    def complete(self, request: Any, result: Any) -> None:
        future = self._futures.get(request)
        if future is not None and not future.done():
            future.set_result([{"v": result}])

    def fail(self, request: Any) -> None:
        future = self._futures.get(request)
        if future is not None and not future.done():
            future.set_exception(RuntimeError(f"request {request} failed"))

    def __reduce__(self) -> Any:
        return Answers, ()


def join_pair(left: Element, right: Element) -> Element:
    return {"k": left["k"], "left": left["v"], "right": right["v"]}


def distance(old: Element, new: Element) -> float:
    """How far the value has moved."""
    distance: float = abs(new["v"] - old["v"])
    return distance


class GapByValue:
    """The gap of a session by the value of its element."""

    def __init__(self, gaps: dict[Any, int]) -> None:
        self._gaps = gaps

    def __call__(self, element: Element) -> int:
        return self._gaps.get(element["v"], self._gaps["default"])
