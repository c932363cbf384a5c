"""Compare Tidegate's core with Flink's own classes on fresh random scripts.

    python -m tests.oracle.run --environment .venv-oracle

The seed is printed; the same seed gives the same scripts. A difference that no known reason explains is made smaller,
printed and fails the run. `--record` keeps the first scripts of every kind, with Flink's results, for `make test`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.oracle import recording
from tests.oracle.checks import CHECKS
from tests.oracle.comparison import Check, Difference, Tally
from tests.oracle.flink import Flink, compile_shim, find_jar
from tests.oracle.known_differences import KNOWN
from tests.oracle.script import Results, Script
from tests.oracle.scripts import KINDS, random_scripts
from tests.oracle.shrinking import shrunk

SHOWN = 3
"""Differences printed for each check."""


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.oracle.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--environment", type=Path, required=True, help="a virtual environment with apache-flink")
    parser.add_argument("--seed", type=int, default=None, help="take the scripts of an earlier run")
    parser.add_argument("--scripts", type=int, default=10_000, help="scripts of each kind")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="only this kind; may be repeated")
    parser.add_argument("--record", type=int, metavar="N", default=0, help="keep N scripts of each kind with results")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    started = time.monotonic()
    say(f"seed {seed}, {options.scripts} scripts of each kind")
    jar = find_jar(options.environment)
    tallies: list[Tally] = []
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        compile_shim(jar, Path(folder))
        with Flink(jar, Path(folder)) as flink:
            wrong += no_longer_so(flink)
            for kind in options.kind or KINDS:
                scripts = list(random_scripts(kind, seed, options.scripts))
                recorded = list(zip(scripts, flink.run(scripts), strict=True))
                if options.record:
                    recording.write(kind, itertools.islice(recorded, options.record))
                tallies += [compare(check, recorded, flink) for check in CHECKS if check.kind == kind]
    say(table(tallies))
    unexplained = sum(len(tally.differences) for tally in tallies)
    say(f"{len(KNOWN)} smallest scripts of known differences, {wrong} of them wrong")
    say(f"{unexplained} unexplained differences, {time.monotonic() - started:.0f} seconds, {jar.name}")
    return 1 if unexplained or wrong else 0


def no_longer_so(flink: Flink) -> int:
    """How many of the differences that are written down are not what Flink does."""
    wrong = 0
    for known in KNOWN:
        [results] = flink.run([known.script])
        if results != known.flink:
            wrong += 1
            say(f"{known.name}: Flink gives {results}, written down is {known.flink}, for {known.script}\n")
    return wrong


def compare(check: Check, recorded: Iterable[tuple[Script, Results]], flink: Flink) -> Tally:
    tally = Tally(check).take(recorded)
    for difference in tally.differences[:SHOWN]:
        say(f"{check.kind}: {check.name}\n{smallest(check, difference, flink)}\n")
    return tally


def smallest(check: Check, difference: Difference, flink: Flink) -> Difference:
    """The same kind of difference, unexplained, in as few steps as can be found."""

    def found(script: Script) -> Difference | None:
        [results] = flink.run([script])
        again = check.first_difference(script, results)
        return again if again is not None and check.explain(again) is None else None

    return found(shrunk(difference.script, lambda script: found(script) is not None)) or difference


def table(tallies: Iterable[Tally]) -> str:
    rows = [("Flink's class", "Tidegate's", "scripts", "steps alike", "explained", "differences")]
    for tally in tallies:
        explained = ", ".join(f"{name} {count}" for name, count in sorted(tally.explained.items())) or "0"
        counts = (str(tally.scripts), str(tally.steps), explained, str(len(tally.differences)))
        rows.append((tally.check.kind, tally.check.name, *counts))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
