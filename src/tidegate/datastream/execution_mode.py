"""PyFlink's `pyflink.datastream.execution_mode`."""

from __future__ import annotations

import enum


class RuntimeExecutionMode(enum.Enum):
    """How Flink would run a job; here a bounded input ends by itself, and every job is a stream."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
