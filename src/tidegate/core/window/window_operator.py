"""The window operator: assigner, trigger, lateness, evictor and function put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.function.functions import ProcessAllWindowFunction, ProcessWindowFunction
from tidegate.core.key.hashing import stable_hash
from tidegate.core.operator.operator import Accept, TaskOperator
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.format import StateFormat, described
from tidegate.core.state.keyed_state import MISSING
from tidegate.core.state.timers import Timer
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, add
from tidegate.core.window.assigners import GlobalWindows, MergingWindowAssigner, WindowAssigner
from tidegate.core.window.cleanup import Cleanup
from tidegate.core.window.evictors import Evictor, TimestampedValue
from tidegate.core.window.merging import MergingWindowSet
from tidegate.core.window.stagger import Stagger
from tidegate.core.window.trigger import Trigger, TriggerResult
from tidegate.core.window.triggers import fires_at_window_end
from tidegate.core.window.window_contexts import AssignerContext, TriggerContext, WindowContext
from tidegate.core.window.window_functions import WindowContents, as_window_process
from tidegate.errors import InvalidValueError, TidegateError

CONTENTS: Final = "window-contents"
LIVE_WINDOWS: Final = "live-windows"


@dataclass(frozen=True, slots=True)
class WindowSpec(OperatorSpec):
    """A window operation as a value, checked when built."""

    assigner: WindowAssigner
    contents: WindowContents
    function: Any = None
    trigger: Trigger | None = None
    evictor: Evictor | None = None
    allowed_lateness: int = 0
    late_output: OutputTag | None = None
    is_keyed: bool = True

    def __post_init__(self) -> None:
        if self.allowed_lateness < 0:
            raise InvalidValueError(f"allowed_lateness must not be negative, got {self.allowed_lateness} ms")
        as_window_process(self.function, keyed=self.is_keyed)
        if isinstance(self.assigner, MergingWindowAssigner) and not self.effective_trigger.can_merge():
            raise InvalidValueError(
                f"{type(self.effective_trigger).__name__} cannot merge, and {type(self.assigner).__name__} merges "
                "windows; use a trigger with can_merge() and on_merge(), or windows that do not merge"
            )

    @property
    def effective_trigger(self) -> Trigger:
        return self.assigner.get_default_trigger(None) if self.trigger is None else self.trigger

    @property
    def effective_evictor(self) -> Evictor | None:
        return self.assigner.get_default_evictor() if self.evictor is None else self.evictor

    @property
    def waits_for_clock(self) -> bool:
        is_cleaned_by_clock = not self.assigner.is_event_time() and not isinstance(self.assigner, GlobalWindows)
        return is_cleaned_by_clock or self.effective_trigger.uses_clock()

    def state_format(self) -> StateFormat:
        return StateFormat("a window by keys", self.fixed_meaning(), self.shared_meaning(), self.flexible_meaning())

    def fixed_meaning(self) -> dict[str, Any]:
        """What open windows depend on, however they are kept."""
        evictor = self.effective_evictor
        return {
            "window": described(self.assigner),
            "trigger": described(self.effective_trigger),
            "evictor": None if evictor is None else type(evictor).__name__,
            "contents": self.contents.meaning,
            "windows are": "of each key" if self.is_keyed else "of all elements together",
        }

    def shared_meaning(self) -> dict[str, Any]:
        return {f"aggregate {name}": aggregate for name, aggregate in self.contents.aggregates.items()}

    def flexible_meaning(self, parts: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
        """`parts` are what aggregates are kept in; each is one by itself without them."""
        aggregates = {aggregate: [aggregate] for aggregate in self.contents.aggregates.values()}
        return {"allowed lateness": f"{self.allowed_lateness} ms", "aggregates": aggregates if parts is None else parts}

    def create(self) -> WindowOperator:
        return WindowOperator(self)


class WindowOperator(TaskOperator):
    """Groups the elements of each key into windows and emits a result when the trigger says so.

    An element is skipped by each of its windows that is late, `max_timestamp + allowed_lateness <= watermark`. One
    that every window skipped, and that is itself behind, `timestamp + allowed_lateness <= watermark`, is late: it
    goes to the late output or is dropped, and counted either way. Everything of a window is forgotten when the
    watermark reaches `max_timestamp + allowed_lateness`; a processing-time window goes at `max_timestamp`.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec
        self._assigner = spec.assigner
        self._trigger = spec.effective_trigger
        self._evictor = spec.effective_evictor
        self._contents = spec.contents
        self._process = as_window_process(spec.function, keyed=spec.is_keyed)
        self._is_event_time = spec.assigner.is_event_time()
        self._lateness = spec.allowed_lateness if self._is_event_time else 0
        # Without lateness the event-time trigger's timer is the clean-up timer too: one timer, set once.
        self._has_cleanup_timer = not (
            self._is_event_time and self._lateness == 0 and fires_at_window_end(self._trigger)
        )
        self._stagger = Stagger(spec.assigner)
        if isinstance(spec.assigner, MergingWindowAssigner):
            self._merging = MergingWindowSet(spec.assigner)

    def setup(self, context: Any) -> None:
        super().setup(context)
        self._late_dropped = context.metrics.counter("num_late_records_dropped")
        self._late_output = context.metrics.counter("num_late_records_to_side_output")
        self._in_no_window = context.metrics.counter("num_records_in_no_window")
        timers = context.event_timers if self._is_event_time else context.processing_timers
        self._cleanup = Cleanup(self._lateness, timers)
        self._trigger_context = TriggerContext(self)
        self._window_context = WindowContext(self, is_merging=isinstance(self._assigner, MergingWindowAssigner))
        self._assigner_context = AssignerContext(self)

    def open(self) -> None:
        for function in self._functions():
            self.open_function(function, self.state)

    def close(self) -> None:
        for function in self._functions():
            self.close_function(function)

    def _functions(self) -> tuple[Any, ...]:
        return getattr(self._contents, "function", None), self._spec.function

    def inputs(self) -> tuple[Accept, ...]:
        if isinstance(self._assigner, MergingWindowAssigner):
            return (self._accept(self._add_merging),)
        is_plain = self._is_event_time and self._evictor is None and not self._stagger.is_open
        if is_plain and fires_at_window_end(self._trigger):
            return (self._accept_by_event_time(),)
        return (self._accept(self._add),)

    def snapshot_own(self) -> Any:
        return {"shift": self._stagger.shift, "latenesses": self._cleanup.snapshot()}

    def restore_own(self, own: Any) -> None:
        self._cleanup.restore(own["latenesses"])
        if own["shift"] is not None:
            self._assigner = self._stagger.restore(own["shift"])

    # Elements

    def _accept(self, add_element: Callable[[Any, Any, int], bool]) -> Accept:
        """The way in: `add_element` says whether a window took the element."""
        stagger = self._stagger
        is_event_time = self._is_event_time

        def accept(key: Any, value: Any, timestamp: int | None) -> None:
            if timestamp is None or timestamp == MIN_TIME:
                if is_event_time:
                    raise self._no_timestamp(value)
                timestamp = MIN_TIME
            if stagger.is_open:
                seed = stable_hash((self.name, self.context.subtask))
                self._assigner = stagger.choose(self.context.clock(), seed)
            self.state.set_current_key(key)
            try:
                was_added = add_element(key, value, timestamp)
            except Exception as error:
                self.fail(error, value)
            if not was_added:
                self._skipped(value, timestamp)

        return accept

    def _accept_by_event_time(self) -> Accept:
        """The way in for the common case, written out: no merging, the event-time trigger, no evictor.

        A window that has contents has its timers already, so only its first element touches them.
        """
        state, timers, lateness = self.state, self.timers, self._lateness
        assign, assigner_context = self._assigner.assign_windows, self._assigner_context
        first, add_to = self._contents.first, self._contents.add

        def add_element(key: Any, value: Any, timestamp: int) -> None:
            slots = state.set_current_key(key)
            watermark = timers.current_watermark
            was_added = False
            for window in assign(value, timestamp, assigner_context):
                last = window.max_timestamp()
                cleanup = last + lateness
                if cleanup > MAX_TIME:
                    cleanup = MAX_TIME
                if cleanup <= watermark:
                    continue
                was_added = True
                kept = slots.get(CONTENTS)
                if kept is None:
                    kept = slots[CONTENTS] = {}
                contents = kept.get(window, MISSING)
                kept[window] = first(value) if contents is MISSING else add_to(contents, value)
                if contents is MISSING:
                    if last > watermark:
                        timers.event_queue.add(last, key, window)
                    if lateness and cleanup < MAX_TIME:
                        timers.event_queue.add(cleanup, key, window)
                if last <= watermark:
                    self._fire(key, window, window)
            if not was_added:
                self._skipped(value, timestamp)

        def accept(key: Any, value: Any, timestamp: int | None) -> None:
            if timestamp is None or timestamp == MIN_TIME:
                raise self._no_timestamp(value)
            try:
                add_element(key, value, timestamp)
            except Exception as error:
                self.fail(error, value)

        return accept

    def _add(self, key: Any, value: Any, timestamp: int) -> bool:
        was_added = False
        for window in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            if not self._is_window_late(window):
                was_added = True
                self._add_to(key, window, window, value, timestamp)
        return was_added

    def _add_merging(self, key: Any, value: Any, timestamp: int) -> bool:
        slots = self.state.slots
        live = slots.get(LIVE_WINDOWS)
        if live is None:
            live = slots[LIVE_WINDOWS] = {}
        windows = self._merging.at(live)
        was_added = False
        for assigned in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            window = windows.add(assigned, self._may_create, self._on_merge)
            if window is not None:
                was_added = True
                self._add_to(key, window, live[window], value, timestamp)
        if not was_added:
            self._drop_if_empty(LIVE_WINDOWS)
        return was_added

    def _add_to(self, key: Any, window: Any, state_window: Any, value: Any, timestamp: int) -> None:
        kept = self.state.values(CONTENTS)
        contents = kept.get(state_window, MISSING)
        if self._evictor is not None:
            element = TimestampedValue(value, timestamp if timestamp != MIN_TIME else None)
            if contents is MISSING:
                kept[state_window] = [element]
            else:
                contents.append(element)
        elif contents is MISSING:
            kept[state_window] = self._contents.first(value)
        else:
            kept[state_window] = self._contents.add(contents, value)
        context = self._trigger_context.at(key, window)
        result = self._trigger.on_element(value, timestamp, window, context)
        if result is not TriggerResult.CONTINUE:
            self._react(result, key, window, state_window)
        if self._has_cleanup_timer:
            self._cleanup.register(key, window)

    def _skipped(self, value: Any, timestamp: int) -> None:
        if not self._is_event_time or add(timestamp, self._lateness) > self.timers.current_watermark:
            self._in_no_window.inc()
        elif self._spec.late_output is None:
            self._late_dropped.inc()
        else:
            self._late_output.inc()
            self.output.collect_side(self._spec.late_output.tag_id, value, timestamp)

    # Timers

    def on_event_time(self, timer: Timer) -> None:
        self._fire_timer(timer, is_event_time=True)

    def on_processing_time(self, timer: Timer) -> None:
        self._fire_timer(timer, is_event_time=False)

    def _fire_timer(self, timer: Timer, *, is_event_time: bool) -> None:
        try:
            self._on_timer(timer, is_event_time=is_event_time)
        except Exception as error:
            self.fail(error, timer.key, f"{timer.namespace} of key")

    def _on_timer(self, timer: Timer, *, is_event_time: bool) -> None:
        key, window = timer.key, timer.namespace
        self.state.set_current_key(key)
        state_window = window
        if isinstance(self._assigner, MergingWindowAssigner):
            state_window = self._merging.at(self.state.slots.get(LIVE_WINDOWS, {})).state_window(window)
            if state_window is None:
                return
        context = self._trigger_context.at(key, window)
        decide = self._trigger.on_event_time if is_event_time else self._trigger.on_processing_time
        self._react(decide(timer.timestamp, window, context), key, window, state_window)
        if is_event_time == self._is_event_time and self._cleanup.is_due(key, window, timer.timestamp):
            self._forget(key, window, state_window)

    def _is_window_late(self, window: Any) -> bool:
        return self._is_event_time and self._cleanup.time(window) <= self.timers.current_watermark

    def _may_create(self, window: Any) -> bool:
        return not self._is_window_late(window)

    # Firing

    def _react(self, result: TriggerResult, key: Any, window: Any, state_window: Any) -> None:
        if result.is_fire():
            self._fire(key, window, state_window)
        if result.is_purge():
            self.state.values(CONTENTS).pop(state_window, None)
            self._drop_if_empty(CONTENTS)

    def _fire(self, key: Any, window: Any, state_window: Any) -> None:
        kept = self.state.slots.get(CONTENTS)
        contents: Any = MISSING if kept is None else kept.get(state_window, MISSING)
        if contents is MISSING:
            return
        context = self._window_context.at(key, window)
        if self._evictor is None:
            results = self._process(key, context, self._contents.elements(contents))
            self.emit(results, window.max_timestamp())
        else:
            self._fire_evicting(self._evictor, key, window, contents, context)
        if self._evictor is not None and not contents:
            self.state.values(CONTENTS).pop(state_window, None)
            self._drop_if_empty(CONTENTS)

    def _fire_evicting(self, evictor: Evictor, key: Any, window: Any, kept: list[Any], context: WindowContext) -> None:
        evictor.evict_before(kept, len(kept), window, self._trigger_context)
        if kept:
            contents = self._contents.first(kept[0].value)
            for element in kept[1:]:
                contents = self._contents.add(contents, element.value)
            self.emit(self._process(key, context, self._contents.elements(contents)), window.max_timestamp())
        evictor.evict_after(kept, len(kept), window, self._trigger_context)

    def _forget(self, key: Any, window: Any, state_window: Any) -> None:
        """Clean the window up: contents, trigger state and timers, per-window state."""
        self._trigger.clear(window, self._trigger_context.at(key, window))
        if isinstance(self._spec.function, ProcessWindowFunction | ProcessAllWindowFunction):
            self._spec.function.clear(self._window_context.at(key, window))
        self.state.clear_namespace(window)
        if state_window is not window:
            self.state.clear_namespace(state_window)

    # Merging

    def _on_merge(self, result: Any, merged: list[Any], state_window: Any, merged_state_windows: list[Any]) -> None:
        key = self.state.current_key
        context = self._trigger_context
        trigger = self._trigger
        trigger.on_merge(result, context.merging(key, result, merged))
        for window in merged:
            if window != result:
                trigger.clear(window, context.at(key, window))
                if self._has_cleanup_timer:
                    self._cleanup.delete(key, window)
        if merged_state_windows:
            self._merge_contents(state_window, merged_state_windows)

    def _merge_contents(self, state_window: Any, others: list[Any]) -> None:
        kept = self.state.values(CONTENTS)
        for other in others:
            theirs = kept.pop(other, MISSING)
            if theirs is MISSING:
                continue
            mine = kept.get(state_window, MISSING)
            if mine is MISSING:
                kept[state_window] = theirs
            else:
                kept[state_window] = mine + theirs if self._evictor else self._contents.merge(mine, theirs)
        self._drop_if_empty(CONTENTS)

    def _drop_if_empty(self, name: str) -> None:
        if not self.state.slots.get(name, True):
            del self.state.slots[name]

    def _no_timestamp(self, value: Any) -> TidegateError:
        return InvalidValueError(
            f"window on '{self.name}': the record {value!r} has no timestamp; call "
            "assign_timestamps_and_watermarks before window(), or use a processing-time window"
        ).named(self.name)
