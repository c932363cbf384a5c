"""`RestartStrategies`: what a PyFlink program says about failures."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass

from tidegate.errors import InvalidValueError


class RestartStrategyConfiguration(ABC):
    """What to do when a job fails. Accepted and remembered; it does not steer Spark.

    Spark repeats a failed task by itself (`spark.task.maxFailures`). A query that failed for good is started again by
    whoever runs the program, and then resumes from its checkpoint.
    """

    __slots__ = ()

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in words."""


class RestartStrategies:
    """Makes restart strategies. Intervals are in milliseconds.

    >>> RestartStrategies.fixed_delay_restart(3, 10_000).get_description()
    'restart up to 3 times, 10000 ms after each failure'
    """

    @dataclass(frozen=True, slots=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failed job stays failed."""

        def get_description(self) -> str:
            return "no restart"

    @dataclass(frozen=True, slots=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Whatever the cluster does."""

        def get_description(self) -> str:
            return "as the cluster is set up"

    @dataclass(frozen=True, slots=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of restarts, each after the same pause."""

        restart_attempts: int
        delay_between_attempts_interval: int

        def __post_init__(self) -> None:
            _not_negative(self.restart_attempts, "restart attempts")
            _not_negative(self.delay_between_attempts_interval, "delay between attempts")

        def get_restart_attempts(self) -> int:
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            return datetime.timedelta(milliseconds=self.delay_between_attempts_interval)

        def get_description(self) -> str:
            delay = self.delay_between_attempts_interval
            return f"restart up to {self.restart_attempts} times, {delay} ms after each failure"

    @dataclass(frozen=True, slots=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as there are not too many failures within an interval."""

        max_failure_rate: int
        failure_interval: int
        delay_between_attempts_interval: int

        def __post_init__(self) -> None:
            _not_negative(self.max_failure_rate, "failure rate")
            _not_negative(self.failure_interval, "failure interval")
            _not_negative(self.delay_between_attempts_interval, "delay between attempts")

        def get_max_failure_rate(self) -> int:
            return self.max_failure_rate

        def get_failure_interval(self) -> datetime.timedelta:
            return datetime.timedelta(milliseconds=self.failure_interval)

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            return datetime.timedelta(milliseconds=self.delay_between_attempts_interval)

        def get_description(self) -> str:
            delay = self.delay_between_attempts_interval
            return (
                f"restart {delay} ms after each of up to {self.max_failure_rate} failures in {self.failure_interval} ms"
            )

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)


def _not_negative(value: int, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidValueError(f"restart strategy: {what} must be a whole number, 0 or more, got {value!r}")
