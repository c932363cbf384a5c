import datetime
import pickle
from typing import Any

import pytest

from tidegate.common import RestartStrategies, RestartStrategyConfiguration
from tidegate.errors import InvalidValueError

STRATEGIES: list[tuple[RestartStrategyConfiguration, str]] = [
    (RestartStrategies.no_restart(), "no restart"),
    (RestartStrategies.fall_back_restart(), "as the cluster is set up"),
    (RestartStrategies.fixed_delay_restart(3, 1000), "restart up to 3 times, 1000 ms after each failure"),
    (
        RestartStrategies.failure_rate_restart(3, 1000, 20),
        "restart 20 ms after each of up to 3 failures in 1000 ms",
    ),
]


@pytest.mark.parametrize(("strategy", "text"), STRATEGIES, ids=str)
def test_strategy_describes_itself(strategy: RestartStrategyConfiguration, text: str) -> None:
    assert strategy.get_description() == text


@pytest.mark.parametrize(("strategy", "text"), STRATEGIES, ids=str)
def test_strategy_is_a_value(strategy: RestartStrategyConfiguration, text: str) -> None:
    twin = pickle.loads(pickle.dumps(strategy))
    assert twin == strategy
    assert hash(twin) == hash(strategy)


def test_strategies_tell_their_numbers() -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, 1000)
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == datetime.timedelta(seconds=1)
    rate = RestartStrategies.failure_rate_restart(3, 2000, 20)
    assert rate.get_max_failure_rate() == 3
    assert rate.get_failure_interval() == datetime.timedelta(seconds=2)
    assert rate.get_delay_between_attempts_interval() == datetime.timedelta(milliseconds=20)


@pytest.mark.parametrize("bad", [-1, 1.5, True, None])
def test_numbers_are_whole_and_not_negative(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match="restart attempts must be a whole number, 0 or more"):
        RestartStrategies.fixed_delay_restart(bad, 1000)
    with pytest.raises(InvalidValueError, match="delay between attempts must be a whole number"):
        RestartStrategies.failure_rate_restart(1, 1000, bad)
