"""Keeps Spark's chatter away from users: what the JVM and its workers say on stderr, without the lines nobody needs."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import Final

_CHATTER: Final = re.compile(
    rb"""^\s*$
    |\ WARN\ |\ INFO\ |^WARNING:
    |^Using\ (incubator\ modules|Spark's\ default\ log4j)
    |^Setting\ (default|Spark)\ log\ level
    |^To\ adjust\ logging\ level
    |^(Starting\ )?Streaming\ (TransformWithState|ForeachBatch|DataSource|Python)
    |^\[Stage\ """,
    re.VERBOSE,
)


@contextlib.contextmanager
def quiet_children() -> Iterator[None]:
    """Whoever is started in here has its stderr read by a thread that passes on all but the chatter.

    What user functions print on the workers of a local Spark still arrives.
    """
    read_end, write_end = os.pipe()
    ours = os.dup(2)
    os.dup2(write_end, 2)
    os.close(write_end)
    threading.Thread(target=_pass_on, args=(read_end, ours), name="tidegate stderr", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(ours, 2)


def _pass_on(read_end: int, target: int) -> None:
    with os.fdopen(read_end, "rb") as lines:
        for line in lines:
            if not _CHATTER.search(line):
                with contextlib.suppress(OSError):
                    os.write(target, line)
