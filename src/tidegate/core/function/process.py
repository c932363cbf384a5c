"""Process functions: elements, timers, state and side outputs in the user's hands."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.core.function.functions import Function, check_methods
from tidegate.core.operator.operator import (
    Accept,
    ChainOperator,
    OperatorContext,
    TaskOperator,
)
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.format import StateFormat
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.state.timers import Timer
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark
from tidegate.errors import InvalidValueError


class TimeDomain(enum.Enum):
    """Which time a timer fired in."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class FunctionTimers:
    """The timer service that a function sees: its timers belong to the current key."""

    def __init__(self, operator: TaskOperator) -> None:
        self._timers = operator.timers
        self._state = operator.state

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        return self._timers.current_watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        self._timers.register_event_time(timestamp, self._state.current_key)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._timers.register_processing_time(timestamp, self._state.current_key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._timers.delete_event_time(timestamp, self._state.current_key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._timers.delete_processing_time(timestamp, self._state.current_key)


class ProcessFunction(Function):
    """Sees each element with its time. On a keyed stream use `KeyedProcessFunction`, which has timers."""

    class Context(ABC):
        @abstractmethod
        def timer_service(self) -> Any:
            """Time as it is, and timers where the stream is keyed."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The timestamp of the element, None if it has none."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Send a value to a side output."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None: ...


class KeyedProcessFunction(Function):
    """Sees each element of its key, with state and timers."""

    class Context(ProcessFunction.Context):
        @abstractmethod
        def get_current_key(self) -> Any: ...

    class OnTimerContext(Context):
        @abstractmethod
        def time_domain(self) -> TimeDomain: ...

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """A timer of the current key fired."""
        return None


class KeyedContext(KeyedProcessFunction.OnTimerContext):
    """The context of a keyed function, pointed to an element or a timer."""

    def __init__(self, operator: TaskOperator) -> None:
        self._operator = operator
        self._timers = FunctionTimers(operator)
        self.element_timestamp: int | None = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> FunctionTimers:
        return self._timers

    def timestamp(self) -> int | None:
        return self.element_timestamp

    def get_current_key(self) -> Any:
        return self._operator.state.current_key

    def time_domain(self) -> TimeDomain:
        return self.domain

    def current_watermark(self) -> int:
        return self._timers.current_watermark()

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def output(self, tag: OutputTag, value: Any) -> None:
        self._operator.emit_side(tag, value, self.element_timestamp)


class KeyedFunctionOperator(TaskOperator):
    """What all operators around a keyed function of the user share: its context and its timers."""

    function: Any

    def open(self) -> None:
        self.function_context = self.create_context()
        self.open_function(self.function, self.state)

    def create_context(self) -> KeyedContext:
        return KeyedContext(self)

    def close(self) -> None:
        self.close_function(self.function)

    def on_event_time(self, timer: Timer) -> None:
        self._on_timer(timer, TimeDomain.EVENT_TIME, timer.timestamp)

    def on_processing_time(self, timer: Timer) -> None:
        self._on_timer(timer, TimeDomain.PROCESSING_TIME, None)

    def _on_timer(self, timer: Timer, domain: TimeDomain, result_timestamp: int | None) -> None:
        self.state.set_current_key(timer.key)
        context = self.function_context
        context.element_timestamp = timer.timestamp
        context.domain = domain
        try:
            self.emit(self.function.on_timer(timer.timestamp, context), result_timestamp)
        except Exception as error:
            self.fail(error, timer.key, f"the timer at {timer.timestamp} of key")


@dataclass(frozen=True, slots=True)
class KeyedProcessSpec(OperatorSpec):
    function: Any
    on_error: str = "fail"

    def __post_init__(self) -> None:
        check_methods(self.function, ("process_element",), "process", "KeyedProcessFunction")

    @property
    def waits_for_clock(self) -> bool:
        return True

    def state_format(self) -> StateFormat:
        return StateFormat("a process function")

    def create(self) -> KeyedProcessOperator:
        return KeyedProcessOperator(self.function, buries=self.on_error == "side_output")


class KeyedProcessOperator(KeyedFunctionOperator):
    def __init__(self, function: Any, *, buries: bool = False) -> None:
        self.function = function
        self._buries = buries

    def inputs(self) -> tuple[Accept, ...]:
        return (self.process_element,)

    def process_element(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.state.set_current_key(key)
        context = self.function_context
        context.element_timestamp = timestamp
        self.emit_from(self.function.process_element, value, context, timestamp, buries=self._buries)


class _PlainContext(ProcessFunction.Context):
    """The context of a function without keys: it can read time and set no timers."""

    def __init__(self, operator: ChainOperator) -> None:
        self._operator = operator
        self.element_timestamp: int | None = None
        self.watermark = MIN_TIME

    def timer_service(self) -> _PlainContext:
        return self

    def timestamp(self) -> int | None:
        return self.element_timestamp

    def current_watermark(self) -> int:
        return self.watermark

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def output(self, tag: OutputTag, value: Any) -> None:
        self._operator.emit_side(tag, value, self.element_timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        raise self._not_keyed()

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise self._not_keyed()

    def delete_event_time_timer(self, timestamp: int) -> None:
        raise self._not_keyed()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        raise self._not_keyed()

    def _not_keyed(self) -> InvalidValueError:
        return InvalidValueError(f"{self._operator.name}: timers need a keyed stream; call key_by before process")


@dataclass(frozen=True, slots=True)
class ProcessSpec(OperatorSpec):
    """A process function on a stream without keys."""

    function: Any
    on_error: str = "fail"

    def __post_init__(self) -> None:
        check_methods(self.function, ("process_element",), "process", "ProcessFunction")

    def create(self) -> ProcessOperator:
        return ProcessOperator(self.function, buries=self.on_error == "side_output")


class ProcessOperator(ChainOperator):
    def __init__(self, function: Any, *, buries: bool = False) -> None:
        self.function = function
        self._buries = buries

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._context = _PlainContext(self)

    def open(self) -> None:
        self.open_function(self.function)

    def close(self) -> None:
        self.close_function(self.function)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._context.element_timestamp = timestamp
        self.emit_from(self.function.process_element, value, self._context, timestamp, buries=self._buries)

    def process_watermark(self, watermark: Watermark) -> None:
        super().process_watermark(watermark)
        self._context.watermark = watermark.timestamp

    def snapshot(self) -> Snapshot:
        return make_snapshot("process", 1, base=super().snapshot(), watermark=self._context.watermark)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "process", 1)
        super().restore(fields["base"])
        self._context.watermark = fields["watermark"]
