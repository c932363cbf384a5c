"""The operator behind `assign_timestamps_and_watermarks`, for one channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.core.operator.operator import ChainOperator, OperatorContext
from tidegate.core.operator.outputs import Output
from tidegate.core.operator.rescaled import shared_counts
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.attributes import load_attributes, save_attributes
from tidegate.core.state.format import StateFormat
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, Clock, add, check_timestamp
from tidegate.core.watermark.emitter import WatermarkEmitter
from tidegate.core.watermark.generators import HighestTimestampGenerator
from tidegate.core.watermark.idleness import IdlenessCountdown
from tidegate.core.watermark.legacy_assigners import LegacyGenerator
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.core.watermark.timestamps import FunctionTimestampAssigner
from tidegate.errors import InvalidTypeError, TidegateError, UserCodeError


class TimestampsAndWatermarksOperator:
    """Stamps records, sends them on, and only then shows them to the generator.

    So a punctuated watermark follows its record. Watermarks and statuses from upstream are swallowed, except
    `Watermark.MAX`, which is passed on and ends all emission. `clock` is processing time.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        output: Output,
        clock: Clock,
        *,
        name: str = "assign_timestamps_and_watermarks",
    ) -> None:
        self._name = name
        self._output = output
        self._clock = clock
        self._generator = strategy.create_generator()
        self._assigner = (
            self._generator.assigner if isinstance(self._generator, LegacyGenerator) else strategy.timestamp_assigner
        )
        self._assign = (
            self._assigner.function
            if isinstance(self._assigner, FunctionTimestampAssigner)
            else self._assigner.extract_timestamp
        )
        self._emitter = WatermarkEmitter(output.emit)
        self._idleness = None if strategy.idle_timeout is None else IdlenessCountdown(strategy.idle_timeout)
        self._max_future_skew = strategy.max_future_skew
        self._diverts_future = strategy.future_output is not None
        self._num_future_records = 0
        self.future_records: list[Record] = []
        """Records diverted by `with_max_future_skew`, until the runtime takes them to their side output."""

    @property
    def current_watermark(self) -> int:
        return self._emitter.current_watermark

    @property
    def is_idle(self) -> bool:
        return self._emitter.is_idle

    @property
    def has_ended(self) -> bool:
        return self._emitter.has_ended

    @property
    def num_future_records(self) -> int:
        """How many records were too far ahead of processing time to move the watermark."""
        return self._num_future_records

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.process_stamped(value, self.extract(value, timestamp))

    def process_stamped(self, value: Any, stamp: int) -> None:
        """A record with its new timestamp: send it on, then show it to the generator."""
        if self._max_future_skew is not None and self._is_future(stamp):
            self._num_future_records += 1
            if self._diverts_future:
                self.future_records.append(Record(value, stamp))
            else:
                self._output.collect(value, stamp)
            self._had_event()
            return
        self._output.collect(value, stamp)
        if self._idleness is not None:
            self._had_event()
        try:
            self._generator.on_event(value, stamp, self._emitter)
        except TidegateError:
            raise
        except Exception as error:
            raise UserCodeError(
                f"{self._name}: {type(self._generator).__name__}.on_event raised {error!r} "
                f"for the record {value!r} at {stamp}"
            ) from error

    def process_highest(self, timestamp: int) -> None:
        """What any number of records, which travel by their own way, do to time: their highest timestamp is enough."""
        if not isinstance(self._generator, HighestTimestampGenerator):
            raise InvalidTypeError(f"{self._name}: {type(self._generator).__name__} must see the records one by one")
        self._had_event()
        self._generator.on_highest(timestamp)

    def process_watermark(self, watermark: Watermark) -> None:
        if watermark.is_end:
            self._emitter.emit_watermark(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        """Statuses from upstream are swallowed: this operator knows by itself."""

    def on_periodic_emit(self) -> None:
        """One periodic probe: find out whether the channel is idle, or else let the generator emit."""
        if self._emitter.has_ended:
            return
        if self._idleness is not None:
            if self._idleness.probe(self._clock()):
                self._emitter.mark_idle()
            if self._idleness.is_idle:
                return
        self._emit_periodically()

    def finish(self) -> None:
        """The operator ends: the generator is asked once more. Behind `Watermark.MAX` nothing that it emits counts."""
        self._emit_periodically()

    def _emit_periodically(self) -> None:
        try:
            self._generator.on_periodic_emit(self._emitter)
        except TidegateError:
            raise
        except Exception as error:
            raise UserCodeError(
                f"{self._name}: {type(self._generator).__name__}.on_periodic_emit raised {error!r}"
            ) from error

    def pause(self) -> None:
        """The channel is not offered for reading; its idle clock stands still."""
        if self._idleness is not None:
            self._idleness.pause(self._clock())

    def resume(self) -> None:
        if self._idleness is not None:
            self._idleness.resume(self._clock())

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "assign_watermarks",
            1,
            generator=self._generator.snapshot(),
            emitter=self._emitter.snapshot(),
            idleness=None if self._idleness is None else self._idleness.snapshot(),
            output=self._output.snapshot(),
            num_future_records=self._num_future_records,
            future_records=[list(record) for record in self.future_records],
        )

    def restore(self, snapshot: Mapping[str, Any], *, is_restart: bool = True) -> None:
        fields = open_snapshot(snapshot, "assign_watermarks", 1)
        self._generator.restore(fields["generator"])
        self._emitter.restore(fields["emitter"])
        self._output.restore(fields["output"])
        self._num_future_records = fields["num_future_records"]
        self.future_records = [Record(value, timestamp) for value, timestamp in fields["future_records"]]
        idleness = fields["idleness"]
        if self._idleness is not None and idleness is not None:
            self._idleness.restore(idleness, is_restart=is_restart)
        elif idleness is not None and idleness["is_idle"]:
            # The program no longer asks for idleness; the channel would otherwise never wake up.
            self._emitter.mark_active()

    def extract(self, value: Any, previous: int | None) -> int:
        """The new timestamp of a record, checked."""
        guard = self._guard_legacy() if self._max_future_skew is not None else None
        try:
            timestamp = self._assign(value, MIN_TIME if previous is None else previous)
        except TidegateError:
            raise
        except Exception as error:
            raise UserCodeError(
                f"{self._name}: the timestamp assigner raised {error!r} for the record {value!r}"
            ) from error
        if type(timestamp) is not int or not MIN_TIME <= timestamp <= MAX_TIME:
            timestamp = check_timestamp(timestamp, f"{self._name}: timestamp of the record {value!r}")
        if guard is not None and self._is_future(timestamp):
            guard()
        return timestamp

    def _guard_legacy(self) -> Callable[[], None] | None:
        """An older assigner learns the time while it extracts it; this makes it forget a record from the future."""
        if not isinstance(self._generator, LegacyGenerator):
            return None
        assigner = self._generator.assigner
        before = save_attributes(assigner)
        return lambda: load_attributes(assigner, before)

    def _is_future(self, timestamp: int) -> bool:
        return self._max_future_skew is not None and timestamp > add(self._clock(), self._max_future_skew)

    def _had_event(self) -> None:
        if self._idleness is not None:
            self._idleness.event()
            self._emitter.mark_active()


@dataclass(frozen=True, slots=True)
class AssignWatermarksSpec(OperatorSpec):
    """`assign_timestamps_and_watermarks` as a value."""

    strategy: WatermarkStrategy
    on_error: str = "fail"

    @property
    def waits_for_clock(self) -> bool:
        return self.strategy.idle_timeout is not None

    def state_format(self) -> StateFormat:
        return StateFormat("watermarks", fixed={"generator": self.strategy.generator.state_kind})

    def share_chain(self, saved: Sequence[Snapshot], lowest: Snapshot, count: int) -> list[Snapshot]:
        numbers = shared_counts([one["machine"]["num_future_records"] for one in saved], count)
        return [{**lowest, "machine": {**lowest["machine"], "num_future_records": number}} for number in numbers]

    def create(self) -> AssignWatermarksOperator:
        return AssignWatermarksOperator(self.strategy, buries=self.on_error == "side_output")


class AssignWatermarksOperator(ChainOperator):
    """`TimestampsAndWatermarksOperator` in a chain: one for each channel of the input."""

    def __init__(self, strategy: WatermarkStrategy, *, buries: bool = False) -> None:
        self._strategy = strategy
        self._buries = buries

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.machine = TimestampsAndWatermarksOperator(self._strategy, context.output, context.clock, name=context.name)
        context.metrics.gauge("num_future_records", lambda: self.machine.num_future_records)
        context.metrics.gauge(f"channel/{context.channel}/watermark", lambda: self.machine.current_watermark)
        context.metrics.gauge(f"channel/{context.channel}/is_idle", lambda: int(self.machine.is_idle))

    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            stamp = self.machine.extract(value, timestamp)
        except TidegateError as error:
            if not self._buries:
                raise
            self.bury(error, value, timestamp)
            return
        self.machine.process_stamped(value, stamp)
        if self.machine.future_records:
            for record in self.machine.future_records:
                self.emit_side(self._strategy.future_output, record.value, record.timestamp)
            self.machine.future_records.clear()

    def process_watermark(self, watermark: Watermark) -> None:
        had_ended = self.machine.has_ended
        self.machine.process_watermark(watermark)
        if self.machine.has_ended and not had_ended:
            self.machine.finish()

    def process_status(self, status: WatermarkStatus) -> None:
        self.machine.process_status(status)

    def on_periodic_emit(self) -> None:
        self.machine.on_periodic_emit()

    def snapshot(self) -> Snapshot:
        return make_snapshot("assign", 1, base=super().snapshot(), machine=self.machine.snapshot())

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "assign", 1)
        super().restore(fields["base"])
        self.machine.restore(fields["machine"], is_restart=self.context.is_restart)
