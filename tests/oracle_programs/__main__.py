"""Runs fresh random programs, and the programs of the examples, on Flink and on Tidegate, and compares.

`make oracle-programs` calls it. It ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from tests.oracle_programs import examples, recording
from tests.oracle_programs.compare import difference
from tests.oracle_programs.generate import programs
from tests.oracle_programs.known_differences import KNOWN
from tests.oracle_programs.on_flink import Flink
from tests.oracle_programs.on_tidegate import run_locally, run_on_spark
from tests.oracle_programs.program import Program
from tests.oracle_programs.running import Outputs
from tests.oracle_programs.tally import Tally

TOGETHER = {"thread": 50, "process": 20}
SPARK_TOGETHER = 10


def main() -> int:
    options = _options()
    console = Console()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    console.print(f"{options.count} programs from seed {seed} on")
    tally = Tally(console)
    started = time.monotonic()
    results = _on_flink(options.flink_python, list(programs(seed, options.count)), console)
    if options.record and results:
        recording.save(results, seed)
        console.print(f"Recorded {recording.RECORDED.stat().st_size / 1000:.0f} kB")
    for program, expected in results:
        for parallelism in (1, 3) if program.parallel else (1,):
            tally.add(f"local, parallelism {parallelism}", program, _compared(program, expected, parallelism))
    _known_differences(options.flink_python, tally)
    _spark([result for result in results if result[0].parallel][: options.spark], tally)
    printed = examples.compare(Flink(options.flink_python), tally, with_spark=options.spark > 0)
    if options.record:
        examples.Recorded.save(printed)
    tally.show()
    console.print(f"Seed {seed}, {time.monotonic() - started:.0f} s")
    return 1 if tally.differences else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flink-python", required=True, help="the interpreter that has PyFlink")
    parser.add_argument("--count", type=int, default=520, help="how many random programs; 0 for the examples alone")
    parser.add_argument("--seed", type=int, help="the first one's seed; another one each time if left out")
    parser.add_argument("--spark", type=int, default=20, help="how many of them run on Spark too")
    parser.add_argument("--record", action="store_true", help="keep what Flink gave for the tests")
    return parser.parse_args()


def _on_flink(python: str, drawn: Sequence[Program], console: Console) -> list[tuple[Program, Outputs]]:
    found = {}
    for mode, together in TOGETHER.items():
        chosen = [program for program in drawn if program.mode == mode]
        console.print(f"{len(chosen)} on Flink with Python by {mode}, {together} in a job ...")
        started = time.monotonic()
        for program, outputs in Flink(python, mode).run(chosen, together):
            found[program.seed] = outputs
        console.print(f"... {time.monotonic() - started:.0f} s")
    return [(program, found[program.seed]) for program in drawn]


def _compared(program: Program, expected: Outputs, parallelism: int) -> str | None:
    return _or_failure(lambda: difference(program, expected, run_locally(program, parallelism)))


def _known_differences(python: str, tally: Tally) -> None:
    """Whether Flink still does what is written down."""
    for mode in TOGETHER:
        chosen = [known for known in KNOWN if known.program.mode == mode]
        answers = Flink(python, mode).run([known.program for known in chosen], len(chosen))
        for known, (_, outputs) in zip(chosen, answers, strict=True):
            given = {name: [tuple(result) for result in results] for name, results in outputs.items()}
            tally.count("Flink", "known difference", known.name, None if given == known.flink else f"gives {given}")


def _spark(results: Sequence[tuple[Program, Outputs]], tally: Tally) -> None:
    if not results:
        return
    from tidegate.spark.query.session import get_session

    # Workers find the classes of the seam by name.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH", "")]))
    session = get_session(None, 2)
    for start in range(0, len(results), SPARK_TOGETHER):
        batch = results[start : start + SPARK_TOGETHER]
        given = run_on_spark(session, [program for program, _ in batch])
        for (program, expected), outputs in zip(batch, given, strict=True):
            tally.add("Spark", program, difference(program, expected, outputs))


def _or_failure(compare: Callable[[], str | None]) -> str | None:
    try:
        return compare()
    except Exception as error:
        return f"failed: {error!r}"


if __name__ == "__main__":
    raise SystemExit(main())
