"""The options of a `Configuration` that count, under Flink's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tidegate.common.configuration import Configuration
from tidegate.core.time.duration import non_negative_millis
from tidegate.datastream.checkpointing_mode import CheckpointingMode
from tidegate.datastream.execution_mode import RuntimeExecutionMode
from tidegate.errors import InvalidValueError


def apply_options(configuration: Configuration, env: Any) -> None:
    """Set what the configuration says about the environment; options that Tidegate does not have change nothing."""
    for key, apply in _OPTIONS.items():
        if configuration.contains_key(key):
            apply(env, configuration, key)


def _parallelism(env: Any, configuration: Configuration, key: str) -> None:
    env.set_parallelism(configuration.get_integer(key, None))


def _max_parallelism(env: Any, configuration: Configuration, key: str) -> None:
    env.set_max_parallelism(configuration.get_integer(key, None))


def _auto_watermark_interval(env: Any, configuration: Configuration, key: str) -> None:
    env.get_config().set_auto_watermark_interval(_millis(configuration, key))


def _job_parameters(env: Any, configuration: Configuration, key: str) -> None:
    text = configuration.get_string(key, "")
    pairs = [pair.partition(":") for pair in text.split(",") if pair.strip()]
    if not all(colon for _, colon, _ in pairs):
        raise InvalidValueError(f"configuration {key!r}: expected 'name:value,name:value', got {text!r}")
    env.get_config().set_global_job_parameters({name.strip(): value.strip() for name, _, value in pairs})


def _chaining(env: Any, configuration: Configuration, key: str) -> None:
    if not configuration.get_boolean(key, True):
        env.disable_operator_chaining()


def _buffer_timeout(env: Any, configuration: Configuration, key: str) -> None:
    env.set_buffer_timeout(_millis(configuration, key))


def _checkpoint_interval(env: Any, configuration: Configuration, key: str) -> None:
    env.get_checkpoint_config().set_checkpoint_interval(_millis(configuration, key))


def _checkpointing_mode(env: Any, configuration: Configuration, key: str) -> None:
    env.get_checkpoint_config().set_checkpointing_mode(_member(CheckpointingMode, configuration, key))


def _runtime_mode(env: Any, configuration: Configuration, key: str) -> None:
    env.set_runtime_mode(_member(RuntimeExecutionMode, configuration, key))


_OPTIONS: Final[Mapping[str, Callable[[Any, Configuration, str], None]]] = {
    "execution.buffer-timeout": _buffer_timeout,
    "execution.buffer-timeout.interval": _buffer_timeout,
    "execution.checkpointing.interval": _checkpoint_interval,
    "execution.checkpointing.mode": _checkpointing_mode,
    "execution.runtime-mode": _runtime_mode,
    "parallelism.default": _parallelism,
    "pipeline.auto-watermark-interval": _auto_watermark_interval,
    "pipeline.global-job-parameters": _job_parameters,
    "pipeline.max-parallelism": _max_parallelism,
    "pipeline.operator-chaining": _chaining,
    "pipeline.operator-chaining.enabled": _chaining,
}


def _millis(configuration: Configuration, key: str) -> int:
    """A span as Flink writes it: '200 ms', '10 s', or a number of milliseconds."""
    text = configuration.get_string(key, "").strip()
    return int(text) if text.isdigit() else non_negative_millis(text, f"configuration {key!r}")


def _member(kind: Any, configuration: Configuration, key: str) -> Any:
    text = configuration.get_string(key, "").strip().upper().replace("-", "_")
    if text not in kind.__members__:
        raise InvalidValueError(f"configuration {key!r}: expected one of {', '.join(kind.__members__)}, got {text!r}")
    return kind[text]
