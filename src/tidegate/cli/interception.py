"""Stands between a program and the runtime: `execute` and its like ask here for the job that they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.graph.stream_graph import StreamGraph

MakeJob = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Intercepted:
    """A job that a program would run: its environment and graph, its name, and what to call at its end."""

    env: StreamExecutionEnvironment
    graph: StreamGraph
    name: str
    on_end: Any
    checkpoint: str | None
    tables: Sequence[Any] = ()
    """What the DataFrame of a program consists of, if it is one."""


Intercept = Callable[[MakeJob, Intercepted], Any]
"""Gets what would make the job, and what is known of it; gives the job."""
InterceptFrame = Callable[[MakeJob, Intercepted], Any]
"""The same for a DataFrame, whose query the program starts by itself."""


@contextmanager
def intercepted(intercept: Intercept, intercept_frame: InterceptFrame | None = None) -> Iterator[None]:
    """While this is open every job of every environment comes from `intercept`."""
    make_client, make_frame = StreamExecutionEnvironment._client, StreamExecutionEnvironment._frame

    def client(env: StreamExecutionEnvironment, graph: StreamGraph, job_name: str | None, on_end: Any = None) -> Any:
        job = Intercepted(env, graph, job_name or "job", on_end, env._checkpoint)
        return intercept(lambda: make_client(env, graph, job_name, on_end), job)

    def frame(
        env: StreamExecutionEnvironment, graph: StreamGraph, tables: Sequence[Any], checkpoint: str | None
    ) -> Any:
        assert intercept_frame is not None
        job = Intercepted(env, graph, "to_dataframe", None, checkpoint, tables)
        return intercept_frame(lambda: make_frame(env, graph, tables, checkpoint), job)

    StreamExecutionEnvironment._client = client  # type: ignore[method-assign, assignment]
    if intercept_frame is not None:
        StreamExecutionEnvironment._frame = frame  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        StreamExecutionEnvironment._client = make_client  # type: ignore[method-assign]
        StreamExecutionEnvironment._frame = make_frame  # type: ignore[method-assign]


@contextmanager
def counting_jobs() -> Iterator[Callable[[], int]]:
    """Gives how many jobs and DataFrames programs have made since this is open."""
    made: list[Intercepted] = []

    def count(make: MakeJob, job: Intercepted) -> Any:
        made.append(job)
        return make()

    with intercepted(count, count):
        yield lambda: len(made)
