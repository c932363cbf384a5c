"""`tidegate plan`: the stages, and that nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.cli.app import call
from tidegate.datastream import StreamExecutionEnvironment

WriteProgram = Callable[[str], Path]

JOB = """
def boom(x):
    raise SystemError("this ran")
counts = env.from_collection([1, 2]).map(boom).key_by(lambda x: x).reduce(lambda a, b: a + b)
counts.print()
"""


def test_plan_as_text_shows_the_stages(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["plan", str(program(JOB + "env.execute('sums')\n"))]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("job 'sums'\nstage 0\n  collection")
    assert "parallelism 2\n    <- map boom by key\n" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    "ending", ["env.execute()", "env.execute_async().wait()", "list(counts.execute_and_collect())"]
)
def test_nothing_runs_however_the_program_starts_it(
    program: WriteProgram, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["plan", str(program(JOB + ending + "\n"))]) == 0
    assert "stage 1" in capsys.readouterr().out


def test_plan_as_json_holds_nothing_else(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program(
        JOB + "print('building')\nenv.execute('one')\nenv.from_collection([1]).print()\nenv.execute('two')\n"
    )
    assert call(["plan", str(path), "--format", "json"]) == 0
    captured = capsys.readouterr()
    jobs = json.loads(captured.out)["jobs"]
    assert [(job["name"], len(job["stages"])) for job in jobs] == [("one", 3), ("two", 2)]
    assert captured.err == "building\n"


def test_plan_as_mermaid_is_a_flowchart(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["plan", str(program(JOB + "env.execute('sums')\n")), "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("%% sums\nflowchart LR\n")


def test_program_that_never_executes_is_told_so(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    path = program(JOB)
    assert call(["plan", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"error: {path} never called execute() or to_dataframe(), so there is no plan; end it with env.execute()\n"
    )


def test_program_that_fails_for_want_of_results_still_has_a_plan(
    program: WriteProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program(JOB + "next(counts.execute_and_collect())\n")
    assert call(["plan", str(path)]) == 0
    captured = capsys.readouterr()
    assert "stage 1" in captured.out
    assert "note: nothing ran, so the program had no results" in captured.err


def test_program_that_ends_itself_still_has_a_plan(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["plan", str(program(JOB + "env.execute()\nraise SystemExit(3)\n"))]) == 0
    assert "stage 1" in capsys.readouterr().out


def test_program_that_fails_before_execute_is_an_error(
    program: WriteProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["plan", str(program("1 // 0\n"))]) == 1
    assert ":4: ZeroDivisionError" in capsys.readouterr().err


def test_programs_run_again_after_a_plan(program: WriteProgram, capsys: pytest.CaptureFixture[str]) -> None:
    call(["plan", str(program(JOB + "env.execute()\n"))])
    capsys.readouterr()
    env = StreamExecutionEnvironment.get_execution_environment(runtime="local")
    env.from_collection([7]).print()
    env.execute()
    assert capsys.readouterr().out == "7\n"


@pytest.mark.spark
def test_program_whose_only_end_is_a_frame_has_a_plan_and_explains_itself(
    program: WriteProgram, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program(
        "from tidegate.common import Types\n"
        "stream = env.from_collection([('a', 1)], Types.TUPLE([Types.STRING(), Types.INT()]))\n"
        "pairs = stream.key_by(0).sum(1)\n"
        "pairs.map(lambda pair: pair, Types.ROW_NAMED(['k', 'n'], [Types.STRING(), Types.INT()])).to_dataframe()\n"
        "print(env.explain())\n"
    )
    assert call(["plan", str(path)]) == 0
    captured = capsys.readouterr()
    assert "stage 1" in captured.out
    assert "to_dataframe" in captured.out
    assert "stage 1" in captured.err
