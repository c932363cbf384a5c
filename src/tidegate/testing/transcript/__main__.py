"""Command line of the transcript runner."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tidegate.errors import TidegateError
from tidegate.testing.transcript.batches import Batches
from tidegate.testing.transcript.case import Case, Failure, TranscriptError, load_cases
from tidegate.testing.transcript.core_cases import CORE_KINDS, run_core_case
from tidegate.testing.transcript.local_cases import run_local_case


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tidegate.testing.transcript", description="Run conformance transcripts."
    )
    parser.add_argument("--on", choices=["core", "local", "spark"], required=True, help="what executes the cases")
    parser.add_argument("--batches", default="one", metavar="one|each|random:SEED", help="how a script is cut")
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    options = parser.parse_args(arguments)
    try:
        return run(options.paths, options.on, Batches.parse(options.batches))
    except TidegateError as error:
        print(error, file=sys.stderr)
        return 2


def run(paths: Sequence[str], executor: str, batches: Batches) -> int:
    cases = list(load_cases(paths))
    chosen = [case for case in cases if _runs_on(case, executor)]
    if executor == "spark":
        from tidegate.testing.transcript.spark_cases import run_spark_cases

        failures = run_spark_cases(chosen, batches)
    else:
        failures = [run_case(case, batches) for case in chosen]
    for case, failure in zip(chosen, failures, strict=True):
        if failure is not None:
            print(f"{case.file}: {case.name}: step {failure.step}: expected {failure.expected}, got {failure.got}")
    failed = sum(failure is not None for failure in failures)
    print(f"{len(chosen) - failed} passed, {failed} failed, {len(cases) - len(chosen)} skipped")
    return 1 if failed else 0


def _runs_on(case: Case, executor: str) -> bool:
    if executor == "core":
        return case.kind in CORE_KINDS
    if executor == "spark":
        return case.kind == "pipeline" and case.fields.get("spark", True) is not False
    return True


def run_case(case: Case, batches: Batches) -> Failure | None:
    """Run a case in process, on the core alone where its kind allows it."""
    try:
        return run_core_case(case) if case.kind in CORE_KINDS else run_local_case(case, batches)
    except TranscriptError:
        raise
    except Exception as error:
        raise case.error(f"{type(error).__name__}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
