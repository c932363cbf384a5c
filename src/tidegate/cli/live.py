"""The live table of `tidegate run`: what the jobs of a program report, below what it prints."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tidegate.cli.interception import Intercepted, MakeJob, intercepted
from tidegate.common.job_status import JobStatus
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.graph.stream_graph import StreamGraph

NEVER: Final = "-"
_SMALL: Final = 10**10
"""Times below this are counted from zero, as in tests, and not from 1970."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """Where a channel stands: its watermark, None before any."""

    name: str
    watermark: int | None
    is_idle: bool


class Watched:
    """A job of the program, with the names of its operators."""

    def __init__(self, name: str, graph: StreamGraph, job: Any) -> None:
        self.name = name
        self.job = job
        self.started = time.monotonic()
        self._names = {uid: graph.names[number] for number, uid in graph.uids.items()}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For each operator: its name, watermark, late records, and what is open; below it each of its channels."""
        rows = []
        for uid, subtasks in self.job.metrics().items():
            metrics = [dict(found) for found in list(subtasks)]
            rows.append((self._names.get(uid, uid), _watermark(metrics), *_counts(metrics)))
            channels = _channels(metrics)
            slowest = slowest_of(channels)
            for channel in channels:
                note = "idle" if channel.is_idle else "holds the others back" if channel is slowest else ""
                rows.append((f"  {channel.name or 'all rows'}", _shown(channel.watermark), "", note))
        return rows

    def rate(self) -> str:
        """Rows per second as the runtime says, if it does."""
        try:
            progress = self.job._job.last_progress
            return f"{progress['processedRowsPerSecond']:.0f} rows/s, batch {progress['batchId']}"
        except Exception:
            return ""


def slowest_of(channels: list[ChannelState]) -> ChannelState | None:
    """The channel that holds the others back: the lowest of those that are not idle, if there are several."""
    active = [channel for channel in channels if not channel.is_idle]
    if len(active) < 2:
        return None
    lowest = min(active, key=lambda channel: MIN_TIME if channel.watermark is None else channel.watermark)
    return lowest if any(channel.watermark != lowest.watermark for channel in active) else None


def _channels(metrics: list[dict[str, int]]) -> list[ChannelState]:
    """The channels that an operator's subtasks report; copies of one report the same."""
    found: dict[str, ChannelState] = {}
    for values in metrics:
        for name, value in values.items():
            if name.startswith("channel/") and name.endswith("/watermark"):
                channel = name.removeprefix("channel/").removesuffix("/watermark")
                watermark = None if value <= MIN_TIME else value
                found[channel] = ChannelState(channel, watermark, bool(values[f"channel/{channel}/is_idle"]))
    return [found[name] for name in sorted(found)]


def _watermark(metrics: list[dict[str, int]]) -> str:
    """The lowest watermark that the subtasks have sent."""
    sent = [values["current_output_watermark"] for values in metrics if "current_output_watermark" in values]
    return _shown(None if not sent or min(sent) <= MIN_TIME else min(sent))


def _counts(metrics: list[dict[str, int]]) -> tuple[str, str]:
    """Late records, and what is open or was counted."""
    totals: dict[str, int] = {}
    for values in metrics:
        for name, value in values.items():
            if not name.startswith("channel/") and not name.endswith("_watermark"):
                totals[name] = totals.get(name, 0) + value
    late = sum(totals.pop(name, 0) for name in list(totals) if name.startswith("num_late_records"))
    others = (f"{name.removeprefix('num_').replace('_', ' ')} {value}" for name, value in totals.items() if value)
    return str(late) if late else "", ", ".join(others)


def _shown(watermark: int | None) -> str:
    """A watermark for people: a time of day where it is one."""
    if watermark is None:
        return NEVER
    if watermark >= MAX_TIME:
        return "end"
    if abs(watermark) < _SMALL:
        return f"{watermark} ms"
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=watermark)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


class LiveTable:
    """Draws the jobs that run now."""

    def __init__(self) -> None:
        self.jobs: list[Watched] = []

    def __rich__(self) -> Table:
        result = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("job", "watermark", "late", ""):
            result.add_column(name)
        for watched in self.jobs:
            if watched.job.status() is not JobStatus.RUNNING:
                continue
            seconds = f"{time.monotonic() - watched.started:.0f} s"
            result.add_row(f"[bold]{watched.name}[/]", "", "", "  ".join(filter(None, (seconds, watched.rate()))))
            for name, watermark, late, others in watched.rows():
                result.add_row(f"  {name}", watermark, late, others)
        return result


@contextmanager
def watching(table: LiveTable) -> Iterator[None]:
    """While this is open the jobs that a program starts are in the table."""

    def watch(make: MakeJob, intercepted_job: Intercepted) -> Any:
        job = make()
        table.jobs.append(Watched(intercepted_job.name, intercepted_job.graph, job))
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
