"""A random program: text against PyFlink's API, and what may be expected of its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TEXTS = Path(__file__).parent / "text"
PIECES = "\n".join((TEXTS / name).read_text() for name in ("functions.py", "pieces.py"))


@dataclass(frozen=True, slots=True)
class Program:
    """One program.

    `text` defines `build(env)`, which returns streams by the name of their output. `ordered` names the outputs in which
    the results of a key have an order that Flink defines, `unstamped` those whose timestamps PyFlink gets wrong. A
    program that is not `parallel` gives other results with other parallelism, on Flink too. `mode` is how
    PyFlink runs its Python: by thread, where side outputs have no timestamps, or by process.
    """

    seed: int
    kind: str
    text: str
    ordered: tuple[str, ...] = ()
    unstamped: tuple[str, ...] = ()
    parallel: bool = True
    mode: str = "process"

    @property
    def name(self) -> str:
        return f"{self.kind} #{self.seed}"

    @property
    def parts(self) -> list[str]:
        """Everything that Flink is given."""
        return [PIECES, self.text]


def for_tidegate(parts: list[str]) -> list[str]:
    """The one change that a program needs."""
    return [part.replace("pyflink", "tidegate") for part in parts]
