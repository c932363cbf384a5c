"""Comparing what came out with what a case expects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """A result, and the step that caused it."""

    step: int
    fields: dict[str, Any]


def matches(expected: Sequence[dict[str, Any]], got: Sequence[Outcome], *, ordered: bool) -> bool:
    """Whether the results are the expected ones.

    Ordered: one by one. Otherwise the results of one cause may come in any order, and those of an earlier cause come
    before those of a later one.
    """
    if len(expected) != len(got):
        return False
    if ordered:
        return all(_fits(want, have.fields) for want, have in zip(expected, got, strict=True))
    position = 0
    for _, group in groupby(got, key=lambda outcome: outcome.step):
        outcomes = [outcome.fields for outcome in group]
        if not _same_multiset(expected[position : position + len(outcomes)], outcomes):
            return False
        position += len(outcomes)
    return True


def _same_multiset(expected: Sequence[dict[str, Any]], got: list[dict[str, Any]]) -> bool:
    """Whether each expected item has a result of its own. An item names only the fields that it checks."""
    if not expected:
        return not got
    first, rest = expected[0], expected[1:]
    for index, have in enumerate(got):
        if _fits(first, have) and _same_multiset(rest, got[:index] + got[index + 1 :]):
            return True
    return False


def _fits(want: dict[str, Any], have: dict[str, Any]) -> bool:
    return all(name in have and have[name] == value for name, value in want.items())
