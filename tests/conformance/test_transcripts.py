"""The transcripts beside this file, on the core."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.testing.transcript import Case, load_cases
from tidegate.testing.transcript.core_cases import CORE_KINDS, run_core_case

_CASES = [case for case in load_cases([Path(__file__).parent]) if case.kind in CORE_KINDS]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.kind}: {case.name}") for case in _CASES])
def test_transcript_holds_on_the_core(case: Case) -> None:
    assert run_core_case(case) is None


def test_there_are_transcripts_of_every_core_kind() -> None:
    assert {case.kind for case in _CASES} == CORE_KINDS


def test_names_of_cases_are_unique_within_their_kind() -> None:
    names = [(case.kind, case.name) for case in _CASES]
    assert len(names) == len(set(names))
