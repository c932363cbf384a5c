"""A difference is shown in as few steps as it needs."""

from __future__ import annotations

import doctest

from tests.oracle import shrinking
from tests.oracle.comparison import Check
from tests.oracle.script import Script, Step
from tests.oracle.scripts import KINDS, random_scripts
from tests.oracle.shrinking import shrunk


class Counting:
    """Counts its steps, and loses one at every 7."""

    def __init__(self, script: Script) -> None:
        self.count = 0

    def step(self, step: Step) -> int:
        self.count += step[0] != 7
        return self.count


def test_a_script_keeps_only_the_steps_that_matter() -> None:
    def differs(script: Script) -> bool:
        flink = list(range(1, len(script["steps"]) + 1))
        return Check("counting", "none", Counting).first_difference(script, flink) is not None

    assert shrunk({"steps": [[n] for n in range(20)]}, differs) == {"steps": [[7]]}


def test_examples_run() -> None:
    assert doctest.testmod(shrinking).attempted


def test_a_difference_is_shown_with_the_steps_before_it() -> None:
    script = {"kind": "counting", "size": 2, "steps": [[1], [7], [2]]}
    difference = Check("counting", "none", Counting).first_difference(script, [1, 2, 3])
    assert str(difference) == (
        "{'kind': 'counting', 'size': 2}\n  [1]\n  [7]   <-- differs\n    Flink    2\n    Tidegate 1"
    )


def test_a_seed_gives_the_same_scripts_again() -> None:
    for kind in KINDS:
        assert list(random_scripts(kind, 3, 20)) == list(random_scripts(kind, 3, 20))
        assert list(random_scripts(kind, 3, 20)) != list(random_scripts(kind, 4, 20))
