"""The transcripts of windows whose function is an aggregate, through the operators on columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidegate.core.aggregate.combined import CombinedAggregate
from tidegate.core.aggregate.totals import Count, Max, Min, Sum
from tidegate.core.columnar.columnar_operator import ColumnarOperator
from tidegate.core.columnar.columnar_windows import ColumnarSpec, is_columnar
from tidegate.core.window.window_functions import AggregatedContents
from tidegate.core.window.window_operator import WindowOperator, WindowSpec
from tidegate.testing.transcript import Case, load_cases
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.functions import Fold
from tidegate.testing.transcript.local_cases import run_local_case

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
AGGREGATES = {"sum": Sum("v"), "count": Count(), "min": Min("v"), "max": Max("v")}
CASES = [case for case in load_cases([Path(__file__).parent]) if "window" in case.fields.get("operator", {})]


class Result:
    """The rows that the transcripts expect."""

    def make_row(self, values: tuple[Any, ...]) -> dict[str, Any]:
        key, start, end, value = values
        return {"k": key, "v": value, "w": [start, end]}


def on_columns(spec: WindowSpec) -> ColumnarSpec | None:
    """The same window on columns, if it has a form there."""
    function = getattr(spec.contents, "function", None)
    if not isinstance(function, Fold) or function._how not in AGGREGATES:
        return None
    contents = AggregatedContents(CombinedAggregate({"v": AGGREGATES[function._how]}))
    # The function is set behind the back of the check, which knows only those of the program.
    columns = replace(spec, contents=contents, function=None)
    object.__setattr__(columns, "function", Result())
    return ColumnarSpec(columns, ("k",), SCHEMA) if is_columnar(columns, ("k",), SCHEMA) else None


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[ColumnarSpec]:
    """Lets windows run on columns; which ones did. Every element is taken in at once, so that it has its own step."""
    found: list[ColumnarSpec] = []
    create, share = WindowSpec.create, WindowSpec.share_own
    accept = ColumnarOperator._accept

    def create_columnar(spec: WindowSpec) -> WindowOperator | ColumnarOperator:
        columns = on_columns(spec)
        if columns is None:
            return create(spec)
        found.append(columns)
        return columns.create()

    def accept_at_once(operator: ColumnarOperator, key: Any, value: Any, timestamp: int | None) -> None:
        accept(operator, key, value, timestamp)
        operator.flush()

    def share_columnar(spec: WindowSpec, *arguments: Any) -> list[Any]:
        columns = on_columns(spec)
        return share(spec, *arguments) if columns is None else columns.share_own(*arguments)

    monkeypatch.setattr(WindowSpec, "share_own", share_columnar)
    monkeypatch.setattr(WindowSpec, "create", create_columnar)
    monkeypatch.setattr(ColumnarOperator, "_accept", accept_at_once)
    return found


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_transcript_holds_on_columns(case: Case, used: list[ColumnarSpec]) -> None:
    failure = run_local_case(case, Batches.parse("one"))
    if not used:
        pytest.skip("this window has no form on columns")
    assert failure is None


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_transcript_holds_on_columns_with_another_parallelism_after_every_batch(
    case: Case, used: list[ColumnarSpec]
) -> None:
    failure = run_local_case(case, Batches.parse("each"), (2, 4, 1, 3))
    if not used:
        pytest.skip("this window has no form on columns")
    assert failure is None


def test_many_transcripts_have_a_form_on_columns(used: list[ColumnarSpec]) -> None:
    for case in CASES:
        run_local_case(case, Batches.parse("one"))
    assert len({id(spec.window.assigner) for spec in used}) > 20
