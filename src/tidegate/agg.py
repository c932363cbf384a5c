"""Built-in aggregates for `WindowedStream.agg`: `from tidegate import agg`, then `agg.sum("amount")`."""

from __future__ import annotations

from tidegate.core.function import aggregates as _aggregates
from tidegate.core.function.aggregates import Aggregate
from tidegate.core.function.fields import Field

__all__ = [
    "collect_list",
    "count",
    "count_distinct",
    "first",
    "last",
    "max",
    "max_by",
    "mean",
    "min",
    "min_by",
    "stddev",
    "sum",
]


def count(field: Field | None = None) -> Aggregate:
    """How many elements, or how many whose field is not None."""
    return _aggregates.Count(field)


def sum(field: Field) -> Aggregate:  # noqa: A001
    return _aggregates.Sum(field)


def min(field: Field) -> Aggregate:  # noqa: A001
    return _aggregates.Min(field)


def max(field: Field) -> Aggregate:  # noqa: A001
    return _aggregates.Max(field)


def mean(field: Field) -> Aggregate:
    return _aggregates.Mean(field)


def first(field: Field) -> Aggregate:
    """The field of the element that arrived first."""
    return _aggregates.First(field)


def last(field: Field) -> Aggregate:
    """The field of the element that arrived last."""
    return _aggregates.Last(field)


def min_by(field: Field, by: Field) -> Aggregate:
    """`field` of the element with the lowest `by`."""
    return _aggregates.MinBy(field, by)


def max_by(field: Field, by: Field) -> Aggregate:
    """`field` of the element with the highest `by`."""
    return _aggregates.MaxBy(field, by)


def count_distinct(field: Field) -> Aggregate:
    return _aggregates.CountDistinct(field)


def collect_list(field: Field) -> Aggregate:
    """All values of the field, in arrival order."""
    return _aggregates.CollectList(field)


def stddev(field: Field) -> Aggregate:
    """Standard deviation of a sample; None for fewer than two values."""
    return _aggregates.Stddev(field)
