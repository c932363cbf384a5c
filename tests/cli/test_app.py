"""The command itself: help, version, misuse, exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tidegate import __version__
from tidegate.cli.app import app, call, main


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("demo", "run", "plan", "doctor"):
        assert command in result.stdout


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert capsys.readouterr().out == f"tidegate {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["run"], "Missing argument"),
        (["run", "x.py", "--on", "flink"], "'--on'"),
        (["plan", "x.py", "--format", "svg"], "'--format'"),
        (["demo", "--seconds", "long"], "'--seconds'"),
        (["demo", "--seconds", "1"], "--seconds must be at least 3, got 1"),
        (["demo", "--dashboard"], "--dashboard is not in this version yet"),
        (["run", "no-such-program.py"], "there is no file no-such-program.py"),
        (["plan", "."], ". is a folder; give the program's file"),
        (["plan", "pyproject.toml"], "pyproject.toml is not a Python file"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_main_exits_with_the_code_of_the_command() -> None:
    with pytest.raises(SystemExit) as end:
        main(["demo", "--dashboard"])
    assert end.value.code == 2


def test_module_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "tidegate.cli", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("tidegate ")
