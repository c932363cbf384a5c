"""PyFlink's `RuntimeExecutionMode`; accepted, since a bounded input ends by itself here."""

from __future__ import annotations

import enum


class RuntimeExecutionMode(enum.Enum):
    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
