"""Flink's side: the Java program in `java`, compiled against the jar of PyFlink, as a process to talk to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.script import Results, Script

SOURCES = Path(__file__).with_name("java")
MAIN = "tidegate.oracle.Main"


def find_jar(environment: Path) -> Path:
    """Flink's jar in a virtual environment with PyFlink."""
    found = sorted(environment.glob("lib/python*/site-packages/pyflink/lib/flink-dist-*.jar"))
    if not found:
        raise FileNotFoundError(f"{environment} has no pyflink/lib/flink-dist-*.jar; run: make oracle-parts")
    return found[-1]


def compile_shim(jar: Path, classes: Path) -> None:
    sources = sorted(str(path) for path in SOURCES.rglob("*.java"))
    subprocess.run(["javac", "--release", "17", "-nowarn", "-cp", str(jar), "-d", str(classes), *sources], check=True)


class Flink:
    """Runs scripts on Flink's classes.

    ```python
    with Flink(jar, classes) as flink:
        [results] = flink.run([script])
    ```
    """

    def __init__(self, jar: Path, classes: Path) -> None:
        self._process = subprocess.Popen(
            ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{classes}:{jar}", MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def run(self, scripts: Iterable[Script]) -> Iterator[Results]:
        """The results of each script, in order."""
        for script in scripts:
            self._ask(script)
            yield self._answer()

    def _ask(self, script: Script) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(script) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> Results:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Flink's side ended with {self._process.wait()}")
        results: Results = json.loads(line)
        return results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
