"""The driver is killed at random moments; after restarts the files are those of an undisturbed run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.faults.column_job import records_of
from tests.faults.driver import Driver, check_survives

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("TIDEGATE_FAULTS", "2"))
KILLS_OF_COLUMNS = int(os.environ.get("TIDEGATE_FAULTS", "1"))
JOB = Path(__file__).with_name("job.py")
COLUMN_JOB = Path(__file__).with_name("column_job.py")
QUICK = 500
DRIPPING = 500
"""More than drip in a life of the longest patience: the source does not end before the last kill."""
ELEMENTS = (QUICK + DRIPPING) * (KILLS + 1)
FILES = 12 * (KILLS_OF_COLUMNS + 1)
"""More than a life reads, of each channel."""


def test_a_driver_killed_again_and_again_loses_nothing_and_writes_nothing_twice(tmp_path: Path) -> None:
    def start(runtime: str, folder: Path, *, is_slow: bool) -> Driver:
        return Driver(JOB, [runtime, ELEMENTS, QUICK if is_slow else -1], folder)

    check_survives(start, tmp_path, kills=KILLS, awaited="spool", names=["counts", "totals"])


def test_windows_on_columns_over_files_survive_kills(tmp_path: Path) -> None:
    for channel in ("a", "b"):
        (tmp_path / "in" / channel).mkdir(parents=True)
        for number in range(FILES):
            text = "\n".join(records_of(channel, number))
            (tmp_path / "in" / channel / f"{number:04d}.json").write_text(text)

    def start(runtime: str, folder: Path, *, is_slow: bool) -> Driver:
        return Driver(COLUMN_JOB, [runtime, f"files:{tmp_path / 'in'}", 2 if is_slow else FILES], folder)

    check_survives(start, tmp_path, kills=KILLS_OF_COLUMNS, awaited="query/offsets", names=["windows", "sessions"])
