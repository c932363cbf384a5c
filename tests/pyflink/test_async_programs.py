"""Asynchronous requests with timeouts and retries."""

import asyncio
import functools

from tidegate.common import Row, Time, Types
from tidegate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    CheckpointingMode,
    RuntimeContext,
    StreamExecutionEnvironment,
    async_retry_predicates,
)

CITIES = {1: "Oslo", 2: "Lima"}
VISIT = Types.ROW_NAMED(["user", "city"], [Types.STRING(), Types.INT()])


class LookUp(AsyncFunction[Row, str]):  # type: ignore[type-arg]
    def __init__(self, failures: int = 0) -> None:
        self.failures = failures

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = self.failures

    async def async_invoke(self, value: Row) -> list[str]:
        await asyncio.sleep(0.002 if value.city == 1 else 0)
        if self.left:
            self.left -= 1
            raise TimeoutError
        return [f"{value.user} in {CITIES[value.city]}"]


class Never(AsyncFunction):
    async def async_invoke(self, value: Row) -> list[str]:
        await asyncio.sleep(30)
        return ["too late"]

    def timeout(self, value: Row) -> list[str]:
        return [f"nothing about {value.user}"]


VISITS = [("Ann", 1), ("Ben", 2), ("Cal", 1)]
ANSWERS = ["Ann in Oslo", "Ben in Lima", "Cal in Oslo"]


def test_ordered_answers_keep_the_order_of_the_elements() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(30000, CheckpointingMode.EXACTLY_ONCE)
    visits = env.from_collection(VISITS, type_info=VISIT)
    answers = AsyncDataStream.ordered_wait(
        data_stream=visits,
        async_function=LookUp(),
        timeout=Time.seconds(10),
        capacity=10,
        output_type=Types.STRING(),
    )
    assert list(answers.execute_and_collect()) == ANSWERS


def test_failed_requests_are_asked_again() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = AsyncRetryStrategy.fixed_delay(
        max_attempts=5,
        backoff_time_millis=1,
        result_predicate=None,
        exception_predicate=functools.partial(
            async_retry_predicates.exception_type_predicate, expected_error_type=TimeoutError
        ),
    )
    answers = AsyncDataStream.unordered_wait_with_retry(
        data_stream=env.from_collection(VISITS, type_info=VISIT),
        async_function=LookUp(failures=2),
        timeout=Time.seconds(10),
        async_retry_strategy=strategy,
        capacity=1,
        output_type=Types.STRING(),
    )
    assert list(answers.execute_and_collect()) == ANSWERS


def test_what_does_not_answer_in_time_gives_something_else() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    visits = env.from_collection(VISITS[:1], type_info=VISIT)
    answers = AsyncDataStream.unordered_wait(visits, Never(), Time.milliseconds(20))
    assert list(answers.execute_and_collect()) == ["nothing about Ann"]
