"""The live table of `tidegate run`: what the jobs of a program report, below what it prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tidegate.cli.interception import MakeJob, intercepted
from tidegate.common.job_status import JobStatus
from tidegate.graph.stream_graph import StreamGraph


class Watched:
    """A job of the program, with the names of its operators."""

    def __init__(self, name: str, graph: StreamGraph, job: Any) -> None:
        self.name = name
        self.job = job
        self.started = time.monotonic()
        self._names = {uid: graph.names[number] for number, uid in graph.uids.items()}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For each operator that reports something: name, late records, timers fired, other counts."""
        rows = []
        for uid, subtasks in self.job.metrics().items():
            totals: dict[str, int] = {}
            for metrics in list(subtasks):
                for name, value in dict(metrics).items():
                    totals[name] = totals.get(name, 0) + value
            late = sum(totals.pop(name, 0) for name in list(totals) if name.startswith("num_late_records"))
            fired = totals.pop("num_fired_timers", 0)
            others = ", ".join(f"{name.removeprefix('num_')} {value}" for name, value in totals.items() if value)
            if late or fired or others:
                rows.append((self._names.get(uid, uid), str(late), str(fired), others))
        return rows

    def rate(self) -> str:
        """Rows per second as the runtime says, if it does."""
        try:
            progress = self.job._job.last_progress
            return f"{progress['processedRowsPerSecond']:.0f} rows/s, batch {progress['batchId']}"
        except Exception:
            return ""


class LiveTable:
    """Draws the jobs that run now."""

    def __init__(self) -> None:
        self.jobs: list[Watched] = []

    def __rich__(self) -> Table:
        result = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("job", "late", "timers fired", ""):
            result.add_column(name)
        for watched in self.jobs:
            if watched.job.status() is not JobStatus.RUNNING:
                continue
            seconds = f"{time.monotonic() - watched.started:.0f} s"
            result.add_row(f"[bold]{watched.name}[/]", "", "", "  ".join(filter(None, (seconds, watched.rate()))))
            for name, late, fired, others in watched.rows():
                result.add_row(f"  {name}", late, fired, others)
        return result


@contextmanager
def watching(table: LiveTable) -> Iterator[None]:
    """While this is open the jobs that a program starts are in the table."""

    def watch(make: MakeJob, graph: StreamGraph, name: str, on_end: Any) -> Any:
        job = make()
        table.jobs.append(Watched(name, graph, job))
        return job

    with intercepted(watch):
        yield


@contextmanager
def live_table() -> Iterator[None]:
    """The table on a terminal; nothing at all where the output is piped."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    table = LiveTable()
    with watching(table), Live(table, console=Console(), refresh_per_second=2, transient=True):
        yield
