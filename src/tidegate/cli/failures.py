"""Errors for people: one or two lines that say what to do, a traceback only with `--debug`."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from tidegate.errors import TidegateError

FAILURE: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


class ProgramError(Exception):
    """A program of the user raised; the cause is chained, and `path` is the program's file."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class MisuseError(Exception):
    """A command was called in a way that cannot work."""


class FailureError(Exception):
    """A command could not do what it was asked to."""


def say(text: str) -> None:
    """A line for people, which does not mix with what the program writes."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def fail(text: str, code: int) -> NoReturn:
    say(f"error: {text}")
    raise typer.Exit(code)


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Makes an exception of a command a message and an exit code. The command has a `debug` option."""

    @functools.wraps(command)
    def reporting(*args: Any, **kwargs: Any) -> None:
        debug = bool(kwargs.get("debug"))
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, SystemExit):
            raise
        except KeyboardInterrupt:
            say("stopped")
            raise typer.Exit(INTERRUPTED) from None
        except MisuseError as error:
            fail(str(error), MISUSE)
        except Exception as error:
            if debug:
                traceback.print_exception(error.__cause__ if isinstance(error, ProgramError) else error)
                raise typer.Exit(FAILURE) from None
            fail(describe(error), FAILURE)

    return reporting


def describe(error: BaseException) -> str:
    """An error in one or two lines."""
    if isinstance(error, ProgramError) and error.__cause__ is not None:
        return _describe_in_program(error.__cause__, error.path)
    if isinstance(error, TidegateError | FailureError):
        return str(error)
    return f"{type(error).__name__}: {_first_line(error)}\nrun it again with --debug to see where"


def _describe_in_program(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{_short(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    line = line_in(error, path)
    place = str(path) if line is None else f"{path}:{line}"
    if isinstance(error, TidegateError):
        return f"{place}: {error}"
    return f"{place}: {type(error).__name__}: {_first_line(error)}\nrun it again with --debug for the traceback"


def line_in(error: BaseException, path: Path) -> int | None:
    """The last line of the program on the way to the error."""
    here = str(path.resolve())
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if str(Path(frame.filename).resolve()) == here]
    return lines[-1] if lines else None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _short(filename: str) -> str:
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except ValueError:
        return filename
