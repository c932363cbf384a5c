"""Runs programs on Flink, with the interpreter that has PyFlink installed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.oracle_programs.program import Program
from tests.oracle_programs.running import Outputs

HERE = Path(__file__).parent
MARK = "outputs:"


@dataclass(frozen=True, slots=True)
class Flink:
    """Flink's mini cluster: the interpreter that has PyFlink, and how PyFlink runs Python, by `process` or `thread`."""

    python: str
    mode: str = "process"

    def run(self, programs: Sequence[Program], together: int) -> Iterator[tuple[Program, Outputs]]:
        """Every program with its outputs; so many of them are one job.

        Each job has a process of its own: PyFlink leaves hundreds of threads behind, which slow the next one down.
        """
        with tempfile.TemporaryDirectory() as folder:
            jar = self._compile(Path(folder))
            for start in range(0, len(programs), together):
                batch = programs[start : start + together]
                yield from zip(batch, self._outputs(jar, batch), strict=True)

    def _outputs(self, jar: Path, programs: Sequence[Program]) -> list[Outputs]:
        command = [self.python, str(HERE / "flink_side" / "run.py"), str(jar), self.mode]
        texts = json.dumps([program.parts for program in programs])
        done = subprocess.run(command, input=texts, capture_output=True, text=True, env=self.environment(), check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
        if done.returncode != 0 or not lines:
            names = ", ".join(program.name for program in programs)
            raise RuntimeError(f"Flink failed with {names}:\n{done.stderr[-6000:]}")
        outputs: list[Outputs] = json.loads(lines[0].removeprefix(MARK))
        return outputs

    def environment(self) -> dict[str, str]:
        """PyFlink starts its workers with the first `python` of the path."""
        environment = dict(os.environ)
        environment["PATH"] = os.pathsep.join([str(Path(self.python).parent), environment.get("PATH", "")])
        environment.pop("PYTHONPATH", None)
        return environment

    def _compile(self, folder: Path) -> Path:
        """Our watermark generator as a jar."""
        home = subprocess.run(
            [self.python, "-c", "import pathlib, pyflink; print(pathlib.Path(pyflink.__file__).parent)"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        classpath = str(next(Path(home, "lib").glob("flink-dist-*.jar")))
        sources = [str(path) for path in (HERE / "java").rglob("*.java")]
        subprocess.run(["javac", "-d", str(folder / "classes"), "-cp", classpath, *sources], check=True)
        jar = folder / "explicit_watermarks.jar"
        subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(folder / "classes"), "."], check=True)
        return jar
