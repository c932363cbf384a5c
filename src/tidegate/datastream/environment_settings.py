"""The settings of a `StreamExecutionEnvironment`, and what PyFlink programs say about a cluster."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, Self

from tidegate.common.configuration import Configuration
from tidegate.common.execution_config import ExecutionConfig
from tidegate.core.time.millis import TimeCharacteristic
from tidegate.datastream.checkpoint_config import CheckpointConfig
from tidegate.datastream.checkpointing_mode import CheckpointingMode
from tidegate.datastream.configuration_options import apply_options
from tidegate.datastream.execution_mode import RuntimeExecutionMode
from tidegate.errors import InvalidTypeError, InvalidValueError, UnsupportedError

Runtime = Literal["spark", "local"]

RUNTIME_VARIABLE: Final = "TIDEGATE_RUNTIME"
"""The environment variable that chooses the runtime of programs that do not."""


def choose_runtime(runtime: str | None, spark: Any = None) -> Runtime:
    """The runtime that the program asks for, else that of `TIDEGATE_RUNTIME`, else Spark.

    A program that brings a Spark session asks for Spark.
    """
    source = "runtime"
    if runtime is None and spark is None:
        runtime, source = os.environ.get(RUNTIME_VARIABLE) or None, f"the environment variable {RUNTIME_VARIABLE}"
    match runtime:
        case None | "spark":
            return "spark"
        case "local":
            return "local"
    raise InvalidValueError(f"{source} must be 'spark' or 'local', got {runtime!r}")


class EnvironmentSettings:
    """What a program sets before it runs."""

    _runtime: Runtime

    def __init__(self) -> None:
        self._config = ExecutionConfig()
        self._checkpoint_config = CheckpointConfig()
        self._savepoints: str | None = None
        self._time = TimeCharacteristic.EventTime
        self._buffer_timeout = 100
        self._is_chaining = True
        self._parallelism = 1

    def get_config(self) -> ExecutionConfig:
        return self._config

    def configure(self, configuration: Configuration) -> None:
        """Take over the options that count here, such as `parallelism.default`; others change nothing."""
        if not isinstance(configuration, Configuration):
            raise InvalidTypeError(f"configure: expected a Configuration, got {configuration!r}")
        apply_options(configuration, self)

    def set_parallelism(self, parallelism: int) -> Self:
        """The number of subtasks of operators that have their own."""
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise InvalidValueError(f"parallelism must be an integer of 1 or more, got {parallelism!r}")
        self._parallelism = parallelism
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        return self._parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """The number of groups that keys belong to, fixed for a checkpoint: parallelism cannot become higher."""
        self._config.set_max_parallelism(max_parallelism)
        return self

    def _max_parallelism(self) -> int | None:
        chosen = self._config.get_max_parallelism()
        return chosen if chosen > 0 else None

    def get_max_parallelism(self) -> int:
        return self._config.get_max_parallelism()

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Which time the job runs on: it chooses the source contexts, and what `time_window` means."""
        if not isinstance(characteristic, TimeCharacteristic):
            raise InvalidTypeError(
                f"set_stream_time_characteristic: expected a TimeCharacteristic, got {characteristic!r}"
            )
        self._time = characteristic

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        return self._time

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Accepted for Flink's sake: a bounded input ends by itself; but rolling results such as those of `reduce`
        are given for every element, where Flink's BATCH mode gives only the last one of each key.
        """  # noqa: D205
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise InvalidTypeError(f"set_runtime_mode: expected a RuntimeExecutionMode, got {execution_mode!r}")
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted for Flink's sake: elements travel with their micro-batch."""
        self._buffer_timeout = timeout_millis
        return self

    def get_buffer_timeout(self) -> int:
        return self._buffer_timeout

    def disable_operator_chaining(self) -> Self:
        """Accepted for Flink's sake: chaining does not change results."""
        self._is_chaining = False
        return self

    def is_chaining_enabled(self) -> bool:
        return self._is_chaining

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        return self._is_chaining

    # Checkpoints

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Accepted for Flink's sake: every micro-batch is a checkpoint."""
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        return self._checkpoint_config

    def get_checkpoint_interval(self) -> int:
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    # What workers find

    def add_jars(self, *jars_path: str) -> None:
        """Accepted for Flink's sake: there are no Java classes to load."""

    def add_classpaths(self, *classpaths: str) -> None:
        """Accepted for Flink's sake: there are no Java classes to load."""

    def add_python_file(self, file_path: str) -> None:
        """Let functions import from a folder, a zip file or a Python file, on the local runtime."""
        if self._runtime == "spark":
            raise UnsupportedError(
                "add_python_file: Spark's workers get files from their session; call "
                f"spark.addArtifact({file_path!r}, pyfile=True), or start with --py-files"
            )
        path = Path(file_path)
        if not path.exists():
            raise InvalidValueError(f"add_python_file: there is no {file_path}")
        folder = str(path.parent if path.suffix == ".py" else path)
        if folder not in sys.path:
            sys.path.append(folder)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Accepted for Flink's sake: functions run in the environment of this program, so install them there."""

    def set_python_executable(self, python_exec: str) -> None:
        """Accepted for Flink's sake: functions run with the Python of this program."""

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> NoReturn:
        raise UnsupportedError("add_python_archive: archives are not unpacked for workers; unpack it where they run")

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> NoReturn:
        raise UnsupportedError("register_cached_file: files are not sent to workers; open the file in open()")

    def register_slot_sharing_group(self, slot_sharing_group: Any) -> NoReturn:
        raise UnsupportedError("register_slot_sharing_group: Spark places tasks")

    def enable_changelog_state_backend(self, enabled: bool) -> NoReturn:
        raise UnsupportedError("enable_changelog_state_backend: there is no choice of state backends")

    def is_changelog_state_backend_enabled(self) -> bool:
        return False

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Where `trigger_savepoint` of a job puts its copies, where nothing else is said."""
        self._savepoints = str(directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        return self._savepoints

    def set_default_local_parallelism(self, parallelism: int) -> NoReturn:
        raise UnsupportedError("set_default_local_parallelism: set the parallelism of the environment")

    def get_default_local_parallelism(self) -> int:
        return 1

    def create_input(self, input_format: Any, type_info: Any = None) -> NoReturn:
        raise UnsupportedError("create_input: input formats are Java classes; write a `Source`")
