"""When an asynchronous request is asked again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from tidegate.core.subscriptable import Subscriptable
from tidegate.errors import InvalidValueError

ResultPredicate = Callable[[Any], bool]
ExceptionPredicate = Callable[[Exception], bool]


class AsyncRetryPredicate(Subscriptable, ABC):
    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Which results are not good enough."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Which errors are worth another try."""


class RetryPredicate(AsyncRetryPredicate):
    def __init__(
        self, result_predicate: ResultPredicate | None, exception_predicate: ExceptionPredicate | None
    ) -> None:
        self._result = result_predicate
        self._exception = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception


class AsyncRetryStrategy(Subscriptable, ABC):
    """How often, and after which delay, a request is asked again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be another attempt after this many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int: ...

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate: ...

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class NoRetryStrategy(AsyncRetryStrategy):
    """Never asks again."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy):
    """At most `max_attempts` retries, with the same delay before each."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _check(max_attempts > 0, "max_attempts must be above 0", max_attempts)
        _check(backoff_time_millis > 0, "backoff_time_millis must be above 0", backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy):
    """At most `max_attempts` retries; each delay is the one before times the multiplier, up to a limit.

    A delay is cut to whole milliseconds before it is multiplied again, as in Flink: 10 ms times 1.37 gives 10, 13, 17.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _check(max_attempts > 0, "max_attempts must be above 0", max_attempts)
        _check(initial_delay > 0, "initial_delay must be above 0", initial_delay)
        _check(max_retry_delay >= initial_delay, "max_retry_delay must be at least initial_delay", max_retry_delay)
        _check(multiplier >= 1, "multiplier must be 1 or more", multiplier)
        self._max_attempts = max_attempts
        self._initial = initial_delay
        self._limit = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        # Flink keeps the last delay in the strategy, which all requests of an instance share; here every request
        # counts for itself.
        delay = self._initial
        for _ in range(current_attempts - 1):
            longer = int(min(delay * self._multiplier, self._limit))
            if longer == delay:
                break
            delay = longer
        return delay

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


def empty_result_predicate(result: Any) -> bool:
    """True for a result without elements."""
    return not result


def has_exception_predicate(error: Exception) -> bool:
    """True for every error."""
    return error is not None


def exception_type_predicate(error: Exception, expected_error_type: type[Exception]) -> bool:
    """True for errors of the given type."""
    return isinstance(error, expected_error_type)


def _check(holds: bool, rule: str, value: Any) -> None:
    if not holds:
        raise InvalidValueError(f"async retry: {rule}, got {value!r}")
