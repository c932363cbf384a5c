"""Functions of two inputs: connected streams, and streams connected with a broadcast one."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidegate.core.function.functions import CoFlatMapFunction, CoMapFunction, Function, check_methods
from tidegate.core.function.process import (
    KeyedContext,
    KeyedFunctionOperator,
    KeyedProcessFunction,
    ProcessFunction,
    TimeDomain,
)
from tidegate.core.operator.operator import Accept
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from tidegate.core.state.descriptors import MapStateDescriptor, StateDescriptor
from tidegate.core.state.format import StateFormat
from tidegate.errors import InvalidTypeError, InvalidValueError


class CoProcessFunction(Function):
    """Sees the elements of two streams."""

    Context: TypeAlias = ProcessFunction.Context

    @abstractmethod
    def process_element1(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None: ...


class KeyedCoProcessFunction(Function):
    """Sees the elements of its key from two streams, with state and timers shared between them."""

    Context: TypeAlias = KeyedProcessFunction.Context
    OnTimerContext: TypeAlias = KeyedProcessFunction.OnTimerContext

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None: ...

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """A timer of the current key fired."""
        return None


@dataclass(frozen=True, slots=True)
class CoProcessSpec(OperatorSpec):
    """Two inputs under one function; without keys there are no timers and no state."""

    function: Any
    is_keyed: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.function, CoMapFunction | CoFlatMapFunction):
            return
        wanted = "KeyedCoProcessFunction" if self.is_keyed else "CoProcessFunction"
        check_methods(self.function, ("process_element1", "process_element2"), "connect.process", wanted)

    @property
    def waits_for_clock(self) -> bool:
        return self.is_keyed

    def state_format(self) -> StateFormat:
        return StateFormat("a function of two inputs", fixed={"state": "keyed" if self.is_keyed else "not keyed"})

    def create(self) -> CoProcessOperator:
        return CoProcessOperator(self.function, is_keyed=self.is_keyed)


class CoProcessOperator(KeyedFunctionOperator):
    def __init__(self, function: Any, *, is_keyed: bool) -> None:
        self.function = function
        self._is_keyed = is_keyed

    def create_context(self) -> KeyedContext:
        return KeyedContext(self) if self._is_keyed else _KeylessContext(self)

    def inputs(self) -> tuple[Accept, ...]:
        function = self.function
        if isinstance(function, CoMapFunction):
            return (
                self._accept(lambda value, _: (function.map1(value),)),
                self._accept(lambda value, _: (function.map2(value),)),
            )
        if isinstance(function, CoFlatMapFunction):
            return (
                self._accept(lambda value, _: function.flat_map1(value)),
                self._accept(lambda value, _: function.flat_map2(value)),
            )
        return self._accept(function.process_element1), self._accept(function.process_element2)

    def _accept(self, process: Callable[[Any, Any], Iterable[Any] | None]) -> Accept:
        def accept(key: Any, value: Any, timestamp: int | None) -> None:
            self.state.set_current_key(key)
            self.function_context.element_timestamp = timestamp
            try:
                self.emit(process(value, self.function_context), timestamp)
            except Exception as error:
                self.fail(error, value)

        return accept


class _KeylessContext(KeyedContext):
    """The context of connected streams without keys."""

    def timer_service(self) -> Any:
        return _KeylessTimers(self)


class _KeylessTimers:
    def __init__(self, context: KeyedContext) -> None:
        self._context = context

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def current_processing_time(self) -> int:
        return self._context.current_processing_time()

    def __getattr__(self, name: str) -> Any:
        raise InvalidValueError(f"{name}: timers need keyed streams; call key_by on both before connect")


class BaseBroadcastProcessFunction(Function):
    """Base of the two broadcast functions."""

    class BaseContext(ProcessFunction.Context):
        @abstractmethod
        def current_processing_time(self) -> int: ...

        @abstractmethod
        def current_watermark(self) -> int: ...

    class Context(BaseContext):
        """On the broadcast side: it may write."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState: ...

    class ReadOnlyContext(BaseContext):
        """On the other side: it may read."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState: ...


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Sees a stream, and a broadcast stream whose state it can read."""

    @abstractmethod
    def process_element(self, value: Any, ctx: BaseBroadcastProcessFunction.ReadOnlyContext) -> Any: ...

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BaseBroadcastProcessFunction.Context) -> Any: ...


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """As `BroadcastProcessFunction`, with keyed state and timers on the keyed side."""

    class Context(BaseBroadcastProcessFunction.Context):
        """On the broadcast side: it may write, and visit the state of every key."""

        @abstractmethod
        def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Any]) -> None:
            """Visit a keyed state of every key of this subtask: `function(key, state)`."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """On the keyed side: it may read, and has a key and timers."""

        @abstractmethod
        def get_current_key(self) -> Any: ...

    class OnTimerContext(ReadOnlyContext):
        """When a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain: ...

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyContext) -> Any: ...

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Context) -> Any: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Any:
        """A timer of the current key fired."""
        return None


@dataclass(frozen=True, slots=True)
class BroadcastSpec(OperatorSpec):
    """A stream (input 1) connected with a broadcast stream (input 2)."""

    function: Any
    descriptors: tuple[MapStateDescriptor, ...]
    is_keyed: bool

    def __post_init__(self) -> None:
        wanted = "KeyedBroadcastProcessFunction" if self.is_keyed else "BroadcastProcessFunction"
        check_methods(
            self.function, ("process_element", "process_broadcast_element"), "connect(broadcast).process", wanted
        )

    @property
    def waits_for_clock(self) -> bool:
        return self.is_keyed

    def state_format(self) -> StateFormat:
        return StateFormat(
            "a broadcast function",
            fixed={"state": "keyed" if self.is_keyed else "not keyed"},
            shared={
                f"{what} of broadcast state {descriptor.name!r}": declared
                for descriptor in self.descriptors
                for what, declared in descriptor.state_format().shared.items()
            },
            flexible={"broadcast states": {descriptor.name: [descriptor.name] for descriptor in self.descriptors}},
        )

    def create(self) -> BroadcastOperator:
        return BroadcastOperator(self)


class BroadcastOperator(KeyedFunctionOperator):
    def __init__(self, spec: BroadcastSpec) -> None:
        self.function = spec.function
        self._is_keyed = spec.is_keyed
        self._broadcast: dict[str, dict[Any, Any]] = {d.name: {} for d in spec.descriptors}

    def create_context(self) -> KeyedContext:
        self._writing = _BroadcastSideContext(self)
        return _KeyedSideContext(self) if self._is_keyed else _PlainSideContext(self)

    def inputs(self) -> tuple[Accept, ...]:
        return self._process_element, self._process_broadcast_element

    def broadcast_entries(self, descriptor: StateDescriptor) -> dict[Any, Any]:
        entries = self._broadcast.get(getattr(descriptor, "name", ""))
        if entries is None:
            raise InvalidValueError(
                f"{self.name}: {descriptor!r} is not one of the broadcast states {sorted(self._broadcast)}; "
                "pass its descriptor to broadcast()"
            )
        return entries

    def snapshot_own(self) -> Any:
        return copy.deepcopy(self._broadcast)

    def restore_own(self, own: Any) -> None:
        for name, entries in own.items():
            self._broadcast.setdefault(name, {}).update(copy.deepcopy(entries))

    def _process_element(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.state.set_current_key(key)
        self.function_context.element_timestamp = timestamp
        try:
            self.emit(self.function.process_element(value, self.function_context), timestamp)
        except Exception as error:
            self.fail(error, value)

    def _process_broadcast_element(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.state.release_key()
        self._writing.element_timestamp = timestamp
        try:
            self.emit(self.function.process_broadcast_element(value, self._writing), timestamp)
        except Exception as error:
            self.fail(error, value)


class _KeyedSideContext(KeyedContext):
    _operator: BroadcastOperator

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        return ReadOnlyBroadcastState(self._operator.broadcast_entries(state_descriptor))


class _PlainSideContext(_KeylessContext):
    _operator: BroadcastOperator

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        return ReadOnlyBroadcastState(self._operator.broadcast_entries(state_descriptor))


class _BroadcastSideContext:
    def __init__(self, operator: BroadcastOperator) -> None:
        self._operator = operator
        self.element_timestamp: int | None = None

    def timestamp(self) -> int | None:
        return self.element_timestamp

    def current_watermark(self) -> int:
        return self._operator.timers.current_watermark

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
        return BroadcastState(self._operator.broadcast_entries(state_descriptor))

    def output(self, tag: OutputTag, value: Any) -> None:
        self._operator.emit_side(tag, value, self.element_timestamp)

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Any]) -> None:
        """Visit a keyed state of every key of this subtask: `function(key, state)`."""
        if not isinstance(state_descriptor, StateDescriptor):
            raise InvalidTypeError(f"apply_to_keyed_state: expected a state descriptor, got {state_descriptor!r}")
        backend = self._operator.state
        state = backend.get(state_descriptor)
        for key in list(backend.store.keys()):
            slots = backend.set_current_key(key)
            if state_descriptor.name in slots:
                function(key, state)
        backend.release_key()
