"""PyFlink's `pyflink.datastream.checkpoint_config`: settings that are remembered and change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidegate.core.time.duration import Duration
from tidegate.datastream.checkpointing_mode import CheckpointingMode
from tidegate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from tidegate.errors import InvalidTypeError, InvalidValueError


@dataclass(slots=True)
class CheckpointConfig:
    """What a program says about its checkpoints, for it to read again.

    It has no effect. On Spark every micro-batch is a checkpoint, on the local runtime the end of a job is, and both
    are kept in the folder given as `get_execution_environment(checkpoint=...)`.

    >>> CheckpointConfig().set_checkpoint_interval(10_000).is_checkpointing_enabled()
    True
    """

    _mode: CheckpointingMode = field(default=CheckpointingMode.EXACTLY_ONCE, init=False)
    _interval: int = field(default=-1, init=False)
    _timeout: int = field(default=600_000, init=False)
    _min_pause: int = field(default=0, init=False)
    _max_concurrent: int = field(default=1, init=False)
    _tolerable_failures: int = field(default=0, init=False)
    _retention: ExternalizedCheckpointRetention = field(
        default=ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS, init=False
    )
    _is_unaligned: bool = field(default=False, init=False)
    _is_forced_unaligned: bool = field(default=False, init=False)
    _alignment_timeout: Duration = field(default=Duration(0), init=False)

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set."""
        return self._interval > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self._mode

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise InvalidTypeError(
                "set_checkpointing_mode: expected a CheckpointingMode such as CheckpointingMode.EXACTLY_ONCE, "
                f"got {checkpointing_mode!r}"
            )
        self._mode = checkpointing_mode
        return self

    def get_checkpoint_interval(self) -> int:
        """Milliseconds, -1 if none were set."""
        return self._interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        self._interval = _at_least(1, checkpoint_interval, "set_checkpoint_interval", "milliseconds")
        return self

    def get_checkpoint_timeout(self) -> int:
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        self._timeout = _at_least(1, checkpoint_timeout, "set_checkpoint_timeout", "milliseconds")
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        return self._min_pause

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        where = "set_min_pause_between_checkpoints"
        self._min_pause = _at_least(0, min_pause_between_checkpoints, where, "milliseconds")
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        return self._max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        where = "set_max_concurrent_checkpoints"
        self._max_concurrent = _at_least(1, max_concurrent_checkpoints, where, "checkpoints")
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        return self._tolerable_failures == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        self._tolerable_failures = 0 if fail_on_checkpointing_errors else 2**31 - 1
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        return self._tolerable_failures

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        where = "set_tolerable_checkpoint_failure_number"
        self._tolerable_failures = _at_least(0, tolerable_checkpoint_failure_number, where, "failures")
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        return self._retention

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise InvalidTypeError(
                "set_externalized_checkpoint_retention: expected an ExternalizedCheckpointRetention, "
                f"got {retention_mode!r}"
            )
        self._retention = retention_mode
        return self

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self._is_unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        self._is_unaligned = bool(enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._is_forced_unaligned

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        self._is_forced_unaligned = bool(force_unaligned_checkpoints)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        return self._alignment_timeout

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        if not isinstance(alignment_timeout, Duration):
            raise InvalidTypeError(f"set_aligned_checkpoint_timeout: expected a Duration, got {alignment_timeout!r}")
        self._alignment_timeout = alignment_timeout
        return self

    def get_alignment_timeout(self) -> Duration:
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        return self.set_aligned_checkpoint_timeout(alignment_timeout)


def _at_least(least: int, value: Any, where: str, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidValueError(f"{where}: expected a whole number of {unit}, {least} or more, got {value!r}")
    return value
