"""Packets and state hold whatever elements hold."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.spark.wire import pickling


def test_plain_values_do_without_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.spark.wire.pickling.cloudpickle.dumps", None)
    value = {"a": [1, 2.5, None], ("b", 1): {"nested"}}
    assert pickle.loads(pickling.dumps(value)) == value


def test_functions_without_a_module_are_written() -> None:
    factor = 3
    loaded = pickle.loads(pickling.dumps([lambda number: factor * number]))
    assert loaded[0](2) == 6


def test_classes_of_the_main_program_can_be_read_in_another(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import dataclasses, sys\n"
        "from tidegate.spark.wire.pickling import dumps\n"
        "@dataclasses.dataclass\n"
        "class Order:\n"
        "    amount: int\n"
        "sys.stdout.buffer.write(dumps([Order(7)]))\n"
    )
    data = subprocess.run([sys.executable, str(program)], capture_output=True, check=True).stdout
    (order,) = pickle.loads(data)
    assert order.amount == 7


def test_the_text_of_that_name_is_only_slower() -> None:
    assert pickle.loads(pickling.dumps("__main__")) == "__main__"
