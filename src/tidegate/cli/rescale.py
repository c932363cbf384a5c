"""`tidegate rescale`: another parallelism for the checkpoint of a stopped job."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from tidegate.cli.failures import Debug, FailureError, MisuseError, reports_errors, say
from tidegate.cli.interception import Intercepted, MakeJob, intercepted
from tidegate.cli.program import ProgramArguments, ProgramPath, check_file, environment, run_program
from tidegate.cli.run import CHECKPOINT_VARIABLE, RUNTIME_VARIABLE
from tidegate.errors import SnapshotError

if TYPE_CHECKING:
    from tidegate.spark.query.rescale import Rescale
    from tidegate.storage.ownership import Ownership

_ENDING_SECONDS: Final = 3.0


class _FoundError(SystemExit):
    """Leaves a program as soon as its job is known."""


@reports_errors
def rescale(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="The folder of a job that is stopped.")],
    file: ProgramPath,
    arguments: ProgramArguments = None,
    parallelism: Annotated[int, typer.Option("--parallelism", metavar="N", help="How many subtasks it gets.")] = 0,
    debug: Debug = False,
) -> None:
    """Give the checkpoint of a stopped job another parallelism.

    State and positions are kept. A batch that was not ended is ended first, with the parallelism that it had. A rescale
    that was interrupted goes on when it is called again. Afterwards start the job with the new parallelism.
    """
    from tidegate.spark.query.rescale import Rescale
    from tidegate.spark.query.session import get_session
    from tidegate.storage.ownership import Ownership

    check_file(file)
    if parallelism < 1:
        raise MisuseError("say how many subtasks the job gets: --parallelism N, with N from 1")
    if not checkpoint.is_dir():
        raise MisuseError(f"there is no folder {checkpoint}")
    variables = {
        RUNTIME_VARIABLE: "spark",
        CHECKPOINT_VARIABLE: str(checkpoint.resolve()),
        "PYSPARK_PYTHON": None if "PYSPARK_PYTHON" in os.environ else sys.executable,
    }
    began = time.monotonic()
    with environment(variables):
        job = _job_of(file, arguments or (), checkpoint)
        options = job.env._job_options().plan_options(has_workers=True)
        change = Rescale(checkpoint, job.graph, options, parallelism)
        ownership = Ownership(checkpoint)
        _refuse_if_running(ownership)
        if not change.is_settled:
            say(f"the last batch of {checkpoint} was not ended: this is done first, as the job was")
            _settle(change, job, file, arguments or (), checkpoint)
        ownership.take()
        try:
            if not change.is_settled:
                raise FailureError(f"{checkpoint} does not come to rest; is another process running the job?")
            done = change.run(get_session(job.env._spark, max(parallelism, 2)))
        finally:
            ownership.release()
    typer.echo(
        f"{checkpoint}: parallelism {done.before} -> {done.after}, {done.num_bytes / 1e6:.1f} MB of state shared out "
        f"in {time.monotonic() - began:.1f} s; start the job with parallelism {done.after} now"
    )


def _refuse_if_running(ownership: Ownership) -> None:
    """A job that runs is refused before anything is done; one that is about to end may do so."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while True:
        try:
            ownership.take()
            break
        except SnapshotError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    ownership.release()


def _job_of(file: Path, arguments: Sequence[str], checkpoint: Path) -> Intercepted:
    """The job of a program that has its checkpoint in a folder. Nothing of the program runs."""
    from tidegate.cli.plan import NoFrame, NothingToRun
    from tidegate.datastream.running_job import RunningJob

    found: list[Intercepted] = []

    def note(make: MakeJob, job: Intercepted) -> Any:
        if _is_at(job, checkpoint):
            found.append(job)
            raise _FoundError
        return NoFrame() if job.tables else RunningJob(NothingToRun(), job.name, job.on_end)

    with intercepted(note, note), contextlib.redirect_stdout(sys.stderr), contextlib.suppress(_FoundError):
        run_program(file, arguments)
    if not found:
        raise FailureError(f"{file} has no job with the checkpoint {checkpoint}; give the program that wrote it")
    return found[0]


def _is_at(job: Intercepted, checkpoint: Path) -> bool:
    return job.checkpoint is not None and Path(job.checkpoint).resolve() == checkpoint.resolve()


def _settle(change: Rescale, job: Intercepted, file: Path, arguments: Sequence[str], checkpoint: Path) -> None:
    """End what the job had begun, with the parallelism that it had. The query of a DataFrame is the program's own."""
    from tidegate.spark.query.frame_job import FrameJob, SettledError
    from tidegate.spark.query.job import SparkJob

    if not job.tables:
        SparkJob(change.graph_before, job.env._spark_options(str(checkpoint)), job.name).settle()
        return

    def settle(make: MakeJob, again: Intercepted) -> Any:
        if not _is_at(again, checkpoint):
            return make()
        graph = change.as_saved(again.graph)
        return FrameJob(graph, again.env._spark_options(again.checkpoint), again.tables, settles=True).frame()

    def refuse(make: MakeJob, other: Intercepted) -> NoReturn:
        raise FailureError(
            f"{file} runs the job {other.name!r} before the query of its DataFrame, whose last batch was not ended; "
            "start the program once with the parallelism that it had, and stop it"
        )

    with intercepted(refuse, settle), contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SettledError):
        run_program(file, arguments)
