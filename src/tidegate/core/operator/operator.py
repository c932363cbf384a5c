"""Operators: what runs in a subtask. A runtime feeds them; they never know which one.

There are two kinds. A `ChainOperator` keeps no keyed state, so that it can run wherever its input does, once for each
channel. A `TaskOperator` has keyed state and timers: each of its subtasks gets the elements of its keys.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.operator.function_life import FunctionLife, LivesWithOperator
from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.output_tag import DEAD_LETTERS, DeadLetter, OutputTag
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.state.blobs import Blobs, MemoryBlobs
from tidegate.core.state.keyed_state import KeyedStateBackend
from tidegate.core.state.keyed_store import MemoryStore
from tidegate.core.state.operator_state import OperatorState
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.state.timers import MemoryTimerQueue, Timer, TimerQueue, TimerService
from tidegate.core.time.millis import Clock
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError, TidegateError, UserCodeError


@dataclass(slots=True)
class OperatorContext:
    """What a runtime gives to an operator."""

    name: str
    output: OperatorOutput
    clock: Clock
    subtask: int = 0
    parallelism: int = 1
    metrics: MetricGroup = field(default_factory=MetricGroup)
    function_metrics: MetricGroup | None = None
    """What a function counts, where it outlives the operator or several share it; None for `metrics`."""
    functions: FunctionLife = field(default_factory=LivesWithOperator)
    state: KeyedStateBackend | None = None
    """Keyed state, where it is kept by the runtime; None for state in memory."""
    event_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    processing_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    blobs: Blobs = field(default_factory=MemoryBlobs)
    tables: TableCache = field(default_factory=TableCache)
    attempt: str = ""
    """Names the run that stores blobs, where others that are lost may have stored their own before."""
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    unique_id: str = ""
    """Names the operator among those of all jobs, the same after a restart; empty where a restart is a new job."""
    input_ids: tuple[str, ...] = ()
    """The same of those that it reads from, for a sink."""
    channel: str = ""
    """The channel that an operator of a chain runs for, as its runtime names it."""
    real_clock: Clock | None = None
    """Time as it passes, for what talks to the outside world; None where `clock` is that. `clock` may stand still while
    a batch runs."""
    is_restart: bool = True
    """Whether what is restored was saved by an earlier run, and not by the batch before."""
    should_stop: Callable[[], bool] | None = None
    """Asked between two timers: whether the job is being stopped, so that an advance of many must be interrupted."""


Accept = Callable[[Any, Any, int | None], None]
"""Takes `(key, value, timestamp)`; the key is None where the input is not keyed."""


class Operator(ABC):
    """One subtask of one operator.

    The runtime calls `setup`, then `restore` if there is a snapshot, then `open`, and in the end `close`.
    """

    def setup(self, context: OperatorContext) -> None:
        self.context = context
        self.name = context.name
        self.output = context.output
        context.metrics.gauge("current_output_watermark", lambda: self.output.current_watermark)

    def open(self) -> None:
        """Open the user's functions."""

    def close(self) -> None:
        """Close the user's functions."""

    def discard(self) -> None:
        """Let go of what the operator itself holds, without closing functions: another takes its place."""

    def process_watermark(self, watermark: Watermark) -> None:
        """Time advanced on the input. What it causes is sent before the watermark itself."""
        self.output.emit_watermark(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.output.emit_status(status)

    def process_progress(self, progress: Progress) -> None:
        if isinstance(progress, Watermark):
            self.process_watermark(progress)
        else:
            self.process_status(progress)

    def on_clock(self) -> None:
        """The clock moved: fire what is due."""

    def on_periodic_emit(self) -> None:
        """The auto-watermark interval passed."""

    def end_batch(self) -> None:
        """All records of a batch have come: what was put off until it was whole is done now."""

    def prepare_commit(self) -> None:
        """A batch of the sinks is complete: send what was written for them, and is to be committed with it."""

    def poll(self) -> None:
        """The runtime has a moment: let what waits for the outside world go on."""

    def drain(self) -> None:
        """Wait until nothing is on its way to the outside world any more."""

    def snapshot(self) -> Snapshot:
        return make_snapshot("operator", 1, output=self.output.snapshot(), counters=self.context.metrics.counts())

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "operator", 1)
        self.output.restore(fields["output"])
        self.context.metrics.restore(fields["counters"])

    @abstractmethod
    def inputs(self) -> tuple[Accept, ...]:
        """What takes the elements of each input."""

    @property
    def is_interrupted(self) -> bool:
        """Whether a stop has come between: `resume` goes on with what is left."""
        return False

    def resume(self) -> bool:
        """Go on with what was interrupted, if anything was; True when nothing is left of it."""
        return True

    def runtime_context(self, backend: KeyedStateBackend | None = None) -> RuntimeContext:
        context = self.context
        metrics = context.metrics if context.function_metrics is None else context.function_metrics
        return RuntimeContext(
            context.name,
            context.subtask,
            context.parallelism,
            metrics,
            backend,
            context.job_parameters,
            context.unique_id,
            context.input_ids,
        )

    def open_function(self, function: Any, backend: KeyedStateBackend | None = None) -> None:
        with self._named("open"):
            self.context.functions.open(function, self.runtime_context(backend))

    def close_function(self, function: Any) -> None:
        with self._named("close"):
            self.context.functions.close(function)

    @contextlib.contextmanager
    def _named(self, what: str) -> Iterator[None]:
        """Errors of a user's function with the name of the operator."""
        try:
            yield
        except TidegateError as error:
            raise error.named(self.name) from error
        except Exception as error:
            raise UserCodeError(f"{self.name}: {what}() raised {type(error).__name__}: {error}") from error

    def emit(self, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """Send what a user's function returned or yielded; `tag, value` goes to a side output."""
        if results is None:
            return
        self.check_results(results)
        collect = self.output.collect
        for item in results:
            if item.__class__ is tuple and len(item) == 2 and item[0].__class__ is OutputTag:
                self.output.collect_side(item[0].tag_id, item[1], timestamp)
            else:
                collect(item, timestamp)

    def check_results(self, results: Any) -> None:
        """Refuse what is no list of results, such as a text, which would fall apart into its letters."""
        if isinstance(results, str | bytes | Mapping) or not hasattr(results, "__iter__"):
            raise InvalidTypeError(
                f"{self.name}: the function must yield its results or return a list of them, got {results!r}"
            ).named(self.name)

    def results_in_full(self, results: Iterable[Any] | None) -> list[Any] | None:
        """All results at once, so that what fails while they are made fails here."""
        if results is None:
            return None
        self.check_results(results)
        return list(results)

    def emit_for(self, value: Any, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """As `emit`, for results that may be made only now, while they are yielded."""
        try:
            self.emit(results, timestamp)
        except Exception as error:
            self.fail(error, value)

    def emit_from(
        self, process: Callable[[Any, Any], Any], value: Any, context: Any, timestamp: int | None, *, buries: bool
    ) -> None:
        """Emit what a process function makes of a record. If it fails the record is buried, or the job fails."""
        try:
            results = process(value, context)
            if buries:
                results = self.results_in_full(results)
        except Exception as error:
            if not buries:
                self.fail(error, value)
            self.bury(error, value, timestamp)
            return
        self.emit_for(value, results, timestamp)

    def emit_side(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        if not isinstance(tag, OutputTag):
            raise InvalidTypeError(f"{self.name}: output() takes an OutputTag, got {tag!r}").named(self.name)
        self.output.collect_side(tag.tag_id, value, timestamp)

    def fail(self, error: Exception, value: Any, what: str = "the record") -> NoReturn:
        """Raise what user code raised as an error with the operator and the record; one that has them as it is."""
        if not isinstance(error, TidegateError):
            message = f"{self.name}: {type(error).__name__}: {error}, for {what} {value!r}"
            raise UserCodeError(message) from error
        named = error.named(self.name)
        if named is error:
            raise error
        raise named from error

    def bury(self, error: Exception, value: Any, timestamp: int | None) -> None:
        """Send a record that cannot be processed to the dead letters."""
        self.context.metrics.counter("num_dead_letters").inc()
        letter = DeadLetter(self.name, value, timestamp, f"{type(error).__name__}: {error}")
        self.output.collect_side(DEAD_LETTERS.tag_id, letter, timestamp)


class ChainOperator(Operator):
    """An operator without keyed state, called directly by the one before it."""

    @abstractmethod
    def process_element(self, value: Any, timestamp: int | None) -> None: ...

    def inputs(self) -> tuple[Accept, ...]:
        process = self.process_element
        return (lambda key, value, timestamp: process(value, timestamp),)


class TaskOperator(Operator):
    """An operator with keyed state, timers and one or more inputs."""

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.state = KeyedStateBackend(MemoryStore(), context.clock) if context.state is None else context.state
        self._advancing: Watermark | None = None
        self.timers = TimerService(
            context.event_timers,
            context.processing_timers,
            context.clock,
            on_event_time=self.on_event_time,
            on_processing_time=self.on_processing_time,
        )
        context.metrics.gauge("num_fired_timers", lambda: self.timers.num_fired_timers)
        context.metrics.gauge("num_pending_timers", lambda: len(context.event_timers) + len(context.processing_timers))

    def process_watermark(self, watermark: Watermark) -> None:
        self._advancing = watermark
        self.resume()

    @property
    def is_interrupted(self) -> bool:
        return self._advancing is not None

    def resume(self) -> bool:
        """Go on with an advance that was interrupted between two timers."""
        if self._advancing is not None:
            if not self.advance_watermark(self._advancing, self.context.should_stop):
                return False
            self._advancing = None
        return True

    def advance_watermark(self, watermark: Watermark, should_stop: Callable[[], bool] | None = None) -> bool:
        """As `process_watermark`, interruptible between timers; True when the watermark was sent on."""
        if not self.timers.advance_watermark(watermark.timestamp, should_stop):
            return False
        self.output.emit_watermark(watermark)
        return True

    def on_clock(self) -> None:
        self.timers.advance_processing_time()

    def on_event_time(self, timer: Timer) -> None:
        """An event-time timer fires."""

    def on_processing_time(self, timer: Timer) -> None:
        """A processing-time timer fires."""

    def snapshot(self) -> Snapshot:
        """Everything this subtask knows; a runtime that keeps state and timers elsewhere saves only the rest."""
        self.state.release_key()
        return make_snapshot(
            "task_operator",
            1,
            output=self.output.snapshot(),
            counters=self.context.metrics.counts(),
            current_watermark=self.timers.current_watermark,
            num_fired_timers=self.timers.num_fired_timers,
            advancing=None if self._advancing is None else self._advancing.timestamp,
            state_formats=self.state.save_formats(),
            **self._state_parts().save(),
            own=self.snapshot_own(),
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "task_operator", 1)
        self.output.restore(fields["output"])
        self.context.metrics.restore(fields["counters"])
        self.timers.current_watermark = fields["current_watermark"]
        self.timers.num_fired_timers = fields["num_fired_timers"]
        self._advancing = None if fields["advancing"] is None else Watermark(fields["advancing"])
        self.state.restore_formats(fields["state_formats"])
        self._state_parts().load(fields)
        self.restore_own(fields["own"])

    def _state_parts(self) -> OperatorState:
        context = self.context
        return OperatorState(self.state.store, context.event_timers, context.processing_timers, context.blobs)

    def snapshot_own(self) -> Any:
        """What the operator keeps beside keyed state and timers."""
        return None

    def restore_own(self, own: Any) -> None:
        """Take back what `snapshot_own` gave."""
