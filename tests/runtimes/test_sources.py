"""Source functions: how many instances run, what their context gives them, and how they end."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime

from tidegate.datastream import CollectSink
from tidegate.datastream.functions import (
    KeyedProcessFunction,
    ParallelSourceFunction,
    SourceContext,
    SourceFunction,
)
from tidegate.datastream.time_characteristic import TimeCharacteristic
from tidegate.errors import InvalidValueError


class Numbers(SourceFunction):
    """Numbers, each with a watermark, given together under the lock."""

    def __init__(self, count: int = 3) -> None:
        self._count = count

    def run(self, ctx: SourceContext) -> None:
        for number in range(self._count):
            with ctx.get_checkpoint_lock():
                ctx.collect_with_timestamp(number, number)

    def cancel(self) -> None:
        """It ends by itself."""


class NumbersInParallel(Numbers, ParallelSourceFunction):
    """The same from every instance."""


def test_a_source_that_says_it_can_runs_in_parallel(runtime: Runtime) -> None:
    env = runtime.environment(parallelism=2)
    one, three = CollectSink(), CollectSink()
    env.add_source(Numbers()).sink_to(one)
    env.add_source(NumbersInParallel()).set_parallelism(3).sink_to(three)
    env.execute("parallel sources")
    assert sorted(one.results) == [0, 1, 2]
    assert sorted(three.results) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_source_that_is_not_parallel_is_not_run_in_parallel(runtime: Runtime) -> None:
    env = runtime.environment(parallelism=2)
    stream = env.add_source(Numbers())
    with pytest.raises(InvalidValueError, match=r"set_parallelism\(3\): this source is not parallel"):
        stream.set_parallelism(3)


def test_ingestion_time_needs_an_interval(runtime: Runtime) -> None:
    env = runtime.environment()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    env.get_config().set_auto_watermark_interval(0)
    env.add_source(Numbers()).sink_to(CollectSink())
    with pytest.raises(InvalidValueError, match="ingestion time needs an auto-watermark interval of at least 1 ms"):
        env.execute("no interval")


class ManyTimers(KeyedProcessFunction):
    """Has far more timers due at once than can be waited for."""

    started = threading.Event()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        for time in range(100_000):
            ctx.timer_service().register_event_time_timer(time)
        return []

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        type(self).started.set()
        threading.Event().wait(0.01)
        return []


def test_a_stop_interrupts_the_advance_of_many_timers() -> None:
    env = Runtime("local").environment(parallelism=1)
    env.from_collection([1]).key_by(lambda value: value).process(ManyTimers()).sink_to(CollectSink())
    job = env.execute_async("many timers")
    assert ManyTimers.started.wait(60)
    job.stop()
    job.wait(30)
