"""`WatermarkStrategy`: how a stream gets its timestamps and watermarks, as a frozen value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from tidegate.core.time.duration import DurationLike, non_negative_millis, positive_millis
from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    HighestTimestampGenerator,
    NoWatermarksGenerator,
    PerEventWatermarks,
    WatermarkGenerator,
)
from tidegate.core.watermark.legacy_assigners import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    PeriodicAdapter,
    PunctuatedAdapter,
)
from tidegate.core.watermark.timestamps import (
    ColumnTimestampAssigner,
    RecordTimestampAssigner,
    TimestampAssigner,
    as_timestamp_assigner,
)
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError


class GeneratorSpec(Protocol):
    """A frozen description of a generator; every channel creates its own from it."""

    state_kind: ClassVar[str]
    """What the generator remembers: those of the same kind can go on from each other."""

    def create(self) -> WatermarkGenerator: ...


@dataclass(frozen=True, slots=True)
class Bounded:
    state_kind: ClassVar[str] = "highest timestamp"

    bound: int

    def __post_init__(self) -> None:
        if not isinstance(self.bound, int) or isinstance(self.bound, bool) or self.bound < 0:
            raise InvalidValueError(f"out-of-orderness bound must be 0 ms or more, got {self.bound!r}")

    def create(self) -> HighestTimestampGenerator:
        return BoundedOutOfOrdernessWatermarks(self.bound)


@dataclass(frozen=True, slots=True)
class Ascending:
    state_kind: ClassVar[str] = "highest timestamp"

    def create(self) -> HighestTimestampGenerator:
        return AscendingTimestampsWatermarks()


@dataclass(frozen=True, slots=True)
class NoWatermarks:
    state_kind: ClassVar[str] = "nothing"

    def create(self) -> HighestTimestampGenerator:
        return NoWatermarksGenerator()


@dataclass(frozen=True, slots=True)
class PerEvent:
    state_kind: ClassVar[str] = "each timestamp"

    def create(self) -> WatermarkGenerator:
        return PerEventWatermarks()


@dataclass(frozen=True, slots=True)
class UserGenerator:
    """A user's generator. It may look at the records, so it must see every one of them in order."""

    state_kind: ClassVar[str] = "attributes of a generator"

    supplier: Callable[[], Any]

    def create(self) -> WatermarkGenerator:
        try:
            generator = self.supplier()
        except Exception as error:
            raise UserCodeError(f"for_generator: {self.supplier!r} raised {error!r} when called") from error
        if not isinstance(generator, WatermarkGenerator):
            raise InvalidTypeError(
                f"for_generator: {self.supplier!r} must create a WatermarkGenerator, got {generator!r}"
            )
        return generator


@dataclass(frozen=True, slots=True)
class Legacy:
    """An assigner of an older program; the object given is the template that each channel copies."""

    state_kind: ClassVar[str] = "attributes of an assigner"

    assigner: TimestampAssigner

    def create(self) -> WatermarkGenerator:
        assigner = copy.deepcopy(self.assigner)
        if isinstance(assigner, AssignerWithPeriodicWatermarks):
            return PeriodicAdapter(assigner)
        if isinstance(assigner, AssignerWithPunctuatedWatermarks):
            return PunctuatedAdapter(assigner)
        raise InvalidTypeError(
            f"expected an AssignerWithPeriodicWatermarks or an AssignerWithPunctuatedWatermarks, got {self.assigner!r}"
        )


_KEEPS_TIMESTAMPS = RecordTimestampAssigner()


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a stream gets its timestamps and watermarks. Every builder call returns a new strategy and keeps the rest.

    >>> strategy = (
    ...     WatermarkStrategy.for_bounded_out_of_orderness("10 seconds")
    ...     .with_timestamp_assigner(lambda event, _: event["ts"])
    ...     .with_idleness("1 minute")
    ... )
    >>> strategy.idle_timeout
    60000
    """

    generator: GeneratorSpec
    timestamp_assigner: TimestampAssigner = _KEEPS_TIMESTAMPS
    idle_timeout: int | None = None
    alignment: AlignmentParameters | None = None
    max_future_skew: int | None = None
    future_output: Any = None

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """Records may be at most this late: emits `max_timestamp - bound - 1`."""
        bound = non_negative_millis(max_out_of_orderness, "for_bounded_out_of_orderness: bound")
        return WatermarkStrategy(Bounded(bound))

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never go back within a channel: emits `max_timestamp - 1`."""
        return WatermarkStrategy(Ascending())

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks until the input ends."""
        return WatermarkStrategy(NoWatermarks())

    @staticmethod
    def for_generator(supplier: Callable[..., Any]) -> WatermarkStrategy:
        """Watermarks by a user's `WatermarkGenerator`: pass the class, or a function that creates one."""
        if not callable(supplier):
            raise InvalidTypeError(
                "for_generator: expected a WatermarkGenerator class or a function without arguments that creates "
                f"one for each channel, got {supplier!r}"
            )
        return WatermarkStrategy(UserGenerator(supplier))

    @staticmethod
    def for_punctuated_timestamps() -> WatermarkStrategy:
        """Each record's own timestamp is the watermark that follows it."""
        return WatermarkStrategy(PerEvent())

    @staticmethod
    def of(strategy: Any) -> WatermarkStrategy:
        """`strategy` as it is, or an older program's assigner as a strategy."""
        if isinstance(strategy, WatermarkStrategy):
            return strategy
        if isinstance(strategy, AssignerWithPeriodicWatermarks | AssignerWithPunctuatedWatermarks):
            return WatermarkStrategy(Legacy(strategy))
        raise InvalidTypeError(
            "assign_timestamps_and_watermarks: expected a WatermarkStrategy, such as "
            f"WatermarkStrategy.for_bounded_out_of_orderness('10 seconds'), got {strategy!r}"
        )

    def with_timestamp_assigner(self, timestamp_assigner: Any) -> WatermarkStrategy:
        """Timestamps by a `TimestampAssigner` or a function `(value, record_timestamp) -> milliseconds`."""
        self._refuse_second_assigner()
        return replace(self, timestamp_assigner=as_timestamp_assigner(timestamp_assigner))

    def with_timestamp_column(self, column: str) -> WatermarkStrategy:
        """Timestamps from a field of the record."""
        self._refuse_second_assigner()
        if not isinstance(column, str) or not column:
            raise InvalidValueError(f"with_timestamp_column: expected the name of a field, got {column!r}")
        return replace(self, timestamp_assigner=ColumnTimestampAssigner(column))

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """A channel without events for longer than this no longer holds the others back."""
        return replace(self, idle_timeout=positive_millis(idle_timeout, "with_idleness: timeout"))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """A channel further ahead of the slowest of its group than the drift is not read until they catch up."""
        if not isinstance(watermark_group, str) or not watermark_group:
            raise InvalidValueError(f"with_watermark_alignment: expected the name of a group, got {watermark_group!r}")
        drift = non_negative_millis(max_allowed_watermark_drift, "with_watermark_alignment: drift")
        if update_interval is None:
            return replace(self, alignment=AlignmentParameters(watermark_group, drift))
        interval = positive_millis(update_interval, "with_watermark_alignment: update interval")
        return replace(self, alignment=AlignmentParameters(watermark_group, drift, interval))

    def with_max_future_skew(self, max_skew: DurationLike, side_output: Any = None) -> WatermarkStrategy:
        """A record further ahead of processing time than this does not move the watermark. It is counted.

        With `side_output`, an `OutputTag`, such records go there instead of to the main output. Beyond Flink: one
        bad clock must not close every window.
        """
        skew = non_negative_millis(max_skew, "with_max_future_skew: skew")
        return replace(self, max_future_skew=skew, future_output=side_output)

    def create_generator(self) -> WatermarkGenerator:
        """A new generator, one for each channel."""
        return self.generator.create()

    def _refuse_second_assigner(self) -> None:
        if isinstance(self.generator, Legacy):
            raise InvalidValueError(
                f"{type(self.generator.assigner).__name__} extracts the timestamps itself; "
                "use a WatermarkStrategy to combine a generator with another timestamp assigner"
            )
