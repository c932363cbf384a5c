from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WriteProgram = Callable[[str], Path]

HEADER = """
from tidegate.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment(parallelism=2)
"""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIDEGATE_RUNTIME", "TIDEGATE_CHECKPOINT", "TIDEGATE_CONF", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def program(tmp_path: Path) -> WriteProgram:
    """Writes a program that has an environment `env`."""

    def write(body: str) -> Path:
        path = tmp_path / "program.py"
        path.write_text(HEADER + body, encoding="utf-8")
        return path

    return write
