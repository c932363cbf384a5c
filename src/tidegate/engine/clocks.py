"""The clocks of a machine. Only those who run a job read them: operators are handed one."""

from __future__ import annotations

import time


def wall_clock() -> int:
    """Processing time: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def real_clock() -> int:
    """Milliseconds that pass evenly, whoever sets the time of the machine: how long something took."""
    return time.monotonic_ns() // 1_000_000
