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
import time
from collections import Counter
from pathlib import Path

from tests.cluster.standalone import standalone_cluster
from tests.faults.campaign.episode import Below, Episode, Victims
from tests.faults.campaign.kinds import NOTHING, Kind, SilentError, all_kinds, kill_executor

PER_EPISODE = 12


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, help="how many; without it as many as the kinds ask for")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("--only", default="", help="kinds whose name holds this text")
    parser.add_argument("--no-cluster", action="store_true", help="leave out what needs a standalone cluster")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tidegate-faults-"))
    below = Below(root)
    faults = chosen(random.Random(options.seed), options.faults, options.only, below)
    sys.stdout.write(f"seed {options.seed}: {len(faults)} faults\n")
    counted: Counter[str] = Counter()
    wrong: list[str] = []

    def run(number: int, some: list[tuple[str, Kind]], victims: Victims) -> None:
        sys.stdout.write(f"job {number}\n")
        folder = root / f"job-{number}"
        episode = Episode(folder, random.Random(f"{options.seed} {number}"), victims)
        found = run_episode(episode, some, counted)
        wrong.extend(f"job {number}: {sentence}" for sentence in found)
        for sentence in found:
            sys.stdout.write(f"WRONG {sentence}\n")
        if not found:
            shutil.rmtree(folder)

    starts = range(0, len(faults), PER_EPISODE)
    victims = Victims(root, below)
    try:
        for number, start in enumerate(starts):
            run(number, faults[start : start + PER_EPISODE], victims)
    finally:
        victims.forget()
    if not options.no_cluster and options.faults is None and options.only in "kill -9 of an executor":
        with standalone_cluster(root / "cluster") as master:
            victims = Victims(root / "cluster", below, master)
            try:
                run(len(starts), [("kill -9 of an executor", kill_executor)] * 10, victims)
            finally:
                victims.forget()
    for name, count in sorted(counted.items()):
        sys.stdout.write(f"{count:4d}  {name}\n")
    sys.stdout.write(
        f"{counted.total()} faults, {len(wrong)} jobs lost, repeated or hid something; seed {options.seed}\n"
    )
    if wrong:
        sys.exit(f"see {root}")
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
