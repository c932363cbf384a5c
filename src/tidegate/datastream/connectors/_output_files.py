"""What the files of a sink are called, and when Flink would end one and begin the next."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.errors import InvalidTypeError, InvalidValueError


class RollingPolicy:
    """When Flink would end a part file and begin the next. Here a part file ends with its batch."""

    __slots__ = ()

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """By size in bytes, and by age and time without an element in milliseconds."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidValueError(
                    f"default_rolling_policy: {name} must be an integer of 1 or more, got {value!r}"
                )


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """With every checkpoint."""


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """What stands before and behind the number of a part file.

    >>> OutputFileConfig.builder().with_part_prefix("counts").with_part_suffix(".txt").build()
    OutputFileConfig(part_prefix='counts', part_suffix='.txt')
    """

    part_prefix: str
    part_suffix: str

    def __post_init__(self) -> None:
        for name, text in (("prefix", self.part_prefix), ("suffix", self.part_suffix)):
            if not isinstance(text, str):
                raise InvalidTypeError(f"OutputFileConfig: the {name} must be a text, got {text!r}")

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        return self.part_prefix

    def get_part_suffix(self) -> str:
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Without a prefix files begin with "part", without a suffix they end with their number."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self.part_prefix, self.part_suffix)
