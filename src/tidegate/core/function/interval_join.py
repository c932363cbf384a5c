"""The interval join: pairs of two keyed streams whose timestamps are close enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.function.functions import Function, check_methods
from tidegate.core.operator.operator import Accept, TaskOperator
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.format import StateFormat
from tidegate.core.state.timers import Timer
from tidegate.core.time.millis import MIN_TIME, add, subtract
from tidegate.errors import InvalidValueError

_SIDES: Final = ("left", "right")


class ProcessJoinFunction(Function):
    """Makes results of a pair. A lambda `(left, right) -> result` may stand in its place."""

    class Context(ABC):
        @abstractmethod
        def get_left_timestamp(self) -> int: ...

        @abstractmethod
        def get_right_timestamp(self) -> int: ...

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the pair: the larger of the two."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None: ...

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: Context) -> Iterable[Any] | None: ...


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec(OperatorSpec):
    """Left and right pair if `left + lower <= right <= left + upper`; bounds in milliseconds, both inclusive."""

    lower: int
    upper: int
    function: Any
    late_left: OutputTag | None = None
    late_right: OutputTag | None = None

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise InvalidValueError(
                f"interval_join: the lower bound {self.lower} ms is above the upper bound {self.upper} ms, "
                "so no pair could ever match"
            )
        check_methods(self.function, ("process_element",), "interval_join", "ProcessJoinFunction")

    def state_format(self) -> StateFormat:
        return StateFormat("an interval join", fixed={"interval": f"{self.lower} ms to {self.upper} ms"})

    def create(self) -> IntervalJoinOperator:
        return IntervalJoinOperator(self)


class IntervalJoinOperator(TaskOperator):
    """Keeps both sides in buffers per key.

    An element is late if `timestamp < watermark`; equal is not late. An element stays buffered until no partner
    that is not late can come any more: a left one while the watermark is at most `timestamp + upper`. (Flink cleans a
    millisecond too early and misses a partner at the very bound.)
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        self._spec = spec
        self._late_tags = (spec.late_left, spec.late_right)

    def setup(self, context: Any) -> None:
        super().setup(context)
        self._late_dropped = context.metrics.counter("num_late_records_dropped")
        self._late_output = context.metrics.counter("num_late_records_to_side_output")

    def open(self) -> None:
        self._context = _PairContext(self)
        self.open_function(self._spec.function, self.state)

    def close(self) -> None:
        self.close_function(self._spec.function)

    def inputs(self) -> tuple[Accept, ...]:
        return (
            lambda key, value, timestamp: self._process(key, value, timestamp, 0),
            lambda key, value, timestamp: self._process(key, value, timestamp, 1),
        )

    def _process(self, key: Any, value: Any, timestamp: int | None, side: int) -> None:
        if timestamp is None or timestamp == MIN_TIME:
            raise InvalidValueError(
                f"interval join on '{self.name}': the record {value!r} has no timestamp; "
                "call assign_timestamps_and_watermarks on both streams before interval_join()"
            ).named(self.name)
        watermark = self.timers.current_watermark
        if timestamp < watermark:
            self._late(value, timestamp, side)
            return
        self.state.set_current_key(key)
        cleanup = self._last_partner(timestamp, side)
        if cleanup >= watermark:
            self._buffer(side, value, timestamp)
            self.timers.register_event_time(add(cleanup, 1), key, _SIDES[side])
        lowest, highest = self._partners(timestamp, side)
        times, values = self._buffers(1 - side)
        for other in times[bisect_left(times, lowest) : bisect_right(times, highest)]:
            for partner in values[other]:
                if side == 0:
                    self._emit_pair(value, partner, timestamp, other)
                else:
                    self._emit_pair(partner, value, other, timestamp)

    def _emit_pair(self, left: Any, right: Any, left_timestamp: int, right_timestamp: int) -> None:
        context = self._context
        context.left, context.right = left_timestamp, right_timestamp
        try:
            self.emit(self._spec.function.process_element(left, right, context), context.get_timestamp())
        except Exception as error:
            self.fail(error, (left, right), "the pair")

    def _late(self, value: Any, timestamp: int, side: int) -> None:
        tag = self._late_tags[side]
        if tag is None:
            self._late_dropped.inc()
        else:
            self._late_output.inc()
            self.output.collect_side(tag.tag_id, value, timestamp)

    def on_event_time(self, timer: Timer) -> None:
        """Everything of this side whose last possible partner would now be late goes."""
        self.state.set_current_key(timer.key)
        side = _SIDES.index(timer.namespace)
        times, values = self._buffers(side)
        bound = self._spec.upper if side == 0 else -self._spec.lower
        gone = subtract(timer.timestamp, bound + 1)
        count = bisect_right(times, gone)
        for time in times[:count]:
            del values[time]
        del times[:count]
        if not times:
            self.state.slots.pop(_SIDES[side], None)

    def _last_partner(self, timestamp: int, side: int) -> int:
        return self._partners(timestamp, side)[1]

    def _partners(self, timestamp: int, side: int) -> tuple[int, int]:
        if side == 0:
            return add(timestamp, self._spec.lower), add(timestamp, self._spec.upper)
        return subtract(timestamp, self._spec.upper), subtract(timestamp, self._spec.lower)

    def _buffer(self, side: int, value: Any, timestamp: int) -> None:
        buffer = self.state.values(_SIDES[side])
        if not buffer:
            buffer["times"], buffer["values"] = [], {}
        if timestamp in buffer["values"]:
            buffer["values"][timestamp].append(value)
        else:
            insort(buffer["times"], timestamp)
            buffer["values"][timestamp] = [value]

    def _buffers(self, side: int) -> tuple[list[int], dict[int, list[Any]]]:
        """The timestamps of one side in order, and the elements of each."""
        buffer = self.state.slots.get(_SIDES[side])
        return ([], {}) if buffer is None else (buffer["times"], buffer["values"])


class _PairContext(ProcessJoinFunction.Context):
    def __init__(self, operator: IntervalJoinOperator) -> None:
        self._operator = operator
        self.left = self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, tag: OutputTag, value: Any) -> None:
        self._operator.emit_side(tag, value, self.get_timestamp())
