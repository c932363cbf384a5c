"""The transcripts of programs, with another parallelism after every batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.testing.transcript import Case, load_cases
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.core_cases import CORE_KINDS
from tidegate.testing.transcript.local_cases import run_local_case

CASES = [case for case in load_cases([Path(__file__).parent]) if case.kind not in CORE_KINDS]


@pytest.mark.parametrize("parallelisms", [(2, 4, 1, 3), (1, 5)], ids=str)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_transcript_holds_with_another_parallelism_after_every_batch(case: Case, parallelisms: tuple[int, ...]) -> None:
    assert run_local_case(case, Batches.parse("each"), parallelisms) is None
