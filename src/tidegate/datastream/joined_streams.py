"""Joins: by interval, and by window (join and co-group)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

from tidegate.core.function.interval_join import IntervalJoinSpec, ProcessJoinFunction
from tidegate.core.function.stateless import MapSpec
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.time.duration import DurationLike, as_millis
from tidegate.core.window.assigners import WindowAssigner
from tidegate.core.window.window_join import CoGroupWindow, JoinWindow, TaggedKey, TagInput
from tidegate.datastream.data_stream import DataStream, as_key_selector
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.datastream.windowed_stream import WindowedStream
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.graph.nodes import may_have_timestamps


class IntervalJoin:
    """`left.interval_join(right).between(lower, upper).process(function)`."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        self._left = left
        self._right = right

    def between(self, lower_bound: DurationLike, upper_bound: DurationLike) -> IntervalJoined:
        """Pair if `left + lower <= right <= left + upper`; bounds may be negative."""
        lower = as_millis(lower_bound, "between: lower bound")
        upper = as_millis(upper_bound, "between: upper bound")
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """An interval join with its bounds; both belong to the interval unless said otherwise."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower: int, upper: int) -> None:
        for stream, side in ((left, "left"), (right, "right")):
            if not any(may_have_timestamps(s) for s in stream._streams):
                raise InvalidValueError(
                    f"interval_join: the records of the {side} stream have no timestamps; "
                    "call assign_timestamps_and_watermarks before key_by"
                )
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._excludes_lower = False
        self._excludes_upper = False
        self._late_left: OutputTag | None = None
        self._late_right: OutputTag | None = None

    def lower_bound_exclusive(self) -> Self:
        self._excludes_lower = True
        return self

    def upper_bound_exclusive(self) -> Self:
        self._excludes_upper = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        self._late_left = _check_tag(output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        self._late_right = _check_tag(output_tag)
        return self

    def process(self, process_join_function: Any, output_type: Any = None) -> DataStream:
        """A `ProcessJoinFunction`, or a function `(left, right) -> result`."""
        function = process_join_function
        if callable(function) and not hasattr(function, "process_element"):
            function = _PairFunction(function)
        lower, upper = self._lower + self._excludes_lower, self._upper - self._excludes_upper
        spec = IntervalJoinSpec(lower, upper, function, self._late_left, self._late_right)
        inputs = [self._left._key_input(), self._right._key_input()]
        return self._left._operator("interval_join", spec, inputs, output_type, gives_timestamps=True)


class _PairFunction(ProcessJoinFunction):
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return (self._function(left, right),)


class _TwoStreams:
    """`where(...)` and `equal_to(...)`: the key of each side."""

    _wrap: Callable[[Any], Any]

    def __init__(self, first: DataStream, second: DataStream) -> None:
        self._first = first
        self._second = second
        self._first_key: Callable[[Any], Any] | None = None
        self._second_key: Callable[[Any], Any] | None = None

    def where(self, key_selector: Any) -> Self:
        """The key of the first stream's elements."""
        return self._with(_first_key=as_key_selector(key_selector)[0])

    def equal_to(self, key_selector: Any) -> Self:
        """The key of the second stream's elements."""
        return self._with(_second_key=as_key_selector(key_selector)[0])

    def window(self, window_assigner: WindowAssigner) -> JoinWindows:
        """The windows that elements of both streams share."""
        if self._first_key is None or self._second_key is None:
            raise InvalidValueError("join: say where(...) and equal_to(...) before window(...)")
        program = self._first._env._program
        streams = [
            program.operator(f"join input {index + 1}", MapSpec(TagInput(index)), [stream._input()])
            for index, stream in enumerate((self._first, self._second))
        ]
        united = DataStream(self._first._env, streams)
        keyed = KeyedStream(united, TaggedKey(self._first_key, self._second_key), "join key")
        return JoinWindows(WindowedStream(keyed, window_assigner), self._wrap)

    def _with(self, **changes: Any) -> Self:
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed


class JoinedStreams(_TwoStreams):
    """An inner join: every pair of the same key and window."""

    _wrap = JoinWindow


class CoGroupedStreams(_TwoStreams):
    """Both groups of each key and window."""

    _wrap = CoGroupWindow


class JoinWindows:
    """A window join before its function is chosen."""

    def __init__(self, windows: WindowedStream, wrap: Callable[[Any], Any]) -> None:
        self._windows = windows
        self._wrap = wrap

    def trigger(self, trigger: Any) -> JoinWindows:
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Any) -> JoinWindows:
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: Any) -> JoinWindows:
        self._windows.allowed_lateness(time_ms)
        return self

    def apply(self, function: Any, output_type: Any = None) -> DataStream:
        """A `JoinFunction` or `CoGroupFunction`, or a plain function of two arguments."""
        return self._windows.apply(self._wrap(function), output_type)


def _check_tag(tag: Any) -> OutputTag:
    if not isinstance(tag, OutputTag):
        raise InvalidTypeError(f"expected an OutputTag, got {tag!r}")
    return tag
