"""Behaviour that differs from Flink's on purpose, as measured by the oracle: `differences.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml
from tools.flink_compatibility.defects import Defect

DIFFERENCES_FILE = Path(__file__).with_name("differences.yaml")


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """What Flink does, what Tidegate does and why, and the test that pins it: `FILE::NAME`."""

    name: str
    part: str
    flink: str
    tidegate: str
    why: str
    test: str

    @property
    def pin(self) -> Defect:
        return Defect(self.flink, self.tidegate, self.test)


def load() -> list[MeasuredDifference]:
    return [MeasuredDifference(**entry) for entry in yaml.safe_load(DIFFERENCES_FILE.read_text(encoding="utf-8"))]
