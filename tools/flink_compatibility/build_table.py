"""Write `docs/flink_compatibility.md`, from Tidegate's code and the list of PyFlink's names.

Run it from the root of the repository, after a change of the public names:

    .venv/bin/python -m tools.flink_compatibility.build_table

Every PyFlink class, method and argument is looked up in Tidegate. What the code cannot tell is in `verdicts.yaml`. If a
name is missing and nobody has said why, or if something said there is no longer true, nothing is written, the names are
listed and the exit code is 1. `--check` writes nothing and fails if the page is not up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.flink_compatibility import beyond, defects, differences, names, verdicts
from tools.flink_compatibility.comparison import Comparison
from tools.flink_compatibility.page import page

PAGE = Path(__file__).parents[2] / "docs" / "flink_compatibility.md"


class NotDecidedError(Exception):
    """Something about a name is not known, or no longer true."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def build() -> str:
    """The text of the page."""
    pyflink = names.load()
    comparison = Comparison(pyflink, verdicts.load())
    modules = comparison.run()
    hidden = verdicts.not_for_users()
    pinned = defects.load()
    measured = differences.load()
    pins = [*pinned, *(difference.pin for difference in measured)]
    problems = [*comparison.problems, *filter(None, (pin.problem() for pin in pins))]
    if problems:
        raise NotDecidedError(problems)
    new_names, new_members = beyond.new_names(pyflink, hidden), beyond.new_members(pyflink, hidden)
    return page(pyflink.version, modules, new_names, new_members, pinned, measured)


def main(arguments: Sequence[str]) -> int:
    try:
        text = build()
    except NotDecidedError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
        sys.stderr.write("say it in tools/flink_compatibility/verdicts.yaml\n")
        return 1
    if "--check" in arguments:
        is_current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        sys.stderr.write("" if is_current else f"{PAGE.name} is not up to date; run this without --check\n")
        return 0 if is_current else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
