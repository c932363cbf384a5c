"""What the code cannot tell by itself: `verdicts.yaml`."""

from __future__ import annotations

import enum
import fnmatch
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
    """Verdicts by path without `pyflink.`; a `*` stands for any text. The longest pattern that fits decides."""

    by_pattern: dict[str, Verdict]
    used: set[str] = field(default_factory=set)

    def exact(self, path: str) -> Verdict | None:
        """The verdict that names this path."""
        name = path.removeprefix("pyflink.")
        if name in self.by_pattern:
            self.used.add(name)
        return self.by_pattern.get(name)

    def fitting(self, path: str) -> Verdict | None:
        """The verdict that names this path or has a pattern for it."""
        name = path.removeprefix("pyflink.")
        fitting = [pattern for pattern in self.by_pattern if fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            return None
        best = max(fitting, key=lambda pattern: (pattern == name, len(pattern), pattern))
        self.used.add(best)
        return self.by_pattern[best]

    def unused(self) -> list[str]:
        return [pattern for pattern in self.by_pattern if pattern not in self.used]


def load() -> Verdicts:
    data = yaml.safe_load(VERDICTS_FILE.read_text(encoding="utf-8"))
    return Verdicts({pattern: _verdict(pattern, entry) for pattern, entry in data.items()})


def _verdict(pattern: str, entry: Any) -> Verdict:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError(f"{VERDICTS_FILE.name}: {pattern}: expected one of yes, differs, no with a text, got {entry!r}")
    [(answer, remark)] = entry.items()
    # YAML reads a bare `yes` or `no` as a truth value.
    word = {True: "yes", False: "no"}.get(answer, answer) if isinstance(answer, bool) else answer
    return Verdict(Answer(word), str(remark))
