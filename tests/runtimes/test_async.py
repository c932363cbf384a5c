"""Requests time out by real time, and `None` is no answer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tests.runtimes.conftest import Runtime

from tidegate.common import Time
from tidegate.datastream import AsyncDataStream, AsyncFunction, CollectSink
from tidegate.errors import UserCodeError


class Slow(AsyncFunction):
    async def async_invoke(self, value: int) -> list[str]:
        await asyncio.sleep(6 if value == 1 else 0)
        return [f"answer to {value}"]

    def timeout(self, value: int) -> list[str]:
        return [f"nothing about {value}"]


class Nothing(AsyncFunction):
    async def async_invoke(self, value: int) -> Any:
        return None


def test_a_request_that_takes_longer_than_its_timeout_is_given_up_within_the_batch(runtime: Runtime) -> None:
    env = runtime.environment()
    results = CollectSink()
    requests = env.from_collection([0, 1, 2])
    AsyncDataStream.unordered_wait(requests, Slow(), Time.milliseconds(500)).sink_to(results)
    began = time.monotonic()
    env.execute("timeout")
    assert sorted(results.results) == ["answer to 0", "answer to 2", "nothing about 1"]
    if not runtime.is_spark:
        assert time.monotonic() - began < 5


def test_none_is_no_answer(runtime: Runtime) -> None:
    env = runtime.environment()
    AsyncDataStream.ordered_wait(env.from_collection([7]), Nothing(), Time.seconds(5)).sink_to(CollectSink())
    with pytest.raises(UserCodeError, match=r"Nothing.*None.*7"):
        env.execute("none")
