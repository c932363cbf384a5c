"""Source contexts: what a source function may do, for each of the three kinds of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tidegate.core.operator.outputs import Output
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, Clock, TimeCharacteristic, check_timestamp
from tidegate.core.watermark.emitter import WatermarkEmitter
from tidegate.core.watermark.records import Watermark
from tidegate.errors import ClosedError, InvalidTypeError, InvalidValueError


class SourceContext(ABC):
    """Given to `SourceFunction.run(ctx)`. After `close` every call is an error."""

    def __init__(self, output: Output, clock: Clock) -> None:
        self._output = output
        self._clock = clock
        self._is_closed = False

    @abstractmethod
    def collect(self, value: Any) -> None:
        """Emit a record without a timestamp of the source's own."""

    @abstractmethod
    def collect_with_timestamp(self, value: Any, timestamp: int) -> None:
        """Emit a record with a timestamp."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Say that no more records with a timestamp <= the watermark's will come from this source."""

    @abstractmethod
    def mark_as_temporarily_idle(self) -> None:
        """Say that this source holds nobody back until it collects or emits again."""

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        """To be held, with `with`, while several threads of a source collect and emit, one at a time.

        A context that is called by the thread of the job alone needs none.
        """
        return nullcontext()

    def on_periodic_emit(self) -> None:
        """One periodic probe by the runtime, every auto-watermark interval."""
        self._check_open()

    def end(self) -> None:
        """The input has ended: say so downstream, whatever time the job runs on."""
        self._output.emit_watermark(Watermark.MAX)

    def close(self) -> None:
        self._is_closed = True

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    @abstractmethod
    def restore(self, snapshot: Mapping[str, Any]) -> None: ...

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the source context is closed: the source was cancelled or has finished")


class ProcessingTimeContext(SourceContext):
    """Records without timestamps; watermarks and idleness are ignored."""

    def collect(self, value: Any) -> None:
        self._check_open()
        self._output.collect(value, None)

    def collect_with_timestamp(self, value: Any, timestamp: int) -> None:
        self.collect(value)

    def emit_watermark(self, watermark: Watermark) -> None:
        self._check_open()

    def mark_as_temporarily_idle(self) -> None:
        self._check_open()

    def snapshot(self) -> Snapshot:
        return make_snapshot("processing_time_context", 1)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        open_snapshot(snapshot, "processing_time_context", 1)


class _ProgressContext(SourceContext):
    """What event and ingestion time share: idle detection.

    If nothing was collected or emitted between two checks `idle_timeout` apart the source is idle. Whatever it
    collects or emits makes it active first.
    """

    def __init__(self, output: Output, clock: Clock, idle_timeout: int | None) -> None:
        super().__init__(output, clock)
        if idle_timeout is not None and idle_timeout <= 0:
            raise InvalidValueError(f"idle timeout must be longer than 0 ms, got {idle_timeout} ms")
        self._idle_timeout = idle_timeout
        self._emitter = WatermarkEmitter(output.emit)
        self._next_check: int | None = None
        self._was_quiet = True
        self._schedule_check()

    @property
    def is_idle(self) -> bool:
        return self._emitter.is_idle

    def end(self) -> None:
        self._emitter.emit_watermark(Watermark.MAX)

    def mark_as_temporarily_idle(self) -> None:
        self._check_open()
        self._emitter.mark_idle()

    def on_periodic_emit(self) -> None:
        super().on_periodic_emit()
        if self._next_check is None or self._clock() < self._next_check:
            return
        if self._was_quiet:
            self._next_check = None
            self._emitter.mark_idle()
        else:
            self._schedule_check()

    def _snapshot_progress(self) -> Snapshot:
        return make_snapshot("progress", 1, emitter=self._emitter.snapshot(), output=self._output.snapshot())

    def _restore_progress(self, snapshot: Mapping[str, Any]) -> None:
        """Keep time and status; the idle countdown starts anew."""
        fields = open_snapshot(snapshot, "progress", 1)
        self._emitter.restore(fields["emitter"])
        self._output.restore(fields["output"])
        self._next_check = None
        if not self._emitter.is_idle:
            self._schedule_check()

    def _activity(self) -> None:
        self._check_open()
        self._emitter.mark_active()
        if self._next_check is None:
            self._schedule_check()
        else:
            self._was_quiet = False

    def _schedule_check(self) -> None:
        if self._idle_timeout is not None:
            self._was_quiet = True
            self._next_check = self._clock() + self._idle_timeout


class EventTimeContext(_ProgressContext):
    """The source's own timestamps and watermarks, unchanged."""

    def __init__(self, output: Output, clock: Clock, idle_timeout: int | None = None) -> None:
        super().__init__(output, clock, idle_timeout)

    def collect(self, value: Any) -> None:
        if self._idle_timeout is not None or self._emitter.is_idle or self._is_closed:
            self._activity()
        self._output.collect(value, None)

    def collect_with_timestamp(self, value: Any, timestamp: int) -> None:
        stamped = check_timestamp(timestamp, f"collect_with_timestamp for {value!r}")
        self._activity()
        self._output.collect(value, stamped)

    def emit_watermark(self, watermark: Watermark) -> None:
        _check_watermark(watermark)
        self._activity()
        self._emitter.emit_watermark(watermark)

    def snapshot(self) -> Snapshot:
        return make_snapshot("event_time_context", 1, progress=self._snapshot_progress())

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._restore_progress(open_snapshot(snapshot, "event_time_context", 1)["progress"])


class IngestionTimeContext(_ProgressContext):
    """Records are stamped with the clock, and watermarks are the clock rounded down to the interval.

    A watermark is due when the clock is strictly past the last one plus the interval; it comes from the periodic
    probe, or at once with a record. The source may only emit `Watermark.MAX`, after which no more are made.
    """

    def __init__(self, output: Output, clock: Clock, watermark_interval: int, idle_timeout: int | None = None) -> None:
        if watermark_interval < 1:
            raise InvalidValueError(
                f"ingestion time needs an auto-watermark interval of at least 1 ms, got {watermark_interval} ms"
            )
        self._interval = watermark_interval
        self._due_after = 0
        self._last_record: int | None = None
        super().__init__(output, clock, idle_timeout)

    def collect(self, value: Any) -> None:
        self._activity()
        now = self._clock()
        self._last_record = now
        self._output.collect(value, now)
        self._emit_if_due(now)

    def collect_with_timestamp(self, value: Any, timestamp: int) -> None:
        self.collect(value)

    def emit_watermark(self, watermark: Watermark) -> None:
        self._check_open()
        _check_watermark(watermark)
        if watermark.is_end and not self._emitter.has_ended:
            self._activity()
            self._due_after = MAX_TIME
            self._emitter.emit_watermark(watermark)

    def on_periodic_emit(self) -> None:
        super().on_periodic_emit()
        now = self._clock()
        if self._emitter.is_idle:
            return
        if (
            self._idle_timeout is not None
            and self._last_record is not None
            and now - self._last_record > self._idle_timeout
        ):
            self._next_check = None
            self._emitter.mark_idle()
        else:
            self._emit_if_due(now)

    def snapshot(self) -> Snapshot:
        return make_snapshot("ingestion_time_context", 1, progress=self._snapshot_progress(), due_after=self._due_after)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "ingestion_time_context", 1)
        self._restore_progress(fields["progress"])
        self._due_after = fields["due_after"]
        self._last_record = None

    def _emit_if_due(self, now: int) -> None:
        if now > self._due_after:
            watermark = now - now % self._interval
            self._due_after = watermark + self._interval
            self._emitter.emit_watermark(Watermark(watermark))


def create_source_context(
    characteristic: TimeCharacteristic,
    output: Output,
    clock: Clock,
    *,
    watermark_interval: int,
    idle_timeout: int | None = None,
) -> SourceContext:
    """The context for the time that the job runs on."""
    if characteristic is TimeCharacteristic.EventTime:
        return EventTimeContext(output, clock, idle_timeout)
    if characteristic is TimeCharacteristic.IngestionTime:
        return IngestionTimeContext(output, clock, watermark_interval, idle_timeout)
    return ProcessingTimeContext(output, clock)


def _check_watermark(watermark: Watermark) -> None:
    if not isinstance(watermark, Watermark):
        raise InvalidTypeError(f"emit_watermark takes a Watermark, got {watermark!r}")
