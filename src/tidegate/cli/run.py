"""`tidegate run`: a program, on the runtime and with the settings that the command line chooses."""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from tidegate.cli.failures import Debug, MisuseError, reports_errors, say
from tidegate.cli.interception import counting_jobs
from tidegate.cli.live import live_table
from tidegate.cli.program import ProgramArguments, ProgramPath, check_file, environment, run_program

CHECKPOINT_VARIABLE: Final = "TIDEGATE_CHECKPOINT"
"""Where programs that name no checkpoint keep theirs."""
CONF_VARIABLE: Final = "TIDEGATE_CONF"
"""Settings of the Spark session that Tidegate starts, as a JSON object."""
RUNTIME_VARIABLE: Final = "TIDEGATE_RUNTIME"


class RuntimeName(StrEnum):
    SPARK = "spark"
    LOCAL = "local"


@reports_errors
def run(
    file: ProgramPath,
    arguments: ProgramArguments = None,
    on: Annotated[
        RuntimeName | None, typer.Option("--on", help="The runtime, for programs that do not choose one.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="DIR", help="Keep state here, and go on from it.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="CONF=VALUE", help="A setting of the Spark session; may be given repeatedly."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Run a program.

    What the program itself chooses counts more than these options. Ctrl-C stops it cleanly.
    """
    check_file(file)
    if checkpoint is not None and checkpoint.exists() and not checkpoint.is_dir():
        raise MisuseError(f"--checkpoint {checkpoint} is a file; give a folder, which is made if it does not exist")
    conf = parse_settings(settings or ())
    if conf and on is RuntimeName.LOCAL:
        raise MisuseError("--set is for the Spark session, which --on local does not have; leave one of them out")
    variables = {
        RUNTIME_VARIABLE: None if on is None else on.value,
        CHECKPOINT_VARIABLE: None if checkpoint is None else str(checkpoint.resolve()),
        CONF_VARIABLE: json.dumps(conf) if conf else None,
        "PYSPARK_SUBMIT_ARGS": submit_arguments(conf, os.environ.get("PYSPARK_SUBMIT_ARGS")) if conf else None,
        # Workers of a session that the program makes itself run the Python of this command, which has Tidegate.
        "PYSPARK_PYTHON": None if "PYSPARK_PYTHON" in os.environ else sys.executable,
    }
    if not debug:
        # It writes a traceback for every call that fails, and for one that a stop interrupts; errors are told once.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with environment(variables), live_table(), counting_jobs() as count:
        run_program(file, arguments or ())
    if not count():
        say(f"note: {file} never called execute(), so nothing ran; end it with env.execute()")


def parse_settings(settings: list[str] | tuple[str, ...]) -> dict[str, str]:
    """`spark.name=value` texts as a dict."""
    conf: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.startswith("spark.") or name != name.strip():
            raise MisuseError(f"--set takes spark.NAME=VALUE, such as spark.driver.memory=2g; got {setting!r}")
        conf[name] = value
    return conf


def submit_arguments(conf: dict[str, str], before: str | None) -> str:
    """The settings for PySpark's launcher, which hands them to sessions that the program makes itself."""
    options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    return f"{shlex.join(options)} {before or 'pyspark-shell'}"
