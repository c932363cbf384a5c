"""The transcript runner as people call it: what it prints, and how it exits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegate.testing.transcript.__main__ import main

VALVE = """
- name: two channels
  kind: valve
  channels: 2
  steps:
    - wm: [0, 25]
    - expect: []
    - wm: [1, 10]
    - expect: [10]
    - idle: 1
    - expect: [25]
"""

PIPELINE = """
- name: a window
  kind: pipeline
  operator: {window: {tumbling: 10}, function: sum}
  steps:
    - el: {k: a, v: 1, ts: 5}
    - expect: []
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[[str], Outcome]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the text of one file, `cases.yaml`, on the core."""

    def run_text(text: str) -> Outcome:
        file = tmp_path / "cases.yaml"
        file.write_text(text, encoding="utf-8")
        return call(capsys, str(file))

    return run_text


def call(capsys: pytest.CaptureFixture[str], *paths: str) -> Outcome:
    code = main(["--on", "core", *paths])
    printed = capsys.readouterr()
    return Outcome(code, printed.out, printed.err)


def generator(strategy: str, *steps: str) -> str:
    lines = "\n".join(f"    - {step}" for step in steps)
    return f"- name: one\n  kind: generator\n  strategy: {strategy}\n  steps:\n{lines}\n"


def valve(*steps: str, fields: str = "channels: 2") -> str:
    lines = "\n".join(f"    - {step}" for step in steps)
    return f"- name: one\n  kind: valve\n  {fields}\n  steps:\n{lines}\n"


# Success and failure


def test_passing_cases_exit_0_with_a_summary(run: Run) -> None:
    assert run(VALVE) == (0, "1 passed, 0 failed, 0 skipped\n", "")


def test_cases_that_need_more_than_the_core_are_skipped(run: Run) -> None:
    assert run(VALVE + PIPELINE) == (0, "1 passed, 0 failed, 1 skipped\n", "")


def test_a_failing_case_exits_1_and_says_where_what_was_expected_and_what_came(run: Run) -> None:
    assert run(VALVE.replace("expect: [10]", "expect: [11]")) == (
        1,
        "cases.yaml: two channels: step 4: expected [11], got [10]\n0 passed, 1 failed, 0 skipped\n",
        "",
    )


def test_every_failing_case_has_one_line_and_the_rest_still_run(run: Run) -> None:
    broken = VALVE.replace("expect: [10]", "expect: [11]").replace("expect: [25]", "expect: []")
    outcome = run(broken + VALVE + VALVE.replace("expect: [25]", "expect: [idle]").replace("two channels", "three"))
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "cases.yaml: two channels: step 4: expected [11], got [10]",
        "cases.yaml: three: step 6: expected ['idle'], got [25]",
        "1 passed, 2 failed, 0 skipped",
    ]


def test_a_failing_order_of_watermark_and_status_is_shown(run: Run) -> None:
    outcome = run(valve("wm: [0, 5]", "idle: 1", "idle: 0", "expect: [idle, 5]"))
    assert outcome.out.splitlines()[0] == "cases.yaml: one: step 4: expected ['idle', 5], got [5, 'idle']"


def test_the_end_of_time_is_shown_by_its_name(run: Run) -> None:
    outcome = run(valve("wm: [0, max]", "wm: [1, max]", "expect: []"))
    assert outcome.out.splitlines()[0] == "cases.yaml: one: step 3: expected [], got ['max']"


def test_timestamps_that_were_assigned_are_compared(run: Run) -> None:
    outcome = run(generator("{ingestion: 100}", "tick: 150", "event: 1", "expect_ts: [151]"))
    assert outcome == (1, "cases.yaml: one: step 3: expected [151], got [150]\n0 passed, 1 failed, 0 skipped\n", "")


def test_a_folder_is_searched_for_yaml_files_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.yaml").write_text(VALVE.replace("[10]", "[11]"), encoding="utf-8")
    (tmp_path / "a.yml").write_text(VALVE.replace("[10]", "[12]"), encoding="utf-8")
    (tmp_path / "sub" / "c.yaml").write_text(VALVE, encoding="utf-8")
    (tmp_path / "README.md").write_text("not a transcript", encoding="utf-8")
    outcome = call(capsys, str(tmp_path))
    assert outcome.out.splitlines() == [
        "a.yml: two channels: step 4: expected [12], got [10]",
        "b.yaml: two channels: step 4: expected [11], got [10]",
        "1 passed, 2 failed, 0 skipped",
    ]


def test_several_paths_are_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(VALVE, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(VALVE, encoding="utf-8")
    outcome = call(capsys, str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert outcome == (0, "2 passed, 0 failed, 0 skipped\n", "")


def test_the_transcripts_of_this_repository_pass(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, str(Path(__file__).parents[1] / "conformance"))
    assert (outcome.code, outcome.err) == (0, "")
    assert " 0 failed, " in outcome.out


# Every kind of step


@pytest.mark.parametrize(
    "text",
    [
        valve("wm: [0, 25]", "wm: [1, 10]", "expect: [10]", fields="channels: 2\n  rules: flink-2.3"),
        valve("wm: [0, min]", "idle: 1", "active: 1", "expect: []"),
        VALVE.replace("valve", "combine").replace("channels: 2", "inputs: 2"),
        generator("{bounded: 10}", "event: 1337", "tick: 200", "upstream: {wm: 42}", "expect: [1326]"),
        generator("{ascending: true}", "event: 5", "upstream: {idle: true}", "tick: 1", "expect: [4]"),
        generator("{none: true}", "event: 5", "tick: 1", "upstream: {wm: max}", "expect: [max]"),
        generator(
            "{punctuated: true, idleness: 10}", "event: 5", "tick: 1", "tick: 2", "tick: 13", "expect: [5, idle]"
        ),
        generator("{ingestion: 100}", "upstream: {idle: true}", "upstream: {active: true}", "expect: [idle]"),
    ],
)
def test_every_kind_of_case_and_step_is_understood(run: Run, text: str) -> None:
    assert run(text) == (0, "1 passed, 0 failed, 0 skipped\n", "")


# Files it cannot understand


UNKNOWN_FIELDS = [
    (
        VALVE.replace("channels: 2", "channels: 2\n  color: red"),
        "cases.yaml: two channels: case: unknown field 'color'; known are channels, kind, name, rules, steps",
    ),
    (
        valve("jump: 1"),
        "cases.yaml: one: step 1: unknown field 'jump'; known are active, expect, idle, wm",
    ),
    (
        valve("expect: []", "{wm: [0, 1], at: 5}"),
        "cases.yaml: one: step 2: unknown field 'at'; known are active, expect, idle, wm",
    ),
    (
        generator("{bounded: 10, jitter: 3}", "tick: 1"),
        "cases.yaml: one: strategy: unknown field 'jitter'; known are ascending, bounded, idleness, ingestion, "
        "none, punctuated",
    ),
    (
        generator("{bounded: 10}", "upstream: {end: true}"),
        "cases.yaml: one: step 1: upstream: unknown field 'end'; known are active, idle, wm",
    ),
    (
        PIPELINE.replace("operator", "parallelism: 3\n  operator"),
        "cases.yaml: a window: case: unknown field 'parallelism'; known are",
    ),
]


@pytest.mark.parametrize(("text", "message"), UNKNOWN_FIELDS, ids=[message for _, message in UNKNOWN_FIELDS])
def test_an_unknown_field_exits_2_and_is_named_with_file_and_case(run: Run, text: str, message: str) -> None:
    outcome = run(text)
    assert outcome.code == 2
    assert outcome.err.startswith(message)
    assert "passed" not in outcome.out


@pytest.mark.parametrize(("kind", "shown"), [("windmill", "'windmill'"), ("[valve]", "['valve']"), ("", "None")])
def test_an_unknown_kind_exits_2_and_names_the_known_ones(run: Run, kind: str, shown: str) -> None:
    outcome = run(VALVE.replace("kind: valve", f"kind: {kind}"))
    assert (outcome.code, outcome.err) == (
        2,
        f"cases.yaml: two channels: unknown kind {shown}; known are valve, combine, generator, pipeline\n",
    )


NO_TRANSCRIPTS = [
    ("- {name: [", "not YAML: "),
    ("", "expected a list of cases"),
    ("name: one", "expected a list of cases"),
    ("- 5", "case 1: expected fields, got 5"),
    ("- kind: valve\n  channels: 1\n  steps: []", "case 1: has no name"),
    ("- name: one\n  kind: valve\n  channels: 1", "one: steps: expected a list of actions"),
    ("- name: one\n  kind: valve\n  channels: 1\n  steps: 5", "one: steps: expected a list of actions"),
    (valve("5"), "one: steps: expected a list of actions"),
    ("- name: one\n  kind: valve\n  steps: []", "one: has no channels"),
    ("- name: one\n  kind: combine\n  steps: []", "one: has no inputs"),
    (valve("expect: []", fields="channels: two"), "one: channels: expected an integer, got 'two'"),
    (valve("expect: []", fields="channels: -1"), "one: a valve takes a number of channels of 0 or more, got -1"),
    (
        valve("expect: []", fields="channels: 1\n  rules: best"),
        "one: rules must be one of fixed, flink-2.3, got 'best'",
    ),
    (valve("{}"), "one: step 1: expected one action, got none"),
    (valve("{idle: 0, active: 0}"), "one: step 1: expected one action, got idle, active"),
    (valve("wm: 5"), "one: step 1: wm: expected [channel, watermark], got 5"),
    (valve("wm: [0]"), "one: step 1: wm: expected [channel, watermark], got [0]"),
    (valve("wm: [0, soon]"), "one: step 1: wm: expected "),
    (valve("wm: [0, 1.5]"), "one: step 1: wm: expected "),
    (valve("wm: [0, 9223372036854775808]"), "one: step 1: "),
    (valve("wm: [2, 5]"), "one: step 1: the valve has no channel 2; it has 0 to 1"),
    (valve("expect: []", "idle: 2"), "one: step 2: the valve has no channel 2; it has 0 to 1"),
    (valve("idle: true"), "one: step 1: "),
    (valve("wm: [true, 5]"), "one: step 1: "),
    (valve("expect: 5"), "one: step 1: expect: expected a list, got 5"),
    (valve("expect: [soon]"), "one: step 1: expect: expected "),
    (valve("expect: [{wm: 5}]"), "one: step 1: expect: expected "),
    (valve("expect: [[5]]"), "one: step 1: expect: expected "),
    ("- name: one\n  kind: generator\n  steps: []", "one: strategy: expected fields, got None"),
    (generator("{}", "tick: 1"), "one: strategy: expected one of ascending, bounded, ingestion, none, punctuated"),
    (generator("{bounded: 1, none: true}", "tick: 1"), "one: strategy: expected one of ascending, bounded,"),
    (generator("{bounded: true}", "tick: 1"), "one: strategy: bounded: expected an integer, got True"),
    (generator("{bounded: -1}", "tick: 1"), "one: strategy: "),
    (generator("{ascending: true, idleness: 0}", "tick: 1"), "one: strategy: idle timeout must be longer than 0"),
    (generator("{ingestion: 0}", "tick: 1"), "one: strategy: ingestion time needs an auto-watermark interval"),
    (generator("{bounded: 1}", "event: soon"), "one: step 1: event: expected "),
    (generator("{bounded: 1}", "event: 9223372036854775808"), "one: step 1: "),
    (generator("{bounded: 1}", "tick: 5", "tick: 4"), "one: step 2: tick: processing time does not go back"),
    (generator("{bounded: 1}", "tick: max"), "one: step 1: tick: expected an integer, got 'max'"),
    (generator("{bounded: 1}", "upstream: 5"), "one: step 1: upstream: expected fields, got 5"),
    (generator("{bounded: 1}", "upstream: {}"), "one: step 1: upstream: expected one of wm, idle, active, got {}"),
    (generator("{bounded: 1}", "upstream: {wm: -9223372036854775809}"), "one: step 1: "),
    (generator("{bounded: 1}", "expect_ts: 5"), "one: step 1: expect_ts: expected a list, got 5"),
]


@pytest.mark.parametrize(("text", "message"), NO_TRANSCRIPTS, ids=[message for _, message in NO_TRANSCRIPTS])
def test_a_file_that_is_no_transcript_exits_2_and_says_where(run: Run, text: str, message: str) -> None:
    outcome = run(text)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.split(":")[0].endswith("cases.yaml")
    assert "passed" not in outcome.out


def test_a_file_that_is_not_text_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cases.yaml"
    file.write_bytes(b"\xff\xfe\xfa")
    outcome = call(capsys, str(file))
    assert outcome.code == 2
    assert outcome.err.startswith(f"{file}: not YAML: ")


def test_a_missing_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.yaml"
    assert call(capsys, str(missing)) == (2, "", f"{missing}: no such file or folder\n")


def test_a_folder_without_transcripts_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, str(tmp_path)) == (2, "", f"{tmp_path}: no .yaml files in this folder\n")


# Misuse


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cases.yaml"], "the following arguments are required: --on"),
        (["--on", "core"], "the following arguments are required: FILE_OR_FOLDER"),
        (["--on", "mars", "cases.yaml"], "argument --on: invalid choice: 'mars'"),
    ],
)
def test_misuse_exits_2_with_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
