"""Workers whose Python does not have Tidegate."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tidegate":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
PROGRAM = """
from tidegate.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
counts = env.from_collection([1, 2, 3]).key_by(lambda number: number % 2).reduce(lambda a, b: a + b)
counts = counts.map(lambda total: (total,), output_type="total long")
{ending}
"""


@pytest.mark.parametrize("ending", ["counts.print(); env.execute()", "counts.to_dataframe(checkpoint='FOLDER')"])
def test_workers_without_the_library_are_told_in_one_line(tmp_path: Path, ending: str) -> None:
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKER)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/blocked:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    ending = ending.replace("FOLDER", str(tmp_path / "kept"))
    (tmp_path / "program.py").write_text(PROGRAM.format(ending=ending))
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, "-m", "tidegate.cli", "run", "--on", "spark", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"error: {tmp_path / 'program.py'}:6: a Spark worker cannot import 'tidegate'; install the same Tidegate on "
        "every worker, in the Python that PYSPARK_PYTHON names"
    )
    assert "Traceback" not in done.stderr
