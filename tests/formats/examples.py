"""State of a version, as examples: `python -m tests.formats.examples` writes those of this one.

They are written once, when a version is released, and never again: every later version must go on from them.
"""

from __future__ import annotations

import hashlib
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.formats.columns import BATCHES, WINDOWS, ColumnRun
from tests.formats.resident_cases import ResidentRun, Stored

from tidegate import __version__
from tidegate.testing.transcript import Case, load_cases
from tidegate.testing.transcript.core_cases import CORE_KINDS

FOLDER = Path(__file__).parent
CASES = [
    case
    for case in load_cases([FOLDER.parent / "conformance"])
    if case.kind not in CORE_KINDS and "async" not in case.fields.get("operator", {})
]
HALF = BATCHES // 2


def case_name(case: Case) -> str:
    """A case by name and text: one that was changed is another."""
    digest = hashlib.sha256(repr((case.fields, case.steps)).encode()).hexdigest()[:12]
    return f"transcripts/{case.name}/{digest}"


def examples() -> Iterator[tuple[str, Stored]]:
    for kind in WINDOWS:
        run = ColumnRun(kind)
        run.run(HALF)
        yield f"columns/{kind}", run.stored()
    for case in CASES:
        half = ResidentRun(case)
        stored: Stored | None = None
        for _ in range(half.num_steps // 2):
            half.step()
            if half.has_told_all and not half.is_over:
                stored = half.stored()
        if stored is not None:
            yield case_name(case), stored


def write(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, stored in examples():
            # The moment of writing must not make another archive of it.
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            archive.writestr(entry, pickle.dumps(tuple(stored)), zipfile.ZIP_LZMA)


def load(path: Path) -> dict[str, Stored]:
    with zipfile.ZipFile(path) as archive:
        return {name: Stored(*pickle.loads(archive.read(name))) for name in archive.namelist()}


if __name__ == "__main__":
    write(FOLDER / f"{__version__}.zip")
