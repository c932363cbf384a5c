"""What the code cannot tell by itself: `verdicts.yaml`."""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

VERDICTS_FILE = Path(__file__).with_name("verdicts.yaml")


class Answer(enum.Enum):
    YES = "yes"
    DIFFERS = "differs"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: Answer
    remark: str


@dataclass(slots=True)
class Verdicts:
    """Verdicts by path without `pyflink.`; a `*` stands for any text. The longest pattern that fits decides.

    A pattern with a `*` says `no` only about names that are missing, so that it may span names that are there.
    """

    by_pattern: dict[str, Verdict]
    used: set[str] = field(default_factory=set)

    def of_existing(self, path: str) -> Verdict | None:
        """What is said about a name that the code has."""
        return self._best(path, lambda pattern, verdict: "*" not in pattern or verdict.answer is not Answer.NO)

    def of_missing(self, path: str) -> Verdict | None:
        """Why a name is missing."""
        return self._best(path, lambda pattern, verdict: verdict.answer is not Answer.YES)

    def unused(self) -> list[str]:
        return [pattern for pattern in self.by_pattern if pattern not in self.used]

    def _best(self, path: str, may_apply: Callable[[str, Verdict], bool]) -> Verdict | None:
        name = path.removeprefix("pyflink.")
        fitting = [
            pattern
            for pattern, verdict in self.by_pattern.items()
            if fnmatch.fnmatchcase(name, pattern) and may_apply(pattern, verdict)
        ]
        if not fitting:
            return None
        best = max(fitting, key=lambda pattern: (pattern == name, len(pattern), pattern))
        self.used.add(best)
        return self.by_pattern[best]


def load() -> Verdicts:
    data = yaml.safe_load(VERDICTS_FILE.read_text(encoding="utf-8"))
    return Verdicts({pattern: _verdict(pattern, entry) for pattern, entry in data["verdicts"].items()})


def not_for_users() -> tuple[str, ...]:
    """Patterns of public names, `Name` or `Class.member`, that Tidegate's own runtimes use."""
    data = yaml.safe_load(VERDICTS_FILE.read_text(encoding="utf-8"))
    return tuple(data["not_for_users"])


def _verdict(pattern: str, entry: Any) -> Verdict:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError(
            f"{VERDICTS_FILE.name}: {pattern}: expected one of yes, differs, no with a text, got {entry!r}"
        )
    [(answer, remark)] = entry.items()
    # YAML reads a bare `yes` or `no` as a truth value.
    word = {True: "yes", False: "no"}.get(answer, answer) if isinstance(answer, bool) else answer
    return Verdict(Answer(word), str(remark))
