"""Runs the programs of `examples/pyflink_programs` as they are, on Flink and on Tidegate, and takes what they print."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.oracle_programs.on_flink import Flink
from tests.oracle_programs.program import for_tidegate
from tests.oracle_programs.tally import Tally

FOLDER = Path(__file__).parents[2] / "examples" / "pyflink_programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
RECORDED = Path(__file__).parent / "recorded" / "examples.json"

KIND = "example"
TEXT = "The tide comes in,\nthe tide goes out.\n\nTime and tide wait for none; the tide turns!\n"


def text(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text()


def on_flink(flink: Flink, name: str) -> list[str]:
    """The lines that the program prints, sorted: the order of keys is nobody's promise."""
    with _arguments(name) as arguments:
        command = [flink.python, str(FOLDER / f"{name}.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=flink.environment(), check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed on Flink:\n{done.stderr[-4000:]}")
    return sorted(done.stdout.splitlines())


def on_tidegate(name: str, runtime: str) -> list[str]:
    """The same on Tidegate, in this process, with the one change that a program needs."""
    (program,) = for_tidegate([text(name)])
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, _arguments(name) as arguments:
        path = Path(folder) / f"{name}.py"
        path.write_text(program)
        with _runtime(runtime, [str(path), *arguments]), contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
    return sorted(printed.getvalue().splitlines())


@contextlib.contextmanager
def _runtime(runtime: str, arguments: list[str]) -> Iterator[None]:
    before = os.environ.get("TIDEGATE_RUNTIME"), sys.argv
    os.environ["TIDEGATE_RUNTIME"], sys.argv = runtime, arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del os.environ["TIDEGATE_RUNTIME"]
        if before[0] is not None:
            os.environ["TIDEGATE_RUNTIME"] = before[0]
        sys.argv = before[1]


@contextlib.contextmanager
def _arguments(name: str) -> Iterator[list[str]]:
    """What the program wants on its command line: the word count a socket."""
    if name != "word_count":
        yield []
        return
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server,), daemon=True)
        thread.start()
        yield ["127.0.0.1", str(server.getsockname()[1])]
        thread.join(timeout=10)


def _serve(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(TEXT.encode())


def difference(expected: list[str], actual: list[str]) -> str | None:
    return None if expected == actual else f"printed {actual} and not {expected}"


class Recorded:
    """What Flink printed, kept in the repository."""

    @staticmethod
    def load() -> dict[str, list[str]]:
        recorded = json.loads(RECORDED.read_text())
        for name in NAMES:
            if recorded.get(name, {}).get("program") != _digest(name):
                raise RuntimeError(
                    f"{name}.py is not what Flink ran when its output was recorded; "
                    "record it again: make oracle-programs ORACLE=--record"
                )
        return {name: recorded[name]["printed"] for name in NAMES}

    @staticmethod
    def save(printed: dict[str, list[str]]) -> None:
        rows = {name: {"program": _digest(name), "printed": lines} for name, lines in printed.items()}
        RECORDED.write_text(json.dumps(rows, indent=1) + "\n")


def _digest(name: str) -> str:
    return hashlib.sha256(text(name).encode()).hexdigest()


def compare(flink: Flink, tally: Tally, *, with_spark: bool) -> dict[str, list[str]]:
    """Every example on both engines; returns what Flink printed."""
    printed = {}
    for name in NAMES:
        printed[name] = on_flink(flink, name)
        for runtime, label in [("local", "local, parallelism 1"), *([("spark", "Spark")] if with_spark else [])]:
            tally.count(label, KIND, name, difference(printed[name], on_tidegate(name, runtime)))
    return printed
