"""Every version goes on from the state that versions before it have stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.formats.columns import BATCHES, WINDOWS, ColumnRun
from tests.formats.examples import CASES, FOLDER, HALF, case_name, load
from tests.formats.resident_cases import ResidentRun, Stored

VERSIONS = sorted(FOLDER.glob("*.zip"))


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda path: path.stem)
def kept(request: pytest.FixtureRequest) -> dict[str, Stored]:
    path: Path = request.param
    return load(path)


@pytest.mark.parametrize("kind", WINDOWS)
def test_windows_on_columns_go_on(kept: dict[str, Stored], kind: str) -> None:
    whole, first = ColumnRun(kind), ColumnRun(kind)
    rest = ColumnRun(kind, kept[f"columns/{kind}"])
    assert first.run(HALF) + rest.run(BATCHES) == whole.run(BATCHES)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_transcript_goes_on(kept: dict[str, Stored], case: Any) -> None:
    stored = kept.get(case_name(case))
    if stored is None:
        pytest.skip("the transcript is newer, or has nothing to go on from")
    assert ResidentRun(case, stored).run() is None


def test_most_examples_are_still_looked_at(kept: dict[str, Stored]) -> None:
    names = {case_name(case) for case in CASES}
    assert sum(name in names or name.startswith("columns/") for name in kept) >= 0.8 * len(kept)
