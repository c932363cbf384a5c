"""`WindowedStream` and `AllWindowedStream`: a stream cut into windows, before its function is chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

from tidegate.common.row import Row
from tidegate.core.aggregate.aggregate import Aggregate
from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.core.function.fields import Field, FieldKey, FieldReducer
from tidegate.core.function.functions import ProcessAllWindowFunction, ProcessWindowFunction
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.time.duration import DurationLike, non_negative_millis
from tidegate.core.window.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    SlidingWindows,
    WindowAssigner,
)
from tidegate.core.window.evictors import Evictor
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import check_trigger
from tidegate.core.window.window_functions import AggregatedContents, ListContents, ReducedContents, WindowContents
from tidegate.core.window.window_operator import WindowSpec
from tidegate.core.window.windows import TimeWindow
from tidegate.datastream.aggregate_types import aggregate_columns
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.keyed_stream import KeyedStream
from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.graph.nodes import Connection, Input, KeyBy, may_have_timestamps


class _Windows:
    """What keyed and all-windows share: the options, and the ways to choose a function.

    Setting an option changes this object and returns it, as in PyFlink.
    """

    _is_keyed: bool

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise InvalidTypeError(
                "window: expected a WindowAssigner such as TumblingEventTimeWindows.of(Time.seconds(60)), "
                f"got {window_assigner!r}"
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger | None = None
        self._evictor: Evictor | None = None
        self._lateness = 0
        self._late_output: OutputTag | None = None
        _check_times(stream, window_assigner)

    def get_execution_environment(self) -> Any:
        return self._stream.get_execution_environment()

    def get_input_type(self) -> Any:
        return self._stream.get_type()

    def trigger(self, trigger: Trigger) -> Self:
        """When the windows fire, in place of the assigner's default."""
        self._trigger = check_trigger(trigger, "trigger")
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """What is taken out of a window before or after its function sees it."""
        if not isinstance(evictor, Evictor):
            raise InvalidTypeError(f"evictor: expected an Evictor such as CountEvictor.of(10), got {evictor!r}")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int | DurationLike) -> Self:
        """How long after its end a window still takes elements; each fires it again."""
        if isinstance(time_ms, int) and not isinstance(time_ms, bool):
            if time_ms < 0:
                raise InvalidValueError(f"allowed_lateness must not be negative, got {time_ms} ms")
            self._lateness = time_ms
        else:
            self._lateness = non_negative_millis(time_ms, "allowed_lateness")  # type: ignore[arg-type]
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Where late elements go instead of being dropped; read it with `get_side_output` of the result."""
        if not isinstance(output_tag, OutputTag):
            raise InvalidTypeError(f"side_output_late_data: expected an OutputTag, got {output_tag!r}")
        self._late_output = output_tag
        return self

    def reduce(self, reduce_function: Any, window_function: Any = None, output_type: Any = None) -> DataStream:
        """Reduce the elements as they come; a window function may see the result."""
        return self._window("reduce", ReducedContents(reduce_function), window_function, output_type)

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: Any = None,
        output_type: Any = None,
    ) -> DataStream:
        """Aggregate the elements as they come; a window function may see the result."""
        return self._window("aggregate", AggregatedContents(aggregate_function), window_function, output_type)

    def apply(self, window_function: Any, output_type: Any = None) -> DataStream:
        """A function that sees all elements of the window."""
        return self._window("apply", ListContents(), window_function, output_type)

    def process(self, process_window_function: Any, output_type: Any = None) -> DataStream:
        """A function that sees all elements of the window, and the context around it."""
        return self._window("process", ListContents(), process_window_function, output_type)

    def sum(self, field: Field = 0) -> DataStream:
        return self._field("sum", field)

    def min(self, field: Field = 0) -> DataStream:
        return self._field("min", field)

    def max(self, field: Field = 0) -> DataStream:
        return self._field("max", field)

    def min_by(self, field: Field = 0) -> DataStream:
        return self._field("min_by", field)

    def max_by(self, field: Field = 0) -> DataStream:
        return self._field("max_by", field)

    def agg(self, **aggregates: Aggregate) -> DataStream:
        """Built-in aggregates by name: a row with the key, the window's start and end, and each aggregate."""
        combined = CombinedAggregate(aggregates)
        columns = aggregate_columns(self._stream.get_type(), self._key_names(), aggregates)
        row = _AggregateRow(self._key_names(), combined.names)
        function: Any = row if self._is_keyed else _AggregateAllRow(row)
        return self._window("agg", AggregatedContents(combined), function, columns)

    def _field(self, how: str, field: Field) -> DataStream:
        return self._window(how, ReducedContents(FieldReducer(how, field)), None, self._stream.get_type())

    def _window(self, how: str, contents: WindowContents, function: Any, output_type: Any) -> DataStream:
        spec = WindowSpec(
            self._assigner,
            contents,
            function,
            self._trigger,
            self._evictor,
            self._lateness,
            self._late_output,
            self._is_keyed,
        )
        parallelism = None if self._is_keyed else 1
        return self._stream._operator(
            f"window {how}",
            spec,
            [self._input()],
            output_type,
            parallelism=parallelism,
            gives_timestamps=True,
        )

    def _input(self) -> Input:
        raise NotImplementedError  # each of the two below has its own

    def _key_names(self) -> tuple[str, ...]:
        return ()


class WindowedStream(_Windows):
    """The windows of each key."""

    _is_keyed = True
    _stream: KeyedStream

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner) -> None:
        super().__init__(keyed_stream, window_assigner)

    def _input(self) -> Input:
        return self._stream._key_input()

    def _key_names(self) -> tuple[str, ...]:
        selector = self._stream._key_selector
        if isinstance(selector, FieldKey):
            return tuple(f if isinstance(f, str) else f"f{f}" for f in selector.fields)
        return ("key",)


class AllWindowedStream(_Windows):
    """Windows over the whole stream, in one subtask."""

    _is_keyed = False

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner) -> None:
        super().__init__(data_stream, window_assigner)

    def _input(self) -> Input:
        by_key = KeyBy(_no_key, "one key for all")
        return Input(tuple(Connection(stream, by_key) for stream in self._stream._streams))


def _no_key(value: Any) -> None:
    return None


def count_assigner(size: int, slide: int) -> WindowAssigner:
    if slide == 0:
        return CountTumblingWindowAssigner.of(size)
    return CountSlidingWindowAssigner.of(size, slide)


def _check_times(stream: DataStream, assigner: WindowAssigner) -> None:
    if assigner.is_event_time() and not any(may_have_timestamps(s) for s in stream._streams):
        raise InvalidValueError(
            f"window({type(assigner).__name__}): the records have no timestamps; call "
            "assign_timestamps_and_watermarks before window(), or use a processing-time window"
        )
    if isinstance(assigner, SlidingWindows) and assigner.slide > assigner.size:
        warnings.warn(
            f"windows of {assigner.size} ms every {assigner.slide} ms leave gaps: records that fall between two "
            "windows belong to none and are not counted",
            UserWarning,
            stacklevel=5,
        )


class _AggregateRow(ProcessWindowFunction):
    """Key, window and aggregates of a firing as one row."""

    def __init__(self, key_names: tuple[str, ...], names: tuple[str, ...]) -> None:
        for name in names:
            if name in (*key_names, "window_start", "window_end"):
                raise InvalidValueError(f"agg({name}=...): the result has a column of that name already")
        self._is_single = len(key_names) == 1
        self._names = (*key_names, "window_start", "window_end", *names)

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        span = (window.start, window.end) if isinstance(window, TimeWindow) else (None, None)
        keys = (key,) if self._is_single else tuple(key or ())
        for results in elements:
            yield self.make_row((*keys, *span, *results))

    def make_row(self, values: Iterable[Any]) -> Row:
        """The row of a key, the window's start and end, and the aggregates."""
        row = Row(*values)
        row.set_field_names(list(self._names))
        return row


class _AggregateAllRow(ProcessAllWindowFunction):
    """The same without a key."""

    def __init__(self, row: _AggregateRow) -> None:
        self._row = row

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self._row.process(None, context, elements)
