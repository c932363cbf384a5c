"""Which lines of Spark's reach the user's stderr; no JVM."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import subprocess, time
from tidegate.spark.query.noise import quiet_children
with quiet_children():
    child = subprocess.Popen(["sh", "-c", "cat >&2; sleep 0.1"], stdin=subprocess.PIPE)
child.communicate({text!r}.encode())
time.sleep(0.3)
"""

CHATTER = [
    "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties",
    'Setting Spark log level to "ERROR".',
    "26/01/01 10:00:00 WARN ProcessingTimeExecutor: Current batch is falling behind.",
    "Starting Streaming TransformWithStateInPandas Python worker.",
    "",
]
NEWS = ["what a user's function printed", "26/01/01 10:00:00 ERROR Executor: Exception in task 0.0"]


def test_chatter_is_dropped_and_news_arrive() -> None:
    text = "".join(f"{line}\n" for line in [*CHATTER, *NEWS, *CHATTER])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(text=text)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.splitlines() == NEWS
