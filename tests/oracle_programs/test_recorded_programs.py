"""Tidegate gives what Flink gave, for every recorded random program, with any parallelism."""

from __future__ import annotations

from collections import Counter

from tests.oracle_programs.compare import difference
from tests.oracle_programs.generate import generate
from tests.oracle_programs.kinds import KINDS
from tests.oracle_programs.on_tidegate import run_locally
from tests.oracle_programs.program import Program
from tests.oracle_programs.recording import load
from tests.oracle_programs.running import Outputs


def test_recorded_programs_give_what_flink_gave() -> None:
    differences = []
    for program, outputs in load():
        parallelism = 1 + program.seed % 3 if program.parallel else 1
        found = difference(program, outputs, run_locally(program, parallelism))
        if found is not None:
            differences.append(f"{program.name}, parallelism {parallelism}: {found}")
    assert not differences, "\n".join(differences)


def test_there_are_enough_recorded_programs_of_every_kind() -> None:
    recorded = load()
    kinds = Counter(program.kind for program, _ in recorded)
    assert len(recorded) >= 500
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 20


def test_what_was_recorded_is_not_empty() -> None:
    outputs = Counter[str]()
    for _, by_name in load():
        outputs.update({name: len(results) for name, results in by_name.items()})
    assert outputs["main"] > 5_000
    assert outputs["late"] > 500
    assert outputs["side"] > 500


def test_a_seed_always_gives_the_same_program() -> None:
    assert generate(1234) == generate(1234)
    assert generate(1234) != generate(1234 + len(KINDS))


# That the comparison can fail


A_PROGRAM = Program(0, "tumbling", "", ordered=("main",), unstamped=("side",))


def test_a_lost_result_is_a_difference() -> None:
    expected: Outputs = {"main": [(["a", 1], 5), (["a", 1], 5)]}
    assert difference(A_PROGRAM, expected, {"main": [(["a", 1], 5)]}) == "main: missing [\"(['a', 1], 5)\"], surplus []"
    assert difference(A_PROGRAM, expected, {"main": [(("a", 1), 5), (("a", 1), 5)]}) is None


def test_another_timestamp_is_a_difference_unless_it_is_not_compared() -> None:
    found = difference(A_PROGRAM, {"main": [(["a"], 5)]}, {"main": [(["a"], 6)]})
    assert found is not None
    assert found.startswith("main: missing")
    assert difference(A_PROGRAM, {"side": [(["a"], 5)]}, {"side": [(["a"], 6)]}) is None


def test_the_order_within_a_key_is_compared() -> None:
    expected: Outputs = {"main": [(["a", 1], 5), (["b", 1], 5), (["a", 2], 5)]}
    assert difference(A_PROGRAM, expected, {"main": [(["b", 1], 5), (["a", 1], 5), (["a", 2], 5)]}) is None
    found = difference(A_PROGRAM, expected, {"main": [(["a", 2], 5), (["a", 1], 5), (["b", 1], 5)]})
    assert found is not None
    assert found.startswith("main: order of key a")


def test_a_missing_output_is_a_difference() -> None:
    assert difference(A_PROGRAM, {"main": [], "late": []}, {"main": []}) == "outputs ['late', 'main'], but ['main']"
