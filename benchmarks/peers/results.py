"""What a run found: medians, spreads and ratios, as tables for the terminal and for Markdown."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.engines import ENGINES

BASELINE = "spark"


@dataclass(slots=True)
class Cell:
    """The rounds of an engine on a task."""

    rates: list[float] = field(default_factory=list)
    millis: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def known(self) -> list[float]:
        """The rates of the rounds that gave one."""
        return [rate for rate in self.rates if not math.isnan(rate)]


@dataclass(slots=True)
class Results:
    """All that was measured, by task and engine."""

    cells: dict[str, dict[str, Cell]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Rows of a batch by task."""
    versions: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)
    """How many batches the runs had, and how many of them were not measured."""
    minutes: float = 0.0

    def cell(self, task: str, engine: str) -> Cell:
        return self.cells.setdefault(task, {}).setdefault(engine, Cell())

    def rounds(self, task: str) -> int:
        """How many rounds of a task there are."""
        return max((len(cell.rates) for cell in self.cells.get(task, {}).values()), default=0)

    @property
    def failures(self) -> list[str]:
        return [cell.failure for row in self.cells.values() for cell in row.values() if cell.failure]

    def ratio(self, task: str, engine: str, other: str = BASELINE) -> float | None:
        """How many times as fast as another engine: the median over rounds of the ratio within a round.

        Where the two had not the same rounds, it is the ratio of their medians.
        """
        mine, theirs = self.cells[task].get(engine), self.cells[task].get(other)
        if mine is None or theirs is None or mine.failure or theirs.failure:
            return None
        if len(mine.rates) != len(theirs.rates) and mine.known and theirs.known:
            return statistics.median(mine.known) / statistics.median(theirs.known)
        ratios = [a / b for a, b in zip(mine.rates, theirs.rates, strict=False) if not math.isnan(a / b)]
        return statistics.median(ratios) if ratios else None

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Results:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = {
            task: {engine: Cell(**cell) for engine, cell in row.items()} for task, row in data.pop("cells").items()
        }
        return Results(cells=cells, **data)


HEADER = ("engine", "reads", "rounds", "records/s", "lowest to highest", "ms per batch", "times Spark native")


def rows(results: Results, task: str) -> list[tuple[str, ...]]:
    """The table of a task, in the order of the engines."""
    found: list[tuple[str, ...]] = []
    for name, engine in ENGINES.items():
        cell = results.cells.get(task, {}).get(name)
        if cell is None:
            continue
        if cell.failure or not cell.known:
            found.append(
                (engine.title, engine.reading, "", "failed" if cell.failure else "too little data", "", "", "")
            )
            continue
        ratio = results.ratio(task, name)
        found.append(
            (
                engine.title,
                engine.reading,
                str(len(cell.rates)),
                f"{statistics.median(cell.known):,.0f}",
                f"{min(cell.known):,.0f} to {max(cell.known):,.0f}",
                f"{statistics.median(cell.millis):,.0f}" if cell.millis else "",
                "" if ratio is None else f"{ratio:.2f}",
            )
        )
    return found


def remarks(results: Results) -> list[str]:
    """Ratios that are not against Spark native."""
    found = []
    for task in results.cells:
        for name, other in (("tidegate-python", "pyflink"), ("tidegate-fused-csv", "flink-sql")):
            ratio = results.ratio(task, name, other)
            if ratio is not None:
                found.append(f"{ENGINES[name].title} / {ENGINES[other].title}, {task}: {ratio:.2f}")
    stored = [task for task, kind in results.kinds.items() if kind == "stored"]
    if len(stored) == 2:
        for name, engine in ENGINES.items():
            ratios = [results.cells[task].get(name, Cell()) for task in stored]
            if all(cell.millis and not cell.failure for cell in ratios):
                few, many = (statistics.median(cell.millis) for cell in ratios)
                found.append(f"{engine.title}, time of a batch, {stored[1]} / {stored[0]}: {many / few:.2f}")
    return found


def machine() -> dict[str, str]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": platform.system(),
        "Python": platform.python_version(),
        "Java": java[0] if java else "unknown",
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()
