"""What Flink gave, kept in the repository, so that tests compare with Flink where it is not installed."""

from __future__ import annotations

import ast
import dataclasses
import json
import lzma
from collections.abc import Iterable
from pathlib import Path

from tests.oracle_programs.program import PIECES, Program
from tests.oracle_programs.running import Outputs

RECORDED = Path(__file__).parent / "recorded" / "programs.json.xz"


def save(results: Iterable[tuple[Program, Outputs]], seed: int) -> None:
    rows = [dataclasses.asdict(program) | {"outputs": outputs} for program, outputs in results]
    text = json.dumps({"flink": "2.3.0", "seed": seed, "pieces": PIECES, "programs": rows})
    RECORDED.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def load() -> list[tuple[Program, Outputs]]:
    """The programs and what Flink gave."""
    recorded = json.loads(lzma.decompress(RECORDED.read_bytes()))
    if _definitions(recorded["pieces"]) != _definitions(PIECES):
        raise RuntimeError(
            "the files in text/ are not what Flink ran when its outputs were recorded; "
            "record them again: make oracle-programs ORACLE=--record"
        )
    results = []
    for row in recorded["programs"]:
        outputs = row.pop("outputs")
        row |= {name: tuple(row[name]) for name in ("ordered", "unstamped")}
        results.append((Program(**row), outputs))
    return results


def _definitions(text: str) -> set[str]:
    """What the text defines, wherever it stands and whatever it imports."""
    skipped = (ast.Import, ast.ImportFrom, ast.Expr)
    return {ast.dump(node) for node in ast.parse(text).body if not isinstance(node, skipped)}
