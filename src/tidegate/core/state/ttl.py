"""Time to live: state that expires by processing time."""

from __future__ import annotations

import enum
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidegate.core.time.duration import Time, positive_millis
from tidegate.core.time.millis import Clock, add


class Expiring(NamedTuple):
    """A value and the time of the access that keeps it alive."""

    value: Any
    accessed_at: int


@dataclass(frozen=True, slots=True)
class StateTtlConfig:
    """How long state lives. Build it with `StateTtlConfig.new_builder(Time.hours(1))...build()`.

    A value expires when `now >= last access + ttl`. Expired values are removed when they are met; what is never
    met again is removed with its key's bucket.
    """

    class UpdateType(enum.Enum):
        """Which access counts as the last."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(enum.Enum):
        """Whether a value that has expired, and was not removed yet, may still be seen."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(enum.Enum):
        """State lives by processing time only, as in Flink."""

        ProcessingTime = 0

    update_type: UpdateType
    state_visibility: StateVisibility
    ttl_time_characteristic: TtlTimeCharacteristic
    ttl: Time

    @staticmethod
    def new_builder(ttl: Time) -> StateTtlConfig.Builder:
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        return self.state_visibility

    def get_ttl(self) -> Time:
        return self.ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        return self.ttl_time_characteristic

    def is_enabled(self) -> bool:
        return self.update_type is not StateTtlConfig.UpdateType.Disabled

    class Builder:
        """Collects the options; the defaults are Flink's."""

        def __init__(self, ttl: Time) -> None:
            self.set_ttl(ttl)
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired

        def set_ttl(self, ttl: Time) -> StateTtlConfig.Builder:
            self._ttl = Time.milliseconds(positive_millis(ttl, "StateTtlConfig: ttl"))
            return self

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            self._visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self,
            ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ) -> StateTtlConfig.Builder:
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            return self

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake: expired values are removed when met."""
            return self

        def cleanup_incrementally(
            self,
            cleanup_size: int,
            run_cleanup_for_every_record: bool,
        ) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake: expired values are removed when met."""
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: Any = None,
        ) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake: expired values are removed when met."""
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake: there is no background clean-up."""
            return self

        def build(self) -> StateTtlConfig:
            return StateTtlConfig(
                self._update_type, self._visibility, StateTtlConfig.TtlTimeCharacteristic.ProcessingTime, self._ttl
            )


class ExpiringValues:
    """Reads and writes values that expire."""

    def __init__(self, config: StateTtlConfig, clock: Clock) -> None:
        self._config = config
        self._ttl = config.ttl.to_milliseconds()
        self._clock = clock

    def wrap(self, value: Any) -> Expiring:
        return Expiring(value, self._clock())

    def unwrap(self, stored: Any) -> Any:
        return stored.value if isinstance(stored, Expiring) else stored

    def read(self, values: MutableMapping[Any, Any], name: Any, stored: Any, missing: object) -> Any:
        """The value if it lives; else it is removed and `missing` returned."""
        if not isinstance(stored, Expiring):
            # Written before the program asked for a time to live: it starts to count now.
            stored = values[name] = self.wrap(stored)
        if self._clock() >= add(stored.accessed_at, self._ttl):
            del values[name]
            visible = self._config.state_visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            return stored.value if visible else missing
        if self._config.update_type is StateTtlConfig.UpdateType.OnReadAndWrite:
            values[name] = self.wrap(stored.value)
        return stored.value
