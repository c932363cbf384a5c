"""`ExecutionConfig`: how a job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidegate.errors import InvalidTypeError, InvalidValueError


@dataclass(slots=True)
class ExecutionConfig:
    """How a job runs. Setters return the config, so that they can be chained.

    What counts here: the parallelism, the maximum parallelism, the auto-watermark interval, whether uids may be
    derived, and the global job parameters. The rest (closure cleaner, object reuse, latency tracking, task
    cancellation, snapshot compression) is remembered and has no effect: Spark has its own settings for it. Force Kryo,
    force Avro, generic types and registered classes, which PyFlink 2.3 lists and its Java side no longer has, are left
    out.

    >>> ExecutionConfig().set_auto_watermark_interval(1000).get_auto_watermark_interval()
    1000
    """

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    """The runtime chooses."""

    PARALLELISM_UNKNOWN: ClassVar[int] = -2

    _parallelism: int = field(default=-1, init=False)
    _max_parallelism: int = field(default=-1, init=False)
    _auto_watermark_interval: int = field(default=200, init=False)
    _latency_tracking_interval: int = field(default=0, init=False)
    _task_cancellation_interval: int = field(default=30_000, init=False)
    _task_cancellation_timeout: int = field(default=180_000, init=False)
    _has_closure_cleaner: bool = field(default=True, init=False)
    _has_auto_generated_uids: bool = field(default=True, init=False)
    _reuses_objects: bool = field(default=False, init=False)
    _compresses_snapshots: bool = field(default=False, init=False)
    _global_job_parameters: dict[str, str] = field(default_factory=dict, init=False)

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between two periodic watermarks."""
        return self._auto_watermark_interval

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Ask periodic generators every `interval` milliseconds; 0 turns periodic watermarks off."""
        self._auto_watermark_interval = _at_least(0, interval, "set_auto_watermark_interval", "milliseconds")
        return self

    def get_parallelism(self) -> int:
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """How many subtasks each operator has, at least 1; `PARALLELISM_DEFAULT` lets the runtime choose."""
        if parallelism not in (self.PARALLELISM_DEFAULT, self.PARALLELISM_UNKNOWN):
            _at_least(1, parallelism, "set_parallelism", "subtasks")
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """How many subtasks there may ever be, at least 1."""
        self._max_parallelism = _at_least(1, max_parallelism, "set_max_parallelism", "subtasks")
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        return dict(self._global_job_parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Parameters that every function can see. Their values become text, as in PyFlink."""
        if not isinstance(global_job_parameters_dict, Mapping):
            raise InvalidTypeError(
                f"set_global_job_parameters: expected a dict of parameters by name, got {global_job_parameters_dict!r}"
            )
        self._global_job_parameters = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        return self._has_auto_generated_uids

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Derive the uid of an operator that has none."""
        self._has_auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Ask for a uid on every operator."""
        self._has_auto_generated_uids = False
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        return self._has_closure_cleaner

    def enable_closure_cleaner(self) -> ExecutionConfig:
        self._has_closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        self._has_closure_cleaner = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        return self._reuses_objects

    def enable_object_reuse(self) -> ExecutionConfig:
        self._reuses_objects = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        self._reuses_objects = False
        return self

    def is_use_snapshot_compression(self) -> bool:
        return self._compresses_snapshots

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        self._compresses_snapshots = bool(use_snapshot_compression)
        return self

    def get_latency_tracking_interval(self) -> int:
        return self._latency_tracking_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        self._latency_tracking_interval = _at_least(0, interval, "set_latency_tracking_interval", "milliseconds")
        return self

    def get_task_cancellation_interval(self) -> int:
        return self._task_cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        self._task_cancellation_interval = _at_least(0, interval, "set_task_cancellation_interval", "milliseconds")
        return self

    def get_task_cancellation_timeout(self) -> int:
        return self._task_cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        self._task_cancellation_timeout = _at_least(0, timeout, "set_task_cancellation_timeout", "milliseconds")
        return self


def _at_least(least: int, value: Any, where: str, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidValueError(f"{where}: expected a whole number of {unit}, {least} or more, got {value!r}")
    return value
