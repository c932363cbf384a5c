"""Adds to each visit the name of its city, which a slow service knows; some requests fail at first and are repeated."""

import asyncio

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import AsyncRetryStrategy, RuntimeContext

CITIES = {1: "Oslo", 2: "Lima", 3: "Pune"}

# visitor, number of the city
VISITS = [("ann", 1), ("bob", 2), ("cid", 3), ("dan", 9), ("eve", 1), ("fay", 2), ("gus", 3), ("hal", 1)]


class BusyError(Exception):
    """The service asks to come back."""


class CityName(AsyncFunction):
    """The first request for Lima finds the service busy."""

    def open(self, runtime_context: RuntimeContext):
        self.was_busy = False

    async def async_invoke(self, value):
        visitor, city = value
        await asyncio.sleep(0.05 if city == 1 else 0.01)
        if city == 2 and not self.was_busy:
            self.was_busy = True
            raise BusyError
        return [f"{visitor} is in {CITIES[city]}"] if city in CITIES else []

    def timeout(self, value):
        return [f"{value[0]} is somewhere"]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    visits = env.from_collection(VISITS, type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    again = AsyncRetryStrategy.fixed_delay(
        max_attempts=3,
        backoff_time_millis=20,
        result_predicate=None,
        exception_predicate=lambda error: isinstance(error, BusyError),
    )
    AsyncDataStream.ordered_wait_with_retry(
        data_stream=visits,
        async_function=CityName(),
        timeout=Time.seconds(10),
        async_retry_strategy=again,
        capacity=4,
        output_type=Types.STRING(),
    ).print()
    env.execute("async enrichment")


if __name__ == "__main__":
    main()
