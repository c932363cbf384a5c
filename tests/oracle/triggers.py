"""Tidegate's triggers under a script, in the context and with the timers and state that the window operator gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tests.oracle.script import Script, Step

from tidegate.core.state.keyed_state import KeyedStateBackend
from tidegate.core.state.keyed_store import MemoryStore
from tidegate.core.state.timers import MemoryTimerQueue, Timer, TimerService
from tidegate.core.time.duration import Time
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from tidegate.core.window.window_contexts import TriggerContext
from tidegate.core.window.windows import GlobalWindow, TimeWindow, Window

ms = Time.milliseconds
KEY = "key"


def trigger(description: list[Any]) -> Trigger:
    """A trigger from `[name, argument, ...]`, where an argument may be a trigger."""
    match description:
        case ["event"]:
            return EventTimeTrigger.create()
        case ["clock"]:
            return ProcessingTimeTrigger.create()
        case ["count", size]:
            return CountTrigger.of(size)
        case ["continuous_event", interval]:
            return ContinuousEventTimeTrigger.of(ms(interval))
        case ["continuous_clock", interval]:
            return ContinuousProcessingTimeTrigger.of(ms(interval))
        case ["delta", threshold]:
            return DeltaTrigger.of(threshold, lambda old, new: new - old)
        case ["purging", nested]:
            return PurgingTrigger.of(trigger(nested))
        case ["timeout", nested, timeout, resets, clears]:
            return ProcessingTimeoutTrigger.of(trigger(nested), ms(timeout), resets, clears)
        case ["end"]:
            return EndOfStreamTrigger()
        case _:
            return NeverTrigger()


def window(span: list[int] | None) -> Window:
    return GlobalWindow() if span is None else TimeWindow(*span)


def span(window: Any) -> list[int] | None:
    return list(window) if isinstance(window, TimeWindow) else None


class Triggered:
    def __init__(self, script: Script) -> None:
        self._trigger = trigger(script["trigger"])
        self._now = 0
        self._gone: set[Window] = set()
        """Windows that went into another; the operator ignores timers that they left behind."""
        self._answers: list[Any] = []
        self._timers = TimerService(
            MemoryTimerQueue(),
            MemoryTimerQueue(),
            lambda: self._now,
            on_event_time=self._on_event_time,
            on_processing_time=self._on_processing_time,
        )
        state = KeyedStateBackend(MemoryStore(), lambda: self._now)
        state.set_current_key(KEY)
        self._context = TriggerContext(cast("Any", SimpleNamespace(timers=self._timers, state=state)))

    def step(self, step: Step) -> Any:
        self._answers = []
        match step:
            case ["watermark", time]:
                self._timers.advance_watermark(time)
            case ["now", time]:
                self._now = time
                self._timers.advance_processing_time()
            case ["merge", result, *merged]:
                self._merge(window(result), [window(one) for one in merged])
            case [verb, where, *rest]:
                self._answers.append(self._on_window(verb, window(where), rest))
        return [self._answers, _shown(self._timers.event_queue), _shown(self._timers.processing_queue)]

    def _on_window(self, verb: str, where: Window, rest: list[Any]) -> str | None:
        context = self._context.at(KEY, where)
        if verb == "element":
            value, timestamp = rest
            return self._trigger.on_element(value, timestamp, where, context).name
        if verb == "on_event":
            return self._trigger.on_event_time(rest[0], where, context).name
        if verb == "on_clock":
            return self._trigger.on_processing_time(rest[0], where, context).name
        self._trigger.clear(where, context)
        return None

    def _merge(self, result: Window, merged: list[Window]) -> None:
        self._trigger.on_merge(result, self._context.merging(KEY, result, merged))
        for one in merged:
            self._trigger.clear(one, self._context.at(KEY, one))
        self._gone = self._gone.union(merged) - {result}

    def _on_event_time(self, timer: Timer) -> None:
        if timer.namespace in self._gone:
            return
        context = self._context.at(KEY, timer.namespace)
        result = self._trigger.on_event_time(timer.timestamp, timer.namespace, context)
        self._answers.append([timer.timestamp, span(timer.namespace), result.name])

    def _on_processing_time(self, timer: Timer) -> None:
        if timer.namespace in self._gone:
            return
        context = self._context.at(KEY, timer.namespace)
        result = self._trigger.on_processing_time(timer.timestamp, timer.namespace, context)
        self._answers.append([timer.timestamp, span(timer.namespace), result.name])


def _shown(queue: Any) -> list[Any]:
    """All timers as `[time, window]`, in the order in which Flink's side shows them."""
    timers = queue.snapshot()["timers"]
    return [[t, span(w)] for t, _, w in sorted(timers, key=_order)]


def _order(timer: list[Any]) -> tuple[int, str]:
    window = span(timer[2])
    return timer[0], "null" if window is None else str(window)
