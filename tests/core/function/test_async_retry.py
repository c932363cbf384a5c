from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.core.function.async_retry import (
    AsyncRetryStrategy,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from tidegate.errors import InvalidValueError


def test_without_a_strategy_nothing_is_asked_again() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    predicate = strategy.get_retry_predicate()
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert predicate.result_predicate() is None
    assert predicate.exception_predicate() is None


def test_a_fixed_delay_allows_so_many_retries() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 100, empty_result_predicate, has_exception_predicate)
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2)] == [100, 100]
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is empty_result_predicate
    assert predicate.exception_predicate() is has_exception_predicate


def test_an_exponential_delay_grows_up_to_its_limit() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(4, 100, 350, 2, empty_result_predicate)
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4)] == [100, 200, 350, 350]
    assert [strategy.can_retry(attempt) for attempt in (4, 5)] == [True, False]
    assert strategy.get_retry_predicate().result_predicate() is empty_result_predicate
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_every_request_counts_its_own_delays() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(3, 100, 1000, 1.5)
    strategy.get_backoff_time_millis(3)
    assert strategy.get_backoff_time_millis(1) == 100


def test_exponential_delays_are_cut_to_milliseconds_at_every_step() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 100, 1.37)
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4)] == [10, 13, 17, 23]
    assert strategy.get_backoff_time_millis(10**9) == 100
    stuck = AsyncRetryStrategy.exponential_backoff(9, 1, 100, 1.5)
    assert stuck.get_backoff_time_millis(10**9) == 1


def test_predicates() -> None:
    assert [empty_result_predicate(result) for result in ([], None, [0])] == [True, True, False]
    assert has_exception_predicate(ValueError())
    assert exception_type_predicate(ValueError(), ValueError)
    assert not exception_type_predicate(ValueError(), KeyError)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AsyncRetryStrategy.fixed_delay(0, 1), "async retry: max_attempts must be above 0, got 0"),
        (lambda: AsyncRetryStrategy.fixed_delay(1, 0), "async retry: backoff_time_millis must be above 0, got 0"),
        (lambda: AsyncRetryStrategy.exponential_backoff(0, 1, 1, 1), "async retry: max_attempts must be above 0"),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 0, 1, 1), "async retry: initial_delay must be above 0"),
        (
            lambda: AsyncRetryStrategy.exponential_backoff(1, 5, 4, 1),
            "async retry: max_retry_delay must be at least initial_delay, got 4",
        ),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0.5), "async retry: multiplier must be 1 or more"),
    ],
)
def test_strategies_that_cannot_be_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        build()
