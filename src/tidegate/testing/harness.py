"""Harnesses: one operator or function under controlled elements, watermarks and time.

harness = OneInputHarness(MyProcessFunction(), key_selector=lambda order: order["user"])
harness.process_element({"user": "ann", "amount": 3}, timestamp=1_000)
harness.process_watermark(60_000)
assert harness.outputs() == [Record("ann spent 3", 60_000)]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Self

import cloudpickle

from tidegate.core.function.async_io import AsyncFunction, AsyncSpec, OutputMode
from tidegate.core.function.connect import (
    BroadcastSpec,
    CoProcessFunction,
    CoProcessSpec,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from tidegate.core.function.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
)
from tidegate.core.function.process import KeyedProcessFunction, KeyedProcessSpec, ProcessFunction, ProcessSpec
from tidegate.core.function.stateless import FilterSpec, FlatMapSpec, MapSpec
from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.operator import ChainOperator, Operator, OperatorContext, TaskOperator
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.state.descriptors import MapStateDescriptor
from tidegate.core.state.snapshot import Snapshot
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream.data_stream import DataStream, as_key_selector
from tidegate.engine.task import Task
from tidegate.errors import InvalidTypeError, InvalidValueError, UnknownChannelError
from tidegate.graph.nodes import Input, KeyBy, OperatorNode
from tidegate.testing.clock import ManualClock


class _Recorder(OperatorOutput):
    """An output that remembers, instead of sending on."""

    def __init__(self) -> None:
        super().__init__((self,))
        self.records: list[Record] = []
        self.progress: list[Watermark | WatermarkStatus] = []
        self.sides: dict[str, list[Record]] = defaultdict(list)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.records.append(Record(value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self.progress.append(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.progress.append(status)

    def collect_side(self, tag_id: str, value: Any, timestamp: int | None) -> None:
        self.sides[tag_id].append(Record(value, timestamp))


class _Harness:
    """What both harnesses share."""

    def __init__(self, subject: Any, keys: tuple[Any, ...], channels: int, options: Mapping[str, Any]) -> None:
        self.clock = ManualClock()
        self._spec, own_keys = _spec_of(subject, keys, options)
        self._keys = own_keys
        self._channels = channels
        self._inputs = len(keys)
        self._output = _Recorder()
        self._start(None)

    def process_status(self, status: WatermarkStatus, *, channel: int = 0) -> None:
        """The status of a channel of the (first) input changes."""
        self._status(status, 0, channel)

    def set_processing_time(self, time: int) -> None:
        """The clock is now `time`: due timers fire and, for a strategy, the periodic emission happens."""
        self.clock.advance_to(time)
        self._operator.on_clock()
        self._operator.on_periodic_emit()

    def outputs(self) -> list[Record]:
        """The records sent since the last call."""
        records, self._output.records = self._output.records, []
        return records

    def side_outputs(self, tag: OutputTag) -> list[Record]:
        """The records sent to a side output since the last call."""
        return self._output.sides.pop(tag.tag_id, [])

    def progress(self) -> list[Watermark | WatermarkStatus]:
        """The watermarks and statuses sent since the last call."""
        progress, self._output.progress = self._output.progress, []
        return progress

    def current_watermark(self) -> int:
        """The watermark last sent downstream."""
        return self._output.current_watermark

    def metrics(self) -> dict[str, int]:
        return self._metrics.values()

    def snapshot(self) -> bytes:
        """The state, as it would be saved."""
        state: Snapshot = self._operator.snapshot() if self._task is None else self._task.snapshot()
        return cloudpickle.dumps(state)  # type: ignore[no-any-return]

    def restore(self, snapshot: bytes) -> Self:
        """Start anew from a snapshot, as after a crash. The clock goes on."""
        self._operator.close()
        self._start(cloudpickle.loads(snapshot))
        return self

    def close(self) -> None:
        self._operator.close()

    def _start(self, state: Snapshot | None) -> None:
        self._output = _Recorder()
        self._metrics = MetricGroup()
        self._operator: Operator = self._spec.create()
        self._operator.setup(OperatorContext("test", self._output, self.clock, metrics=self._metrics))
        self._task: Task | None = None
        if isinstance(self._operator, TaskOperator):
            channels = [str(channel) for channel in range(self._channels)]
            self._task = Task(self._operator, [channels] * self._inputs)
        if state is not None:
            (self._operator if self._task is None else self._task).restore(state)
        (self._operator if self._task is None else self._task).open()

    def _element(self, value: Any, timestamp: int | None, input_index: int) -> None:
        if self._task is not None:
            selector = self._keys[input_index]
            key = None if selector is None else selector(value)
            self._task.accept(input_index)(key, value, timestamp)
        else:
            assert isinstance(self._operator, ChainOperator)
            self._operator.process_element(value, timestamp)

    def _watermark(self, timestamp: int, input_index: int, channel: int) -> None:
        watermark = Watermark(timestamp)
        if self._task is None:
            self._operator.process_watermark(watermark)
        else:
            self._task.move(input_index, self._checked(channel), watermark)

    def _status(self, status: WatermarkStatus, input_index: int, channel: int) -> None:
        if self._task is None:
            self._operator.process_status(status)
        else:
            self._task.move(input_index, self._checked(channel), status)

    def _checked(self, channel: int) -> str:
        if not 0 <= channel < self._channels:
            raise UnknownChannelError(f"there is no channel {channel!r}; channels are 0 to {self._channels - 1}")
        return str(channel)


class OneInputHarness(_Harness):
    """Drives an operator with one input: a function, a `WatermarkStrategy`, or the last operator of a stream.

    `key_selector` gives the key of an element, for functions on keyed streams.
    """

    def __init__(self, subject: Any, *, key_selector: Any = None, channels: int = 1, **options: Any) -> None:
        super().__init__(subject, (key_selector,), channels, options)

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        self._element(value, timestamp, 0)

    def process_watermark(self, timestamp: int, *, channel: int = 0) -> None:
        self._watermark(timestamp, 0, channel)


class TwoInputHarness(_Harness):
    """Drives an operator with two inputs; for a broadcast function, input 2 is the broadcast one."""

    def __init__(
        self,
        subject: Any,
        *,
        key_selector1: Any = None,
        key_selector2: Any = None,
        channels: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(subject, (key_selector1, key_selector2), channels, options)

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        self._element(value, timestamp, 0)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        self._element(value, timestamp, 1)

    def process_watermark1(self, timestamp: int, *, channel: int = 0) -> None:
        self._watermark(timestamp, 0, channel)

    def process_watermark2(self, timestamp: int, *, channel: int = 0) -> None:
        self._watermark(timestamp, 1, channel)

    def process_watermark(self, timestamp: int) -> None:
        """The same watermark on both inputs."""
        self._watermark(timestamp, 0, 0)
        self._watermark(timestamp, 1, 0)

    def process_status1(self, status: WatermarkStatus, *, channel: int = 0) -> None:
        self._status(status, 0, channel)

    def process_status2(self, status: WatermarkStatus, *, channel: int = 0) -> None:
        self._status(status, 1, channel)


Selector = Callable[[Any], Any] | None


def _spec_of(subject: Any, keys: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, tuple[Selector, ...]]:
    """The operator that `subject` stands for, and the key selectors of its inputs."""
    selectors = tuple(None if key is None else as_key_selector(key)[0] for key in keys)
    if isinstance(subject, DataStream):
        node = subject._node("harness")
        if isinstance(node, OperatorNode):
            return node.spec, tuple(_selector(task_input) for task_input in node.inputs)
        raise InvalidTypeError("harness: a source is not an operator; pass a stream that an operator made")
    if hasattr(subject, "create") and not isinstance(subject, type):
        return subject, selectors
    is_keyed = any(selector is not None for selector in selectors)
    return _function_spec(subject, is_keyed, options), selectors


def _selector(task_input: Input) -> Selector:
    """The key selector of an input, None if it is not keyed."""
    partitioning = task_input.connections[0].partitioning
    return partitioning.selector if isinstance(partitioning, KeyBy) else None


def _function_spec(subject: Any, is_keyed: bool, options: Mapping[str, Any]) -> Any:
    if isinstance(subject, WatermarkStrategy):
        return AssignWatermarksSpec(subject)
    needs_key = isinstance(subject, KeyedProcessFunction | KeyedCoProcessFunction | KeyedBroadcastProcessFunction)
    if needs_key and not is_keyed:
        raise InvalidValueError(f"harness: {type(subject).__name__} needs key_selector=...")
    if isinstance(subject, KeyedProcessFunction) or (isinstance(subject, ProcessFunction) and is_keyed):
        return KeyedProcessSpec(subject)
    if isinstance(subject, ProcessFunction):
        return ProcessSpec(subject)
    if isinstance(subject, KeyedCoProcessFunction | CoProcessFunction | CoMapFunction | CoFlatMapFunction):
        return CoProcessSpec(subject, is_keyed=is_keyed)
    if hasattr(subject, "process_broadcast_element"):
        descriptors: tuple[MapStateDescriptor, ...] = tuple(options.get("descriptors", ()))
        return BroadcastSpec(subject, descriptors, is_keyed)
    if isinstance(subject, AsyncFunction):
        return AsyncSpec(subject, options.get("mode", OutputMode.ORDERED), options.get("timeout", 0))
    for kind, spec in ((MapFunction, MapSpec), (FlatMapFunction, FlatMapSpec), (FilterFunction, FilterSpec)):
        if isinstance(subject, kind):
            return spec(subject)
    raise InvalidTypeError(
        "harness: expected a function object such as a KeyedProcessFunction, a WatermarkStrategy or a DataStream, "
        f"got {subject!r}"
    )
