"""Stands between a program and the runtime: `execute` and its like ask here for the job that they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.graph.stream_graph import StreamGraph

MakeJob = Callable[[], Any]
Intercept = Callable[[MakeJob, StreamGraph, str, Any], Any]
"""Gets what would make the job, the graph, the name of the job and what to call at its end; gives the job."""


@contextmanager
def intercepted(intercept: Intercept) -> Iterator[None]:
    """While this is open every job of every environment comes from `intercept`."""
    original = StreamExecutionEnvironment._client

    def client(env: StreamExecutionEnvironment, graph: StreamGraph, job_name: str | None, on_end: Any = None) -> Any:
        return intercept(lambda: original(env, graph, job_name, on_end), graph, job_name or "job", on_end)

    StreamExecutionEnvironment._client = client  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        StreamExecutionEnvironment._client = original  # type: ignore[method-assign]
