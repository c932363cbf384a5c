"""A job in a process of its own, to be killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

PATIENCE = 240.0
LONGEST_WAIT = 2.0


class Driver:
    """A script in a process group of its own: Python and its JVM.

    Its last arguments are the folders of checkpoint and output. What it says is in `folder / "log"`.
    """

    def __init__(self, script: Path, arguments: Sequence[object], folder: Path) -> None:
        scratch = folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch)}
        self._folder = folder
        self._log = (folder / "log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, str(script), *map(str, arguments), str(folder / "checkpoint"), str(folder / "out")],
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

    def check_running(self) -> None:
        assert self._process.poll() is None, (self._folder / "log").read_text()

    def run_to_the_end(self) -> None:
        assert self._process.wait(PATIENCE) == 0, (self._folder / "log").read_text()

    def kill(self) -> None:
        """As `kill -9` of the group: nobody is asked."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def die_somewhere(self, dice: random.Random, other: Path) -> str:
        """Run until some batches are committed, and a random time after that. Returns where the crash was.

        It may be no batch but the next number in the folder `other`.
        """
        query = self._folder / "checkpoint" / "query"
        batches = dice.randrange(4)
        awaited, count = (query / "commits", batches) if batches else (other, 1)
        known = numbers(awaited)
        deadline = time.monotonic() + PATIENCE
        while len(numbers(awaited) - known) < count:
            self.check_running()
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.01)
        time.sleep(dice.uniform(0, LONGEST_WAIT))
        self.check_running()
        self.kill()
        commits = numbers(query / "commits")
        return f"{'in' if numbers(query / 'offsets') - commits else 'after'} batch {len(commits)}"


class Start(Protocol):
    """Starts a job in a folder; a slow one is not done before somebody kills it."""

    def __call__(self, runtime: str, folder: Path, *, is_slow: bool) -> Driver: ...


def numbers(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("[0-9]*")}


def lines(folder: Path, name: str) -> Counter[str]:
    """What a reader sees, each line with how often it is there."""
    files = sorted((folder / "out" / name).glob("part-*.json"))
    return Counter(line for file in files for line in file.read_text(encoding="utf-8").splitlines())


def check_survives(start: Start, folder: Path, *, kills: int, awaited: str, names: Sequence[str]) -> None:
    """What a job has written that was killed again and again must be what one wrote that was not.

    `awaited` is a folder of the checkpoint whose next number may be the moment, instead of a batch.
    """
    seed = int(os.environ.get("TIDEGATE_SEED", str(time.time_ns() % 100_000)))
    dice = random.Random(seed)
    killed, undisturbed = folder / "killed", folder / "undisturbed"
    with start("local", undisturbed, is_slow=False) as job:
        job.run_to_the_end()
    moments = []
    for _ in range(kills):
        with start("spark", killed, is_slow=True) as job:
            moments.append(job.die_somewhere(dice, killed / "checkpoint" / awaited))
    with start("spark", killed, is_slow=False) as job:
        job.run_to_the_end()
    for name in names:
        expected, found = lines(undisturbed, name), lines(killed, name)
        assert sum(expected.values()) > 10
        lost, surplus = sorted(expected - found), sorted(found - expected)
        assert not lost, f"{name}: seed {seed}, killed {moments}: lost {lost[:5]}, and has {surplus[:5]}"
        assert not surplus, f"{name}: seed {seed}, killed {moments}: twice, or not expected: {surplus[:5]}"
