"""Tidegate's timer service under a script."""

from __future__ import annotations

import itertools
from typing import Any

from tests.oracle.script import ERROR, Results, Script, Step

from tidegate.core.state.timers import MemoryTimerQueue, Timer, TimerService

LONGEST_NAMESPACE = 3


class Timers:
    """A timer service on memory queues. With `cuts`, these are saved and brought back after every step."""

    def __init__(self, script: Script, *, cuts: bool = False) -> None:
        self._cuts = cuts
        self._reactions: dict[str, list[list[Any]]] = script.get("reactions", {})
        self._now = 0
        self._fired: list[Any] = []
        self._event_queue = MemoryTimerQueue()
        self._processing_queue = MemoryTimerQueue()
        self._service = TimerService(
            self._event_queue,
            self._processing_queue,
            lambda: self._now,
            on_event_time=lambda timer: self._fire("event", timer),
            on_processing_time=lambda timer: self._fire("clock", timer),
        )

    def step(self, step: Step) -> Any:
        result = self._step(step)
        if self._cuts:
            for queue in (self._event_queue, self._processing_queue):
                queue.restore(queue.snapshot())
        return result

    def _step(self, step: Step) -> Any:
        match step:
            case ["watermark", time]:
                self._service.advance_watermark(time)
                return self._take()
            case ["advance", time, size]:
                return self._advance_in_slices(time, size)
            case ["now", time]:
                self._now = time
                self._service.advance_processing_time()
                return self._take()
            case [verb, time, key, namespace]:
                self._change(verb, time, key, namespace)
        return [len(self._event_queue), len(self._processing_queue)]

    def _advance_in_slices(self, time: int, size: int) -> Any:
        slices = []
        is_done = False
        while not is_done:
            is_done = self._service.advance_watermark(time, lambda: len(self._fired) >= size)
            slices.append(self._take())
        return slices

    def _change(self, verb: str, time: int, key: str, namespace: str) -> None:
        changes = {
            "event": self._service.register_event_time,
            "clock": self._service.register_processing_time,
            "delete_event": self._service.delete_event_time,
            "delete_clock": self._service.delete_processing_time,
        }
        changes[verb](time, key, namespace)

    def _fire(self, domain: str, timer: Timer) -> None:
        timestamp, key, namespace = timer
        self._fired.append([timestamp, domain, key, namespace, self._service.current_watermark, self._now, key])
        if len(namespace) < LONGEST_NAMESPACE:
            for verb, delay in self._reactions.get(key, []):
                self._change(verb, timestamp + delay, key, namespace + "+")

    def _take(self) -> list[Any]:
        fired, self._fired = self._fired, []
        return fired


def cut_timers(script: Script) -> Timers:
    return Timers(script, cuts=True)


def without_order_of_ties(script: Script, results: Results) -> Results:
    """Results in which timers of one time stand in one order, and slices without timers are left out.

    Ties may fire in any order. A timer that a reaction registers for the time that is firing may therefore fire once
    or twice, and one that it registers for an earlier time may come before or after others: then the order of the
    whole step is given up.
    """
    has_past = any(delay < 0 for reactions in script.get("reactions", {}).values() for _, delay in reactions)

    def ordered(step: Step, result: Any) -> Any:
        if result == ERROR:
            return result
        if step[0] == "advance":
            return [slice_ for slice_ in result if slice_]
        if step[0] not in ("watermark", "now"):
            return result
        if has_past:
            return _unique(result)
        return [timer for _, ties in itertools.groupby(result, lambda timer: timer[0]) for timer in _unique(ties)]

    return [ordered(step, result) for step, result in zip(script["steps"], results, strict=True)]


def _unique(timers: Any) -> list[Any]:
    return [timer for timer, _ in itertools.groupby(sorted(timers))]
