"""The triggers that come with Tidegate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.core.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from tidegate.core.state.keyed_state import ReducingState
from tidegate.core.time.duration import DurationLike, as_millis, as_span, positive_millis
from tidegate.core.time.millis import MAX_TIME, add
from tidegate.core.window.trigger import Trigger, TriggerResult
from tidegate.core.window.windows import Window
from tidegate.errors import InvalidTypeError, InvalidValueError


class _QuietTrigger(Trigger):
    """Goes on, whatever happens; the others say only what they react to."""

    def uses_clock(self) -> bool:
        return False

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        pass


class EventTimeTrigger(_QuietTrigger):
    """Fires when the watermark reaches the end of the window, and again for each late but allowed element."""

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        last = window.max_timestamp()
        if last <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(last)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        last = window.max_timestamp()
        if last > ctx.get_current_watermark():
            ctx.register_event_time_timer(last)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


def fires_at_window_end(trigger: Trigger) -> bool:
    """Whether it is the event-time trigger itself, which operators know well enough to do its work for it."""
    return type(trigger) is EventTimeTrigger


class ProcessingTimeTrigger(_QuietTrigger):
    """Fires when the clock passes the end of the window."""

    def uses_clock(self) -> bool:
        return True

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class CountTrigger(_QuietTrigger):
    """Fires at every n-th element of a window."""

    def __init__(self, window_size: int) -> None:
        if isinstance(window_size, bool) or not isinstance(window_size, int) or window_size < 1:
            raise InvalidValueError(f"CountTrigger: the count must be an integer of 1 or more, got {window_size!r}")
        self.window_size = window_size
        self._count = ReducingStateDescriptor("trigger-count", int.__add__)

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() >= self.window_size:
            count.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()


class _ContinuousTrigger(_QuietTrigger):
    """What both continuous triggers share: the time of the next firing, kept as state."""

    def __init__(self, interval: int | DurationLike) -> None:
        self.interval = positive_millis(as_span(interval), f"{type(self).__name__}: interval")
        self._next_fire = ReducingStateDescriptor("trigger-next-fire", min)

    def _schedule(self, time: int, window: Window, state: ReducingState) -> int:
        upcoming = min(add(time, self.interval), window.max_timestamp())
        state.add(upcoming)
        return upcoming

    def _aligned(self, time: int) -> int:
        # Flink's remainder is Java's: it truncates towards zero, so below zero the intervals align upwards.
        remainder = abs(time) % self.interval
        return time - remainder if time >= 0 else time + remainder

    def can_merge(self) -> bool:
        return True


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of the interval, and at the end of the window."""

    @staticmethod
    def of(interval: DurationLike) -> ContinuousEventTimeTrigger:
        return ContinuousEventTimeTrigger(as_millis(interval, "ContinuousEventTimeTrigger: interval"))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() is None:
            ctx.register_event_time_timer(self._schedule(self._aligned(timestamp), window, state))
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        if window.max_timestamp() == MAX_TIME == ctx.get_current_watermark():
            # At the end of input a window without end would fire for every interval up to the end of time (in
            # Flink it does, for ever). It fires once, by its own timer at MAX_TIME.
            return TriggerResult.CONTINUE
        ctx.register_event_time_timer(self._schedule(time, window, state))
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_fire)
        upcoming = ctx.get_partitioned_state(self._next_fire).get()
        if upcoming is not None:
            ctx.register_event_time_timer(upcoming)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(self._next_fire)
        upcoming = state.get()
        if upcoming is not None:
            ctx.delete_event_time_timer(upcoming)
            state.clear()


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires whenever the clock passes a multiple of the interval, and at the end of the window."""

    def uses_clock(self) -> bool:
        return True

    @staticmethod
    def of(interval: DurationLike) -> ContinuousProcessingTimeTrigger:
        return ContinuousProcessingTimeTrigger(as_millis(interval, "ContinuousProcessingTimeTrigger: interval"))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            ctx.register_processing_time_timer(self._schedule(self._aligned(now), window, state))
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        ctx.register_processing_time_timer(self._schedule(time, window, state))
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_fire)
        upcoming = ctx.get_partitioned_state(self._next_fire).get()
        if upcoming is not None:
            ctx.register_processing_time_timer(upcoming)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self._next_fire)
        upcoming = state.get()
        if upcoming is not None:
            ctx.delete_processing_time_timer(upcoming)
            state.clear()


class DeltaTrigger(_QuietTrigger):
    """Fires when an element differs from the one of the last firing by more than the threshold."""

    def __init__(self, threshold: float, delta_function: Callable[[Any, Any], float]) -> None:
        if not callable(delta_function):
            raise InvalidTypeError(f"DeltaTrigger: expected a function (old, new) -> number, got {delta_function!r}")
        self.threshold = threshold
        self._delta = delta_function
        self._last = ValueStateDescriptor("trigger-last-element")

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float]) -> DeltaTrigger:
        return DeltaTrigger(threshold, delta_function)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(self._last)
        last = state.value()
        if last is None:
            state.update((element,))
            return TriggerResult.CONTINUE
        if self._delta(last[0], element) > self.threshold:
            state.update((element,))
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()


class PurgingTrigger(Trigger):
    """As the nested trigger, and every firing also empties the window."""

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested_trigger = check_trigger(nested_trigger, "PurgingTrigger")

    def uses_clock(self) -> bool:
        return self.nested_trigger.uses_clock()

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


class ProcessingTimeoutTrigger(Trigger):
    """As the nested trigger, and also when the clock has passed a timeout since the first (or last) element."""

    def __init__(
        self,
        nested_trigger: Trigger,
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = check_trigger(nested_trigger, "ProcessingTimeoutTrigger")
        self.timeout = positive_millis(timeout, "ProcessingTimeoutTrigger: timeout")
        self.resets = reset_timer_on_new_record
        self.clears = should_clear_on_timeout
        self._timer = ValueStateDescriptor("trigger-timeout")

    @staticmethod
    def of(
        nested_trigger: Trigger,
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        return ProcessingTimeoutTrigger(nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._timer)
        timer = state.value()
        if timer is not None and self.resets:
            ctx.delete_processing_time_timer(timer)
            timer = None
        if timer is None:
            due = add(ctx.get_current_processing_time(), self.timeout)
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self._timer)
        timer = state.value()
        if timer is not None:
            ctx.delete_processing_time_timer(timer)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def _fire(self, nested: TriggerResult, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self.clears:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE


class NeverTrigger(_QuietTrigger):
    """Never fires."""


class EndOfStreamTrigger(NeverTrigger):
    """Fires once, when the input ends."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


def check_trigger(trigger: Any, where: str) -> Trigger:
    if not isinstance(trigger, Trigger):
        raise InvalidTypeError(f"{where}: expected a Trigger such as CountTrigger.of(10), got {trigger!r}")
    return trigger


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
