"""Tools for testing programs that run on event time; no Spark needed."""

from tidegate.testing.clock import ManualClock

__all__ = ["ManualClock"]
