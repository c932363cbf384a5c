"""Flink's results against Tidegate's: equal, different for a reason that is written down, or different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.oracle.script import Part, Results, Script, run


class Difference(NamedTuple):
    """The first step whose results are not the same."""

    script: Script
    at: int
    flink: Any
    tidegate: Any

    @property
    def step(self) -> Any:
        return self.script["steps"][self.at]

    @property
    def before(self) -> list[Any]:
        return list(self.script["steps"][: self.at])

    def __str__(self) -> str:
        settings = {name: value for name, value in self.script.items() if name != "steps"}
        lines = [f"{settings}", *(f"  {step}" for step in self.before), f"  {self.step}   <-- differs"]
        return "\n".join([*lines, f"    Flink    {self.flink}", f"    Tidegate {self.tidegate}"])


Explanation = Callable[[Difference], str | None]
"""The name of the deliberate difference, as in `differences.yaml`; None if it is none."""


def unexplained(difference: Difference) -> str | None:
    return None


def unchanged(script: Script, results: Results) -> Results:
    return results


@dataclass(frozen=True, slots=True)
class Check:
    """Compares one of Tidegate's classes with Flink's on the scripts of a kind.

    `canonical` takes out of both results what may differ, such as the order of timers at one time. `explain` names the
    deliberate difference behind a first different step. After it the two are in different states, and the rest of the
    script says nothing.
    """

    name: str
    kind: str
    create: Callable[[Script], Part]
    canonical: Callable[[Script, Results], Results] = unchanged
    explain: Explanation = unexplained

    def first_difference(self, script: Script, flink: Results) -> Difference | None:
        theirs = self.canonical(script, flink)
        ours = self.canonical(script, run(self.create, script))
        if theirs == ours:
            return None
        at = next(i for i, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b)
        return Difference(script, at, theirs[at], ours[at])


@dataclass(slots=True)
class Tally:
    """What became of the scripts of one check."""

    check: Check
    scripts: int = 0
    steps: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def take(self, recorded: Iterable[tuple[Script, Results]]) -> Tally:
        for script, flink in recorded:
            self.scripts += 1
            difference = self.check.first_difference(script, flink)
            if difference is None:
                self.steps += len(flink)
                continue
            self.steps += difference.at
            reason = self.check.explain(difference)
            if reason is None:
                self.differences.append(difference)
            else:
                self.explained[reason] += 1
        return self
