"""PyFlink's `pyflink.datastream.externalized_checkpoint_retention`."""

from __future__ import annotations

import enum


class ExternalizedCheckpointRetention(enum.Enum):
    """What becomes of a checkpoint when its job is cancelled. Here it stays until its folder is deleted."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
