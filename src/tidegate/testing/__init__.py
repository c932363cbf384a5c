"""Tools for testing programs that run on event time; no Spark needed."""

from tidegate.core.watermark.records import Record, Watermark, WatermarkStatus
from tidegate.testing.clock import ManualClock
from tidegate.testing.harness import OneInputHarness, TwoInputHarness
from tidegate.testing.manual_source import ManualSource

__all__ = [
    "ManualClock",
    "ManualSource",
    "OneInputHarness",
    "Record",
    "TwoInputHarness",
    "Watermark",
    "WatermarkStatus",
]
