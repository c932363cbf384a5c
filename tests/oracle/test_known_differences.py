"""The deliberate differences from Flink are as they are written down, and are all written down."""

from __future__ import annotations

import pytest
from tests.oracle import recording
from tests.oracle.checks import CHECKS
from tests.oracle.comparison import Check
from tests.oracle.known_differences import KNOWN, Known
from tests.oracle.script import run
from tools.flink_compatibility import differences

WRITTEN_DOWN = {difference.name for difference in differences.load()}


def check_of(known: Known) -> Check:
    [check] = [c for c in CHECKS if (c.kind, c.name) == (known.script["kind"], known.check)]
    return check


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.name}: {known.script['kind']}")
def test_tidegate_does_what_is_written_down(known: Known) -> None:
    assert run(check_of(known).create, known.script) == known.tidegate


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.name}: {known.script['kind']}")
def test_the_difference_is_recognised(known: Known) -> None:
    check = check_of(known)
    difference = check.first_difference(known.script, known.flink)
    assert difference is not None
    assert check.explain(difference) == known.name


def test_every_difference_has_a_script_and_a_line_on_the_page() -> None:
    assert {known.name for known in KNOWN} == WRITTEN_DOWN


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.kind}: {check.name}")
def test_every_explanation_is_on_the_page(check: Check) -> None:
    assert set(recording.compared(check).explained) <= WRITTEN_DOWN


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.kind}: {check.name}")
def test_most_recorded_scripts_run_to_their_end(check: Check) -> None:
    """An explanation ends its script; if that were the rule the rest would not be compared at all."""
    tally = recording.compared(check)
    assert tally.explained.total() < tally.scripts / 3
