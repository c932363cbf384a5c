"""Runs a campaign of faults: `python -m tests.faults.campaign [--faults N] [--seed S] [--only TEXT]`.

Every fault comes at a random moment into a job that runs, or to one that has stopped. Each job must end with exactly
the answer that is computed from its whole input, and every fault be survived or told by an error of ours. The seed that
is printed gives the same campaign again, but for what the machine decides.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cluster.standalone import standalone_cluster
from tests.faults.campaign.episode import Below, Episode, Victims
from tests.faults.campaign.kinds import NOTHING, Kind, SilentError, all_kinds, kill_executor

PER_EPISODE = 12
EXECUTORS = 10


def chosen(dice: random.Random, faults: int | None, only: str, below: Below) -> list[tuple[str, Kind]]:
    """The faults of a campaign in random order; with a number, so many of them, of as many kinds as can be."""
    kinds = [
        (name, kind, count)
        for name, kind, count in all_kinds(has_below=below.is_there, has_cluster=False)
        if only in name
    ]
    every = [(name, kind) for name, kind, count in kinds for _ in range(count)]
    dice.shuffle(every)
    if faults is not None:
        first = [(name, kind) for name, kind, _ in kinds]
        dice.shuffle(first)
        every = (first + every * (faults // max(len(every), 1) + 1))[:faults]
    return every


def run_episode(episode: Episode, faults: list[tuple[str, Kind]], counted: Counter[str]) -> list[str]:
    """Do this to one job, and count what happened. Returns what is wrong."""
    done: list[str] = []
    for name, kind in faults:
        began = time.monotonic()
        try:
            told = kind(episode)
        except SilentError as error:
            episode.below.reset()
            episode.forget_process()
            return [f"{name}: {error}, after {done}"]
        done.append(f"{name}: {told}")
        counted[name] += not told.startswith(NOTHING)
        sys.stdout.write(f"  {name}: {told} ({time.monotonic() - began:.1f} s)\n")
        sys.stdout.flush()
        episode.below.reset()
    result = episode.finish()
    if result["status"] != "done":
        return [f"the job cannot end: {result}, after {done}"]
    return [f"{difference}, after {done}" for difference in episode.differences()]


class Campaign:
    """Jobs one after the other, and some at once: what was done to them, and what is wrong."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._seed = seed
        self._lock = threading.Lock()
        self.counted: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, number: int, faults: list[tuple[str, Kind]], victims: Victims) -> None:
        folder = self._root / f"job-{number}"
        counted: Counter[str] = Counter()
        found = run_episode(Episode(folder, random.Random(f"{self._seed} {number}"), victims), faults, counted)
        with self._lock:
            self.counted += counted
            self.wrong += [f"job {number}: {sentence}" for sentence in found]
        sys.stdout.write("".join([f"WRONG {sentence}\n" for sentence in found]) or f"job {number} is right\n")
        if not found:
            shutil.rmtree(folder, ignore_errors=True)

    def run_all(self, faults: list[tuple[str, Kind]], at_once: int, below: Sequence[Below]) -> None:
        """Share the jobs out among so many processes."""
        jobs = [faults[start : start + PER_EPISODE] for start in range(0, len(faults), PER_EPISODE)]
        waiting = list(enumerate(jobs))

        def work(index: int) -> None:
            victims = Victims(self._root / f"victims-{index}", below[index])
            try:
                while True:
                    with self._lock:
                        if not waiting:
                            return
                        number, some = waiting.pop(0)
                    self.run(number, some, victims)
            finally:
                victims.forget()

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(work, range(at_once)))

    def run_on_cluster(self, below: Below) -> None:
        with standalone_cluster(self._root / "cluster") as master:
            victims = Victims(self._root / "cluster", below, master)
            try:
                self.run(-1, [("kill -9 of an executor", kill_executor)] * EXECUTORS, victims)
            finally:
                victims.forget()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, help="how many; without it as many as the kinds ask for")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("--only", default="", help="kinds whose name holds this text")
    parser.add_argument("--at-once", type=int, default=2, help="how many jobs run at once")
    parser.add_argument("--no-cluster", action="store_true", help="leave out what needs a standalone cluster")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tidegate-faults-"))
    below = [Below(root / f"below-{index}") for index in range(options.at_once)]
    faults = chosen(random.Random(options.seed), options.faults, options.only, below[0])
    sys.stdout.write(f"seed {options.seed}: {len(faults)} faults\n")
    campaign = Campaign(root, options.seed)
    campaign.run_all(faults, options.at_once, below)
    if not options.no_cluster and options.faults is None and options.only in "kill -9 of an executor":
        campaign.run_on_cluster(below[0])
    counted, wrong = campaign.counted, campaign.wrong
    for name, count in sorted(counted.items()):
        sys.stdout.write(f"{count:4d}  {name}\n")
    sys.stdout.write(
        f"{counted.total()} faults, {len(wrong)} jobs lost, repeated or hid something; seed {options.seed}\n"
    )
    if wrong:
        sys.exit(f"see {root}")
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
