"""Tidegate's core does what Flink's own classes did when `make oracle-parts` last recorded them."""

from __future__ import annotations

import pytest
from tests.oracle import recording
from tests.oracle.checks import CHECKS
from tests.oracle.comparison import Check
from tests.oracle.scripts import KINDS

FEWEST = 500
"""Scripts of every kind that must have been recorded."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.kind}: {check.name}")
def test_same_as_flink(check: Check) -> None:
    tally = recording.compared(check)
    assert tally.scripts >= FEWEST
    assert not tally.differences, f"{len(tally.differences)} differences, the first of them:\n{tally.differences[0]}"


def test_every_kind_is_recorded_and_compared() -> None:
    assert {check.kind for check in CHECKS} == set(KINDS)
    assert sorted(path.name for path in recording.FOLDER.iterdir()) == sorted(f"{kind}.jsonl.xz" for kind in KINDS)


def test_recorded_results_stay_small() -> None:
    assert sum(path.stat().st_size for path in recording.FOLDER.iterdir()) < 1_500_000
