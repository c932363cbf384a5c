"""`tidegate run`, on the local runtime."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.cli.app import call
from tidegate.cli.failures import MisuseError
from tidegate.cli.run import parse_settings, submit_arguments

WriteProgram = Callable[[str], Path]

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_program_runs_on_the_chosen_runtime(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("env.from_collection([1, 2]).map(lambda x: x * 10).print()\nenv.execute()\n")
    assert call(["run", str(path), "--on", "local"]) == 0
    assert capsys.readouterr().out == "10\n20\n"
    assert "TIDEGATE_RUNTIME" not in os.environ


def test_program_finds_its_arguments_and_its_neighbours(
    program: WriteProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "neighbour_of_program.py").write_text("NAME = 'neighbour'\n", encoding="utf-8")
    path = program(
        "import sys\nimport neighbour_of_program\nprint(sys.argv[1:], neighbour_of_program.NAME, __name__)\n"
    )
    assert call(["run", str(path), "--on", "local", "--", "a", "--b"]) == 0
    assert capsys.readouterr().out == "['a', '--b'] neighbour __main__\n"


def test_options_reach_the_program_through_the_environment(
    program: WriteProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["TIDEGATE_RUNTIME", "TIDEGATE_CHECKPOINT", "TIDEGATE_CONF", "PYSPARK_SUBMIT_ARGS"]
    path = program(f"import json, os\nprint(json.dumps([os.environ.get(name) for name in {names}]))\n")
    folder = tmp_path / "checkpoint"
    arguments = ["--on", "spark", "--checkpoint", str(folder), "--set", "spark.ui.enabled=true", "--set", "spark.a=b=c"]
    assert call(["run", str(path), *arguments]) == 0
    runtime, checkpoint, conf, submit = json.loads(capsys.readouterr().out)
    assert runtime == "spark"
    assert checkpoint == str(folder.resolve())
    assert json.loads(conf) == {"spark.ui.enabled": "true", "spark.a": "b=c"}
    assert submit == "--conf spark.ui.enabled=true --conf spark.a=b=c pyspark-shell"
    assert not [name for name in names if name in os.environ]


def test_options_that_are_not_given_leave_the_environment_alone(
    program: WriteProgram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGATE_RUNTIME", "local")
    path = program("env.from_collection([1]).print()\nenv.execute()\n")
    assert call(["run", str(path)]) == 0
    assert capsys.readouterr().out == "1\n"
    assert os.environ["TIDEGATE_RUNTIME"] == "local"


@pytest.mark.parametrize("given", [None, "python-of-the-user"])
def test_workers_run_the_python_of_the_command_unless_told_otherwise(
    program: WriteProgram, given: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if given is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", given)
    path = program("import os\nprint(os.environ['PYSPARK_PYTHON'])\n")
    assert call(["run", str(path)]) == 0
    assert capsys.readouterr().out == f"{given or sys.executable}\n"


@pytest.mark.parametrize("setting", ["spark.ui.enabled", "ui=1", " spark.a=1", "=1"])
def test_setting_that_is_none_is_refused(setting: str) -> None:
    with pytest.raises(MisuseError, match=r"--set takes spark\.NAME=VALUE"):
        parse_settings([setting])


def test_settings_keep_what_the_launcher_was_told_before() -> None:
    assert submit_arguments({"spark.a": "x y"}, "--jars a.jar pyspark-shell") == (
        "--conf 'spark.a=x y' --jars a.jar pyspark-shell"
    )


def test_spark_settings_on_the_local_runtime_are_refused(
    program: WriteProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["run", str(program("")), "--on", "local", "--set", "spark.a=1"]) == 2
    assert "--set is for the Spark session" in capsys.readouterr().err


def test_checkpoint_that_is_a_file_is_refused(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("")
    assert call(["run", str(path), "--checkpoint", str(path)]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err


def test_program_that_runs_nothing_is_told_so(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("import tidegate")
    assert call(["run", str(path), "--on", "local"]) == 0
    assert capsys.readouterr().err == (
        f"note: {path} never called execute(), so nothing ran; end it with env.execute()\n"
    )


def test_failing_program_is_told_with_its_line(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("def f():\n    return 1 // 0\nf()\n")
    assert call(["run", str(path), "--on", "local"]) == 1
    assert capsys.readouterr().err == (
        f"error: {path}:5: ZeroDivisionError: integer division or modulo by zero\n"
        "run it again with --debug for the traceback\n"
    )


def test_error_of_tidegate_is_told_as_it_is(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("env.execute()\n")
    assert call(["run", str(path), "--on", "local"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {path}:4: the program has no sink")


def test_program_that_is_not_python_is_told_with_its_line(
    program: WriteProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program("x = = 1\n")
    assert call(["run", str(path), "--on", "local"]) == 1
    error = capsys.readouterr().err
    assert ":4: SyntaxError: invalid syntax" in error
    assert error.count("\n") == 1


def test_debug_shows_the_traceback_of_the_program(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program("1 // 0\n")
    assert call(["run", str(path), "--on", "local", "--debug"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert "ProgramError" not in error


@pytest.mark.parametrize(("code", "expected"), [("3", 3), ("", 0), ("'bye'", 1)])
def test_program_chooses_its_exit_code(program: WriteProgram, code: str, expected: int) -> None:
    assert call(["run", str(program(f"import sys\nsys.exit({code})\n")), "--on", "local"]) == expected


def test_ctrl_c_stops_a_running_program_with_code_130(program: WriteProgram) -> None:
    path = program(
        "from tidegate.core.source.source import SourceFunction\n"
        "import time\n"
        "class Forever(SourceFunction):\n"
        "    is_cancelled = False\n"
        "    def run(self, ctx):\n"
        "        while not self.is_cancelled:\n"
        "            ctx.collect('tick')\n"
        "            time.sleep(0.05)\n"
        "    def cancel(self):\n"
        "        self.is_cancelled = True\n"
        "        print('cancelled', flush=True)\n"
        "env.add_source(Forever()).map(lambda x: print(x, flush=True)).print()\n"
        "env.execute()\n"
    )
    command = [sys.executable, "-m", "tidegate.cli", "run", str(path), "--on", "local"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "tick\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "cancelled" in output
    assert error == "stopped\n"


def test_word_count_example_runs_locally(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["run", str(EXAMPLES / "word_count.py"), "--on", "local"]) == 0
    lines = [line.split("> ")[1] for line in capsys.readouterr().out.splitlines()]
    assert lines.count("('to', 4)") == 1
    assert lines.count("('to', 2)") == 1
