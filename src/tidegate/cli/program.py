"""A program file of the user, run as Python would run it."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.failures import MisuseError, ProgramError

ProgramPath = Annotated[Path, typer.Argument(metavar="FILE.py", help="The program, which calls execute() itself.")]
ProgramArguments = Annotated[
    list[str] | None, typer.Argument(metavar="[ARGS]...", help="What the program finds in sys.argv; put -- before.")
]


def run_program(path: Path, arguments: Sequence[str] = ()) -> None:
    """Run the file as `__main__`; what it raises becomes a `ProgramError`."""
    check_file(path)
    with _as_main(path, arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise ProgramError(path) from error


def check_file(path: Path) -> None:
    """Refuse what is not a Python file."""
    if not path.exists():
        raise MisuseError(f"there is no file {path}")
    if path.is_dir():
        raise MisuseError(f"{path} is a folder; give the program's file")
    if path.suffix != ".py":
        raise MisuseError(f"{path} is not a Python file; a program's name ends in .py")


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables for a while; those that are None stay as they are."""
    given = {name: value for name, value in variables.items() if value is not None}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """`sys.argv` and the first entry of `sys.path` as `python FILE.py ARGS` sets them."""
    argv, folder = sys.argv, str(path.resolve().parent)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv = argv
        if folder in sys.path:
            sys.path.remove(folder)
