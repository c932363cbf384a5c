"""`tidegate savepoint`: copies of a checkpoint to start from."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.failures import Debug, MisuseError, reports_errors, say

_USAGE = (
    "tidegate savepoint CHECKPOINT DIR, tidegate savepoint list DIR, or tidegate savepoint restore SAVEPOINT CHECKPOINT"
)


@reports_errors
def savepoint(
    what: Annotated[str, typer.Argument(metavar="CHECKPOINT|list|restore", help="What to copy, or what to do.")],
    path: Annotated[Path, typer.Argument(metavar="DIR|SAVEPOINT", help="The folder of savepoints, or one of them.")],
    target: Annotated[Path | None, typer.Argument(metavar="CHECKPOINT", help="With restore: the new folder.")] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="With restore: let sinks take back what they have got since.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Copy the checkpoint of a job that runs or is stopped, list such copies, or make a checkpoint of one.

    A job that runs makes a short pause between two batches. A savepoint holds state, positions, and what the sinks have
    committed by then. A job that starts from one whose FileSink has got more since is refused, unless --undo says that
    those files may go.
    """
    from tidegate.spark.query.savepoint import list_savepoints, restore_savepoint, take_savepoint

    if what == "restore":
        if target is None:
            raise MisuseError(f"say where the checkpoint is to be: {_USAGE}")
        done = restore_savepoint(path, target, undoes=undo)
        typer.echo(f"{target}: as after batch {done.batch}; start the job with parallelism {done.parallelism}")
        return
    if target is not None or undo:
        raise MisuseError(f"that is for restore: {_USAGE}")
    if what == "list":
        if not (found := list_savepoints(path)):
            say(f"there are no savepoints in {path}")
        for known in found:
            taken = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(known.taken_at))
            typer.echo(
                f"{known.path}  {taken}  batch {known.batch}  parallelism {known.parallelism}  "
                f"{known.num_bytes / 1e6:.1f} MB  {'running' if known.was_running else 'stopped'}"
            )
        return
    taken_now = take_savepoint(Path(what), path)
    typer.echo(f"{taken_now.path}: batch {taken_now.batch}, {taken_now.num_bytes / 1e6:.1f} MB")
