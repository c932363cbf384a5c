"""The programs of `examples/pyflink_programs` print on Tidegate what they printed on Flink."""

from __future__ import annotations

import pytest
from tests.oracle_programs.examples import NAMES, Recorded, on_tidegate


def test_there_are_twelve() -> None:
    assert len(NAMES) == 12
    assert all(Recorded.load().values())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_it_printed_on_flink(name: str) -> None:
    assert on_tidegate(name, "local") == Recorded.load()[name]
