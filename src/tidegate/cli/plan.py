"""`tidegate plan`: the stages that a program compiles to, without running it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from tidegate.cli.failures import Debug, FailureError, ProgramError, describe, reports_errors, say
from tidegate.cli.interception import Intercepted, MakeJob, intercepted
from tidegate.cli.program import ProgramArguments, ProgramPath, run_program
from tidegate.datastream.running_job import RunningJob
from tidegate.engine import describe as describe_plan
from tidegate.engine.plan import PhysicalPlan


class PlanFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"


class PlannedJob(NamedTuple):
    """What one call of `execute` would have run."""

    name: str
    plan: PhysicalPlan


class NothingToRun:
    """Stands in for a job: it has ended before it began."""

    def run(self) -> None:
        """Nothing runs."""

    def stop(self) -> None:
        """There is nothing to stop."""

    def drain(self) -> None:
        """There is nothing to drain."""

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        return {}


class NoFrame:
    """Stands in for a DataFrame and the query on it: whatever is done with it gives the same again."""

    def __getattr__(self, name: str) -> NoFrame:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> NoFrame:
        return self

    def __getitem__(self, name: object) -> NoFrame:
        return self


@contextmanager
def planning() -> Iterator[list[PlannedJob]]:
    """While this is open nothing runs: `execute` and its like note their plan, and their results are empty."""
    planned: list[PlannedJob] = []

    def note(make: MakeJob, job: Intercepted) -> Any:
        planned.append(PlannedJob(job.name, job.env._lower(job.graph)))
        return RunningJob(NothingToRun(), job.name, job.on_end)

    def note_frame(make: MakeJob, job: Intercepted) -> Any:
        planned.append(PlannedJob(job.name, job.env._lower(job.graph)))
        return NoFrame()

    with intercepted(note, note_frame):
        yield planned


def shown(jobs: list[PlannedJob], plan_format: PlanFormat) -> str:
    """The plans in one of the formats; JSON is one document for all jobs."""
    if plan_format is PlanFormat.JSON:
        data = [{"name": job.name, **describe_plan.as_data(job.plan)} for job in jobs]
        return json.dumps({"jobs": data}, indent=2)
    if plan_format is PlanFormat.MERMAID:
        return "\n\n".join(f"%% {job.name}\n{describe_plan.as_mermaid(job.plan)}" for job in jobs)
    return "\n\n".join(f"job {job.name!r}\n{describe_plan.as_text(job.plan)}" for job in jobs)


@reports_errors
def plan(
    file: ProgramPath,
    arguments: ProgramArguments = None,
    plan_format: Annotated[
        PlanFormat, typer.Option("--format", help="How to show it: for people, programs or Markdown.")
    ] = PlanFormat.TEXT,
    debug: Debug = False,
) -> None:
    """Show the stages that a program compiles to, without running it.

    The file itself is run, so that it builds its streams; what it prints goes to standard error.
    """
    failure: ProgramError | None = None
    with planning() as jobs, contextlib.redirect_stdout(sys.stderr):
        try:
            run_program(file, arguments or ())
        except ProgramError as error:
            failure = error
        except SystemExit:
            # A program may end itself after execute(); its plan is known by then.
            pass
    if failure is not None and not jobs:
        raise failure
    if not jobs:
        raise FailureError(
            f"{file} never called execute() or to_dataframe(), so there is no plan; end it with env.execute()"
        )
    typer.echo(shown(jobs, plan_format))
    if failure is not None:
        say(f"note: nothing ran, so the program had no results to go on with: {describe(failure)}")
