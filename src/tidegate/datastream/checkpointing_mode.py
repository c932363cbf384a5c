"""PyFlink's `pyflink.datastream.checkpointing_mode`."""

from __future__ import annotations

import enum


class CheckpointingMode(enum.Enum):
    """How often an element may count after a failure. State is exactly-once here, whatever is chosen."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
