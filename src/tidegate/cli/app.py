"""The `tidegate` command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tidegate import __version__
from tidegate.cli.demo import demo
from tidegate.cli.doctor import doctor
from tidegate.cli.failures import FAILURE, INTERRUPTED, say
from tidegate.cli.plan import plan
from tidegate.cli.rescale import rescale
from tidegate.cli.run import run
from tidegate.cli.savepoint import savepoint

app = typer.Typer(
    name="tidegate",
    help="Flink-grade event time for Apache Spark, in Python.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"tidegate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Flink-grade event time for Apache Spark, in Python."""


app.command()(demo)
app.command()(run)
app.command()(plan)
app.command()(doctor)
app.command()(rescale)
app.command()(savepoint)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code: 0, 1 after a failure, 2 after misuse, 130 after Ctrl-C."""
    # A shell that starts a command in the background makes it ignore interrupts; a job must be stoppable there too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run a command. Returns its exit code; misuse is told in one line."""
    try:
        code = app(list(arguments), prog_name="tidegate", standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return _code_of(end)
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        return INTERRUPTED
    except Exception as error:
        # What typer raises for a command line that it cannot read; its class has no public name in all versions.
        text = getattr(error, "format_message", None)
        if text is None:
            raise
        message = str(text())
        if message:
            say(f"error: {message} (see: tidegate --help)")
        return int(getattr(error, "exit_code", FAILURE))
    return code if isinstance(code, int) else 0


def _code_of(end: SystemExit) -> int:
    """The exit code that Python itself would use."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    say(str(end.code))
    return FAILURE
