"""Ctrl-C on a job on Spark: it stops cleanly, nothing stays behind, and a restart goes on, with the same key only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).with_name("interrupted.py")
ELEMENTS = 3_000
KEY = "what is kept is signed in these runs"
PATIENCE = 240.0


def start(folder: Path, millis: int, key: str | None = KEY) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidegate.cli", "run", str(PROGRAM), "--on", "spark"]
    arguments = ["--checkpoint", str(folder / "checkpoint"), "--", str(folder / "out"), str(ELEMENTS), str(millis)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TIDEGATE_", "PYSPARK_"))}
    if key is not None:
        environment["TIDEGATE_CHECKPOINT_KEY"] = key
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def left_behind(session: int) -> list[str]:
    """The processes of a session that still run: a JVM and its Python workers are in that of their driver."""
    listed = subprocess.run(["ps", "-A", "-o", "sess=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [row[-1] for row in rows if row[0] == str(session) and not row[1].startswith("Z")]


def written(folder: Path) -> int:
    return sum(json.loads(line)[1] for path in folder.glob("[!.]*") for line in path.read_text().splitlines())


def test_ctrl_c_stops_a_job_on_spark_and_a_restart_goes_on(tmp_path: Path) -> None:
    process = start(tmp_path, millis=50)
    deadline = time.monotonic() + PATIENCE
    try:
        while not (tmp_path / "out").exists() or written(tmp_path / "out") == 0:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # As a terminal does it: everybody in the foreground hears it, not only the driver.
        os.killpg(process.pid, signal.SIGINT)
        output, error = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, error
    assert "Traceback" not in output
    assert error.splitlines() == ["stopped"]
    before = written(tmp_path / "out")
    assert 0 < before < ELEMENTS
    while remaining := left_behind(process.pid):
        assert time.monotonic() < deadline, remaining
        time.sleep(0.2)

    for key, why in (
        (None, "is signed, and TIDEGATE_CHECKPOINT_KEY is not set here"),
        ("x" * 16, "was not signed with"),
    ):
        process = start(tmp_path, millis=0, key=key)
        output, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert why in error

    process = start(tmp_path, millis=0)
    output, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, error
    assert written(tmp_path / "out") == ELEMENTS
