"""Recorded results: scripts with what Flink made of them, kept in the repository."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.oracle.comparison import Check, Tally
from tests.oracle.script import Results, Script

FOLDER = Path(__file__).with_name("recorded")


def path_of(kind: str) -> Path:
    return FOLDER / f"{kind}.jsonl.xz"


def write(kind: str, recorded: Iterable[tuple[Script, Results]]) -> None:
    """Keep them, one JSON line each: `[script, results]`."""
    FOLDER.mkdir(exist_ok=True)
    with lzma.open(path_of(kind), "wt", preset=9 | lzma.PRESET_EXTREME, encoding="utf-8") as file:
        for pair in recorded:
            file.write(json.dumps(pair, separators=(",", ":")) + "\n")


def read(kind: str) -> Iterator[tuple[Script, Results]]:
    with lzma.open(path_of(kind), "rt", encoding="utf-8") as file:
        for line in file:
            script, results = json.loads(line)
            yield script, results


@cache
def compared(check: Check) -> Tally:
    """What became of all recorded scripts of a check."""
    return Tally(check).take(read(check.kind))
