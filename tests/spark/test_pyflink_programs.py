"""PyFlink's programs on Spark give what they gave on Flink."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle_programs.compare import difference
from tests.oracle_programs.examples import Recorded, on_tidegate
from tests.oracle_programs.kinds import KINDS
from tests.oracle_programs.on_tidegate import run_on_spark
from tests.oracle_programs.recording import load

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["hourly_tips", "long_rides", "order_payments"])
def test_an_example_prints_what_it_printed_on_flink(spark: Any, name: str) -> None:
    assert on_tidegate(name, "spark") == Recorded.load()[name]


def test_random_programs_of_several_kinds_give_what_they_gave_on_flink(spark: Any) -> None:
    chosen = [result for result in load()[: len(KINDS) : 3] if result[0].parallel]
    given = run_on_spark(spark, [program for program, _ in chosen])
    differences = [
        f"{program.name}: {found}"
        for (program, expected), outputs in zip(chosen, given, strict=True)
        if (found := difference(program, expected, outputs)) is not None
    ]
    assert not differences, "\n".join(differences)
