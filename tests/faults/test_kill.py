"""The driver is killed at random moments; after restarts the files are those of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("TIDEGATE_FAULTS", "3"))
JOB = Path(__file__).with_name("job.py")
QUICK = 500
DRIPPING = 500
"""More than drip in a life of the longest patience: the source does not end before the last kill."""
ELEMENTS = (QUICK + DRIPPING) * (KILLS + 1)
LONGEST_WAIT = 2.0
PATIENCE = 240.0


class Driver:
    """The job in a process group of its own: Python and its JVM."""

    def __init__(self, runtime: str, quick: int, folder: Path) -> None:
        scratch = folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch)}
        arguments = [runtime, str(ELEMENTS), str(quick), str(folder / "checkpoint"), str(folder / "out")]
        self._log = (folder / "log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, str(JOB), *arguments],
            stdout=self._log,
            stderr=self._log,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        self._log.close()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """As `kill -9` of the group: nobody is asked."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def numbers(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("[0-9]*")}


def live_and_die(folder: Path, dice: random.Random) -> str:
    """Run until some batches are committed, and a random time after that. Returns where the crash was."""
    spool, query = folder / "checkpoint" / "spool", folder / "checkpoint" / "query"
    batches = dice.randrange(4)
    awaited, count = (query / "commits", batches) if batches else (spool, 1)
    known = numbers(awaited)
    with Driver("spark", QUICK, folder) as driver:
        deadline = time.monotonic() + PATIENCE
        while len(numbers(awaited) - known) < count:
            assert driver.is_running(), (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.01)
        time.sleep(dice.uniform(0, LONGEST_WAIT))
        assert driver.is_running(), (folder / "log").read_text()
    commits = numbers(query / "commits")
    return f"{'in' if numbers(query / 'offsets') - commits else 'after'} batch {len(commits)}"


def lines(folder: Path, name: str) -> Counter[str]:
    """What a reader sees, each line with how often it is there."""
    files = sorted((folder / "out" / name).glob("part-*.json"))
    return Counter(line for file in files for line in file.read_text(encoding="utf-8").splitlines())


def test_a_driver_killed_again_and_again_loses_nothing_and_writes_nothing_twice(tmp_path: Path) -> None:
    seed = int(os.environ.get("TIDEGATE_SEED", str(time.time_ns() % 100_000)))
    dice = random.Random(seed)
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    with Driver("local", -1, undisturbed) as driver:
        assert driver.wait() == 0, (undisturbed / "log").read_text()
    moments = [live_and_die(killed, dice) for _ in range(KILLS)]
    with Driver("spark", -1, killed) as driver:
        assert driver.wait() == 0, (killed / "log").read_text()
    for name in ("counts", "totals"):
        expected, found = lines(undisturbed, name), lines(killed, name)
        assert sum(expected.values()) > 10
        report = f"{name}: seed {seed}, killed after {moments}"
        assert not expected - found, f"lost, {report}: {sorted(expected - found)[:5]}"
        assert not found - expected, f"twice, {report}: {sorted(found - expected)[:5]}"
