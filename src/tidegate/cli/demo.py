"""`tidegate demo`: a disordered stream on a local Spark, its watermarks, windows and late records as they happen."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.live import Live

from tidegate.cli.demo_picture import DemoPicture
from tidegate.cli.demo_stream import build
from tidegate.cli.demo_view import DemoView
from tidegate.cli.doctor import check_java
from tidegate.cli.failures import Debug, FailureError, MisuseError, reports_errors
from tidegate.cli.program import environment
from tidegate.common.job_status import JobStatus
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment

SHORTEST: Final = 3
_POLL_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 30

# A JVM that lives for half a minute is faster without the optimising compiler and the parallel collector.
_SHORT_LIVED_JVM: Final = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"


@reports_errors
def demo(
    seconds: Annotated[float, typer.Option("--seconds", help="How long the stream runs.")] = 20,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Not in this version yet.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Write a picture of the run, too.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Show an out-of-order stream with a lagging and an idle partition, on a local Spark."""
    if dashboard:
        raise MisuseError("--dashboard is not in this version yet; run `tidegate demo` without it")
    if seconds < SHORTEST:
        raise MisuseError(f"--seconds must be at least {SHORTEST}, got {seconds:g}: the first window needs as long")
    if picture is not None and (picture.suffix != ".svg" or not picture.resolve().parent.is_dir()):
        raise MisuseError(f"--picture takes a file in a folder that exists, with a name in .svg; got {picture}")
    java = check_java()
    if not java.is_good:
        raise FailureError(f"Java: {java.found}; {java.fix}")
    console = Console(highlight=False)
    view = DemoView(console, is_live=console.is_terminal)
    drawn = DemoPicture(view)
    console.print(view.introduction(), soft_wrap=True)
    submit = os.environ.get("PYSPARK_SUBMIT_ARGS", _SHORT_LIVED_JVM)
    with environment({"PYSPARK_SUBMIT_ARGS": submit}), _quiet_stderr(is_quiet=not debug):
        job = _start(view, seconds)
        try:
            _show(job, view, console, drawn)
            job.wait()
        except KeyboardInterrupt:
            job.stop()
            job.wait(_STOP_SECONDS)
            raise
    console.print()
    console.print(view.summary(), soft_wrap=True)
    if picture is not None:
        drawn.write(picture)


def _start(view: DemoView, seconds: float) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment(runtime="spark", parallelism=1)
    build(env, view, seconds)
    return env.execute_async("demo")


def _show(job: Any, view: DemoView, console: Console, drawn: DemoPicture) -> None:
    """Draw until the job is over."""
    if not console.is_terminal:
        _wait(job, drawn)
        return
    with Live(view, console=console, refresh_per_second=5):
        _wait(job, drawn)


def _wait(job: Any, drawn: DemoPicture) -> None:
    while job.status() is JobStatus.RUNNING:
        drawn.look()
        try:
            job.wait(_POLL_SECONDS)
        except TimeoutError:
            continue


@contextmanager
def _quiet_stderr(*, is_quiet: bool) -> Iterator[None]:
    """Keep what the JVM and its workers write to standard error out of the picture."""
    if not is_quiet:
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
