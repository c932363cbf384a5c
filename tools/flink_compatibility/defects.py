"""PyFlink's defects that are not copied: `defects.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DEFECTS_FILE = Path(__file__).with_name("defects.yaml")


@dataclass(frozen=True, slots=True)
class Defect:
    """What PyFlink does, what Tidegate does, and the test that pins it: `FILE::NAME`."""

    pyflink: str
    tidegate: str
    test: str

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def test_name(self) -> str:
        return self.test.partition("::")[2]

    def problem(self) -> str | None:
        """Why the test is not there; None if it is."""
        path = ROOT / self.file
        if not path.is_file():
            return f"{self.test}: there is no such file"
        name = re.escape(self.test_name)
        pattern = rf"^def {name}\(" if path.suffix == ".py" else rf"^- name: {name}$"
        found = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
        return None if found else f"{self.test}: the file has no such test"


def load() -> list[Defect]:
    return [Defect(**entry) for entry in yaml.safe_load(DEFECTS_FILE.read_text(encoding="utf-8"))]
