"""Built-in aggregates for `WindowedStream.agg`: `from tidegate import agg`, then `agg.sum("amount")`."""

# What a module of aggregates exports is a function of `agg`: a new one is written in one place.
from tidegate.core.aggregate import choices, collections, totals
from tidegate.core.aggregate.choices import *  # noqa: F403
from tidegate.core.aggregate.collections import *  # noqa: F403
from tidegate.core.aggregate.totals import *  # noqa: F403

__all__ = choices.__all__ + collections.__all__ + totals.__all__
