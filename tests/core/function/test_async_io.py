from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.core.conftest import Received

from tidegate.core.function.async_io import AsyncFunction, AsyncSpec, AsyncWaitOperator, OutputMode
from tidegate.core.function.async_retry import AsyncRetryStrategy, empty_result_predicate, has_exception_predicate
from tidegate.core.operator.operator import OperatorContext
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError, InvalidValueError, UserCodeError
from tidegate.testing import ManualClock

ORDERED, UNORDERED = OutputMode.ORDERED, OutputMode.UNORDERED


def wall_clock() -> int:
    return time.monotonic_ns() // 1_000_000


class Sleeps(AsyncFunction):
    """Answers each number after so many milliseconds, as real requests do."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")

    async def async_invoke(self, value: Any) -> list[Any]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(value / 1000)
        self.at_once -= 1
        return [value]


class Answers(AsyncFunction):
    """Requests wait until the test answers them by name."""

    def __init__(self) -> None:
        self.futures: dict[Any, asyncio.Future[Any]] = {}
        self.asked: list[Any] = []

    async def async_invoke(self, value: Any) -> Any:
        self.asked.append(value)
        self.futures[value] = asyncio.get_running_loop().create_future()
        return await self.futures[value]


class Live:
    """An operator that does not block, so that the test decides what happens when."""

    def __init__(self, spec: AsyncSpec, received: Received, *, is_blocking: bool = False, clock: Any = None) -> None:
        self.clock = ManualClock()
        self.operator = AsyncWaitOperator(spec, is_blocking=is_blocking)
        self.operator.setup(OperatorContext("test", OperatorOutput((received,)), clock or self.clock))

    def answer(self, function: Answers, name: Any, result: Any) -> None:
        function.futures[name].set_result(result)
        self.operator.poll()


@contextlib.contextmanager
def opened(spec: AsyncSpec, received: Received, saved: Any = None, **options: Any) -> Iterator[Live]:
    live = Live(spec, received, **options)
    if saved is not None:
        live.operator.restore(saved)
    live.operator.open()
    try:
        yield live
    finally:
        live.operator.close()


# Order, with real requests


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(ORDERED, [30, 1, 15, Watermark(5), 2]), (UNORDERED, [1, 15, 30, Watermark(5), 2])],
)
def test_answers_leave_in_order_or_as_they_come_but_never_across_a_watermark(
    mode: OutputMode, expected: list[Any], received: Received
) -> None:
    function = Sleeps()
    with opened(AsyncSpec(function, mode, 0), received, is_blocking=True, clock=wall_clock) as live:
        for milliseconds in (30, 1, 15):
            live.operator.process_element(milliseconds, milliseconds)
        live.operator.process_watermark(Watermark(5))
        live.operator.process_element(2, None)
        live.operator.drain()
    got = [item.value if isinstance(item, Record) else item for item in received.take()]
    assert got == expected
    assert function.most_at_once >= 3
    assert function.calls == ["open", "close"]


def test_results_keep_the_timestamp_of_their_element(received: Received) -> None:
    with opened(AsyncSpec(Sleeps(), ORDERED, 0), received, is_blocking=True) as live:
        live.operator.process_element(1, 77)
        live.operator.drain()
    assert received.take() == [Record(1, 77)]


def test_a_full_queue_makes_the_next_element_wait(received: Received) -> None:
    function = Sleeps()
    with opened(AsyncSpec(function, ORDERED, 0, capacity=2), received, is_blocking=True, clock=wall_clock) as live:
        for _ in range(6):
            live.operator.process_element(3, None)
        live.operator.drain()
    assert function.most_at_once == 2
    assert len(received.take()) == 6


def test_the_end_of_input_waits_for_every_answer(received: Received) -> None:
    with opened(AsyncSpec(Sleeps(), UNORDERED, 0), received, is_blocking=True, clock=wall_clock) as live:
        for milliseconds in (10, 5):
            live.operator.process_element(milliseconds, None)
        live.operator.process_watermark(Watermark.MAX)
    assert received.take() == [Record(5, None), Record(10, None), Watermark(MAX_TIME)]


# Order, step by step


def test_a_watermark_or_status_with_nothing_before_it_leaves_at_once(received: Received) -> None:
    with opened(AsyncSpec(Answers(), ORDERED, 0), received) as live:
        live.operator.process_watermark(Watermark(5))
        live.operator.process_status(WatermarkStatus.IDLE)
        assert received.take() == [Watermark(5), WatermarkStatus.IDLE]


def test_the_capacity_counts_watermarks_and_the_rest_waits(received: Received) -> None:
    function = Answers()
    with opened(AsyncSpec(function, ORDERED, 0, capacity=2), received) as live:
        live.operator.process_element("a", None)
        live.operator.process_watermark(Watermark(5))
        live.operator.process_element("b", None)
        assert function.asked == ["a"]
        live.answer(function, "a", ["A"])
        assert received.take() == [Record("A", None), Watermark(5)]
        assert function.asked == ["a", "b"]
        live.answer(function, "b", ["B1", "B2"])
        assert received.take() == [Record("B1", None), Record("B2", None)]


def test_an_answer_may_be_empty(received: Received) -> None:
    function = Answers()
    with opened(AsyncSpec(function, ORDERED, 0), received) as live:
        live.operator.process_element("a", None)
        live.answer(function, "a", [])
        assert received.take() == []


def test_none_is_no_answer_and_fails_the_job(received: Received) -> None:
    function = Answers()
    with opened(AsyncSpec(function, ORDERED, 0), received) as live:
        live.operator.process_element("a", None)
        with pytest.raises(UserCodeError, match="async_invoke returned None for the record 'a'; return a list"):
            live.answer(function, "a", None)


def test_none_from_timeout_fails_the_job_too(received: Received) -> None:
    class Silent(Answers):
        def timeout(self, value: Any) -> Any:
            return None

    with opened(AsyncSpec(Silent(), ORDERED, 100), received) as live:
        live.operator.process_element("a", None)
        live.clock.advance_to(101)
        with pytest.raises(UserCodeError, match="timeout returned None for the record 'a'"):
            live.operator.on_clock()


def test_none_is_not_asked_again(received: Received) -> None:
    function = Answers()
    retry = AsyncRetryStrategy.fixed_delay(3, 1, empty_result_predicate, has_exception_predicate)
    with opened(AsyncSpec(function, ORDERED, 100, retry=retry), received) as live:
        live.operator.process_element("a", None)
        with pytest.raises(UserCodeError, match="returned None"):
            live.answer(function, "a", None)
        assert function.asked == ["a"]


def test_a_timeout_counts_by_the_real_clock_where_that_of_the_batch_stands_still(received: Received) -> None:
    class Late(Sleeps):
        def timeout(self, value: Any) -> list[Any]:
            return ["none in time"]

    operator = AsyncWaitOperator(AsyncSpec(Late(), ORDERED, 50))
    operator.setup(OperatorContext("test", OperatorOutput((received,)), lambda: 0, real_clock=wall_clock))
    operator.open()
    operator.process_element(2_000, None)
    begun = time.monotonic()
    operator.drain()
    assert received.take() == [Record("none in time", None)]
    assert time.monotonic() - begun < 1
    operator.close()


def test_an_answer_that_comes_too_late_is_dropped(received: Received) -> None:
    """A function that blocks lets nobody look at the clock before it has answered."""

    class Blocks(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            time.sleep(0.2)
            return [value]

        def timeout(self, value: Any) -> list[Any]:
            return ["none in time"]

    with opened(AsyncSpec(Blocks(), ORDERED, 50), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.drain()
        assert received.take() == [Record("none in time", None)]


# Timeouts


def test_a_request_without_an_answer_in_time_is_an_error_that_names_the_record(received: Received) -> None:
    with opened(AsyncSpec(Answers(), ORDERED, 100), received) as live:
        live.operator.process_element("a", None)
        live.clock.advance_to(100)
        live.operator.on_clock()
        live.clock.advance_to(101)
        with pytest.raises(UserCodeError, match="test: TimeoutError: async request for 'a' timed out, for the rec"):
            live.operator.on_clock()


class AnswersOrNothing(Answers):
    def timeout(self, value: Any) -> list[Any]:
        return [f"no answer for {value}"]


def test_a_timeout_may_be_answered_and_a_later_answer_does_not_count(received: Received) -> None:
    function = AnswersOrNothing()
    with opened(AsyncSpec(function, ORDERED, 100), received) as live:
        live.operator.process_element("a", 7)
        live.clock.advance_to(101)
        live.operator.on_clock()
        assert received.take() == [Record("no answer for a", 7)]
        live.clock.advance_to(1_000)
        live.operator.on_clock()
        live.operator.poll()
        assert received.take() == []


def test_a_timeout_by_the_real_clock_ends_the_waiting(received: Received) -> None:
    function = AnswersOrNothing()
    with opened(AsyncSpec(function, ORDERED, 20), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.process_watermark(Watermark.MAX)
    assert received.take() == [Record("no answer for a", None), Watermark.MAX]


def test_the_timeout_covers_all_retries(received: Received) -> None:
    retry = AsyncRetryStrategy.fixed_delay(1000, 1, empty_result_predicate)

    class NeverGood(Sleeps):
        async def async_invoke(self, value: Any) -> list[Any]:
            self.calls.append("ask")
            return []

        def timeout(self, value: Any) -> list[Any]:
            return ["gave up"]

    function = NeverGood()
    with opened(AsyncSpec(function, ORDERED, 25, 10, retry), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.drain()
    assert received.take() == [Record("gave up", None)]
    assert function.calls.count("ask") > 2


# Retries


def ask(live: Live) -> None:
    live.operator.process_element("a", None)
    live.operator.drain()


class GoodAtLast(AsyncFunction):
    """Good at the n-th time; before that it fails, or gives nothing."""

    def __init__(self, good_at: int, *, fails: bool) -> None:
        self.good_at = good_at
        self.fails = fails
        self.times: list[float] = []

    async def async_invoke(self, value: Any) -> list[Any]:
        self.times.append(time.monotonic())
        if len(self.times) >= self.good_at:
            return [value]
        if self.fails:
            raise ConnectionError("refused")
        return []


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize(
    "strategy",
    [
        AsyncRetryStrategy.fixed_delay(3, 2, empty_result_predicate, has_exception_predicate),
        AsyncRetryStrategy.exponential_backoff(3, 1, 5, 2, empty_result_predicate, has_exception_predicate),
    ],
)
def test_a_bad_answer_or_error_is_asked_again(strategy: AsyncRetryStrategy, fails: bool, received: Received) -> None:
    function = GoodAtLast(4, fails=fails)
    with opened(AsyncSpec(function, ORDERED, 5000, 10, strategy), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.drain()
    assert received.take() == [Record("a", None)]
    assert len(function.times) == 4


def test_an_exponential_delay_grows_between_the_attempts(received: Received) -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(2, 10, 1000, 3, empty_result_predicate)
    function = GoodAtLast(3, fails=False)
    with opened(AsyncSpec(function, ORDERED, 5000, 10, strategy), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.drain()
    first, second, third = function.times
    assert second - first >= 0.009
    assert third - second >= 0.027


def test_when_no_retry_is_left_the_last_answer_stands(received: Received) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(1, 1, empty_result_predicate)
    function = GoodAtLast(9, fails=False)
    with opened(AsyncSpec(function, ORDERED, 5000, 10, strategy), received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.drain()
    assert received.take() == []
    assert len(function.times) == 2


def test_when_no_retry_is_left_the_last_error_is_raised(received: Received) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(1, 1, exception_predicate=has_exception_predicate)
    with (
        opened(
            AsyncSpec(GoodAtLast(9, fails=True), ORDERED, 5000, 10, strategy),
            received,
            is_blocking=True,
            clock=wall_clock,
        ) as live,
        pytest.raises(UserCodeError, match="test: ConnectionError: refused, for the record 'a'") as caught,
    ):
        ask(live)
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_errors_that_the_predicate_does_not_name_are_not_asked_again(received: Received) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(5, 1, exception_predicate=lambda error: isinstance(error, KeyError))
    function = GoodAtLast(9, fails=True)
    spec = AsyncSpec(function, ORDERED, 5000, 10, strategy)
    with opened(spec, received, is_blocking=True) as live, pytest.raises(UserCodeError, match="refused"):
        ask(live)
    assert len(function.times) == 1


def test_at_the_end_of_input_what_waits_is_tried_once_more_at_once(received: Received) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(5, 60_000, empty_result_predicate)
    function = GoodAtLast(9, fails=False)
    spec = AsyncSpec(function, ORDERED, 120_000, 10, strategy)
    started = time.monotonic()
    with opened(spec, received, is_blocking=True, clock=wall_clock) as live:
        live.operator.process_element("a", None)
        live.operator.poll()
        live.operator.process_watermark(Watermark.MAX)
    assert received.take() == [Watermark.MAX]
    assert len(function.times) == 2
    assert time.monotonic() - started < 10


# Restart


@pytest.mark.parametrize("mode", [ORDERED, UNORDERED])
def test_what_has_not_left_is_asked_again_after_a_restart(mode: OutputMode, received: Received) -> None:
    before = Answers()
    with opened(AsyncSpec(before, mode, 0, capacity=3), received) as live:
        live.operator.process_watermark(Watermark(1))
        live.operator.process_element("a", 5)
        live.operator.process_watermark(Watermark(2))
        live.operator.process_status(WatermarkStatus.IDLE)
        live.operator.process_element("b", 6)
        saved = live.operator.snapshot()
    assert received.take() == [Watermark(1)]
    after = Answers()
    with opened(AsyncSpec(after, mode, 0, capacity=3), received, saved) as live:
        live.operator.poll()
        assert "a" in after.asked
        live.answer(after, "a", ["A"])
        live.operator.poll()
        live.answer(after, "b", ["B"])
        assert received.take() == [Record("A", 5), Watermark(2), WatermarkStatus.IDLE, Record("B", 6)]


def test_closing_cancels_what_is_on_its_way(received: Received) -> None:
    class Long(Sleeps):
        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.calls.append("cancelled")
                raise
            return []

    function = Long()
    with opened(AsyncSpec(function, ORDERED, 0), received) as live:
        live.operator.process_element("a", None)
    assert function.calls == ["open", "close", "cancelled"]


# What users get wrong


def test_an_answer_that_is_no_list_is_refused(received: Received) -> None:
    function = Answers()
    with opened(AsyncSpec(function, ORDERED, 0), received) as live:
        live.operator.process_element("a", None)
        function.futures["a"].set_result("text")
        with pytest.raises(InvalidTypeError, match="test: the function must yield its results or return a list"):
            live.operator.poll()


class NotAsync(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:
        return [value]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (5, r"AsyncDataStream: expected an? AsyncFunction object, got 5"),
        (Answers, r"AsyncDataStream: expected an? AsyncFunction object, got"),
        (NotAsync(), r"AsyncDataStream: NotAsync\.async_invoke must be written as 'async def'"),
    ],
)
def test_what_is_no_async_function_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        AsyncSpec(function, ORDERED, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": -1}, "AsyncDataStream: timeout must not be negative, got -1 ms"),
        ({"timeout": 0, "capacity": 0}, "AsyncDataStream: capacity must be 1 or more, got 0"),
        (
            {"timeout": 0, "retry": AsyncRetryStrategy.fixed_delay(1, 1)},
            "AsyncDataStream: retries need a timeout above 0, or they might never end",
        ),
    ],
)
def test_options_that_cannot_be_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        AsyncSpec(Answers(), ORDERED, **options)
