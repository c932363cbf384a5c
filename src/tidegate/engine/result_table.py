"""A stream whose elements leave a program as columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A stream that leaves as columns: its name, the number of its sink in the plan, and its columns as DDL."""

    name: str
    number: int
    columns: str
