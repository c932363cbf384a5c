"""How many programs of each kind ran where, and how many of them differ."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.table import Table
from tests.oracle_programs.program import Program


class Tally:
    """Counts as results come, and tells differences at once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ran: dict[tuple[str, str], int] = defaultdict(int)
        self._differ: dict[tuple[str, str], int] = defaultdict(int)
        self._runtimes: list[str] = []
        self.differences = 0

    def add(self, runtime: str, program: Program, difference: str | None) -> None:
        self.count(runtime, program.kind, program.name, difference)

    def count(self, runtime: str, kind: str, name: str, difference: str | None) -> None:
        if runtime not in self._runtimes:
            self._runtimes.append(runtime)
        self._ran[kind, runtime] += 1
        if difference is not None:
            self._differ[kind, runtime] += 1
            self.differences += 1
            self._console.print(f"{name} differs ({runtime}): {difference}", markup=False, highlight=False)

    def show(self) -> None:
        table = Table("kind", *(f"{runtime}: ran / differ" for runtime in self._runtimes))
        for kind in sorted({kind for kind, _ in self._ran}):
            table.add_row(kind, *(self._cell(kind, runtime) for runtime in self._runtimes))
        table.add_section()
        table.add_row("all", *(self._cell(None, runtime) for runtime in self._runtimes))
        self._console.print(table)

    def _cell(self, kind: str | None, runtime: str) -> str:
        ran, differ = (
            sum(count for (one, where), count in counts.items() if where == runtime and kind in (one, None))
            for counts in (self._ran, self._differ)
        )
        return f"{ran} / {differ}" if ran else ""
