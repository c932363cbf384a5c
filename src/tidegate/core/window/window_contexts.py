"""What assigners, triggers, evictors and window functions get to see of the window operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.core.function.functions import ProcessWindowFunction
from tidegate.core.operator.runtime_context import KeyedStateStore
from tidegate.core.state.descriptors import StateDescriptor
from tidegate.core.state.keyed_state import KeyedStateBackend
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, check_timestamp
from tidegate.core.window.assigners import WindowAssigner
from tidegate.core.window.evictors import Evictor
from tidegate.core.window.trigger import Trigger
from tidegate.errors import InvalidValueError

if TYPE_CHECKING:
    from tidegate.core.operator.operator import TaskOperator


class AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, operator: TaskOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> Any:
        return self._operator.runtime_context(self._operator.state)


class TriggerContext(Trigger.OnMergeContext, Evictor.EvictorContext):
    """One for all windows of an operator; `at` points it to a key and window."""

    def __init__(self, operator: TaskOperator) -> None:
        self._operator = operator
        self._timers = operator.timers
        # Every element may come by here, so without the hop over the timer service.
        self._add_event_timer = operator.timers.event_queue.add
        self._remove_event_timer = operator.timers.event_queue.remove
        self._key: Any = None
        self._window: Any = None
        self._merged: Sequence[Any] = ()
        self._states: dict[str, Any] = {}

    def at(self, key: Any, window: Any) -> TriggerContext:
        self._key = key
        self._window = window
        return self

    def merging(self, key: Any, window: Any, merged: Sequence[Any]) -> TriggerContext:
        self._merged = merged
        return self.at(key, window)

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_current_watermark(self) -> int:
        return self._timers.current_watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._timers.register_processing_time(time, self._key, self._window)

    def register_event_time_timer(self, time: int) -> None:
        if type(time) is not int or not MIN_TIME <= time <= MAX_TIME:
            time = check_timestamp(time, "register_event_time_timer")
        self._add_event_timer(time, self._key, self._window)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete_processing_time(time, self._key, self._window)

    def delete_event_time_timer(self, time: int) -> None:
        self._remove_event_timer(time, self._key, self._window)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        state = self._states.get(state_descriptor.name)
        if state is None:
            state = self._operator.state.bind(state_descriptor, lambda: self._window, scope="trigger:")
            self._states[state_descriptor.name] = state
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        others = [window for window in self._merged if window != self._window]
        self.get_partitioned_state(state_descriptor).merge_from(others)

    def get_metric_group(self) -> Any:
        return self._operator.context.metrics


class WindowContext(ProcessWindowFunction.Context):
    """One for all windows of an operator; `at` points it to a key and window."""

    def __init__(self, operator: TaskOperator, *, is_merging: bool) -> None:
        self._operator = operator
        self._is_merging = is_merging
        self._window: Any = None

    def at(self, key: Any, window: Any) -> WindowContext:
        self._window = window
        return self

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.timers.current_watermark

    def window_state(self) -> KeyedStateStore:
        if self._is_merging:
            raise InvalidValueError(
                f"{self._operator.name}: windows that merge have no per-window state, because two windows could not "
                "be merged; use global_state()"
            )
        return _ScopedStateStore(self._operator.state, self._operator.name, "window:", self._window)

    def global_state(self) -> KeyedStateStore:
        return _ScopedStateStore(self._operator.state, self._operator.name, "global:", None)

    def output(self, tag: Any, value: Any) -> None:
        self._operator.emit_side(tag, value, self._window.max_timestamp())


class _ScopedStateStore(KeyedStateStore):
    def __init__(self, backend: KeyedStateBackend, name: str, scope: str, namespace: Any) -> None:
        super().__init__(backend, name)
        self._scope = scope
        self._namespace = namespace

    def _bind(self, backend: KeyedStateBackend, descriptor: StateDescriptor) -> Any:
        namespace = self._namespace
        return backend.bind(descriptor, lambda: namespace, self._scope)
