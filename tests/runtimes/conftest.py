"""What must be the same on both runtimes runs on both."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.datastream import StreamExecutionEnvironment

PATIENCE = 120.0


class Runtime:
    """A runtime by name, with what it needs."""

    def __init__(self, name: str, spark: Any = None) -> None:
        self.name = name
        self.spark = spark

    @property
    def is_spark(self) -> bool:
        return self.name == "spark"

    def is_idle(self) -> bool:
        """Whether no query has anything to do; what is local is between two batches all the time."""
        return not self.is_spark or not any(query.status["isDataAvailable"] for query in self.spark.streams.active)

    def environment(self, checkpoint: Path | None = None, parallelism: int = 2) -> StreamExecutionEnvironment:
        where = None if checkpoint is None else str(checkpoint)
        if self.is_spark:
            return StreamExecutionEnvironment.get_execution_environment(
                self.spark, parallelism=parallelism, checkpoint=where
            )
        return StreamExecutionEnvironment.get_execution_environment(
            runtime="local", parallelism=parallelism, checkpoint=where
        )


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return Runtime(request.param, request.getfixturevalue("spark") if request.param == "spark" else None)


ON_LOCAL = pytest.mark.parametrize("runtime", ["local"], indirect=True)
"""For what is decided before a runtime has anything to do with it: a query more would show nothing more."""


def on(name: str, *values: Any) -> Any:
    """A case of a test on one runtime: `parametrize(("runtime", ...), [on("spark", ...)], indirect=["runtime"])`."""
    return pytest.param(name, *values, marks=[pytest.mark.spark] if name == "spark" else [])


def run_until(env: StreamExecutionEnvironment, is_enough: Callable[[], bool]) -> None:
    """Run a program whose input does not end, and stop it when there is enough."""
    job = env.execute_async("until enough")
    deadline = time.monotonic() + PATIENCE
    try:
        while not is_enough():
            if job.status().is_terminal_state():
                break
            assert time.monotonic() < deadline, "not enough in time"
            time.sleep(0.05)
    finally:
        job.stop()
        job.wait(PATIENCE)
