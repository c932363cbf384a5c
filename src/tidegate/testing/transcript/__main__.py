"""Command line of the transcript runner."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from tidegate.testing.transcript.case import Case, Failure, TranscriptError, load_cases
from tidegate.testing.transcript.core_cases import CORE_KINDS, run_core_case

Executor = Callable[[Case], Failure | None]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tidegate.testing.transcript", description="Run conformance transcripts."
    )
    parser.add_argument("--on", choices=["core"], required=True, help="what executes the cases")
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    options = parser.parse_args(arguments)
    try:
        return run(options.paths)
    except TranscriptError as error:
        print(error, file=sys.stderr)
        return 2


def run(paths: Sequence[str]) -> int:
    passed = failed = skipped = 0
    for case in load_cases(paths):
        if case.kind not in CORE_KINDS:
            skipped += 1
            continue
        failure = run_core_case(case)
        if failure is None:
            passed += 1
        else:
            failed += 1
            print(
                f"{case.file}: {case.name}: step {failure.step}: expected {failure.expected}, got {failure.got}",
            )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
