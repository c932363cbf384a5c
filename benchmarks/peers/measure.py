"""Runs one engine on one task in a process of its own, checks what it wrote, and says how fast it was."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.check import Checksum, expected, written
from benchmarks.peers.data import DISORDER, Orders, write_batches, write_partitions
from benchmarks.peers.engines import ROOT, Engine
from benchmarks.peers.windows import Window

ALLOWED_LATENESS = 10_000
PATIENCE = 1_800
"""Seconds after which a job is given up."""


class EngineError(Exception):
    """An engine failed, or gave results that are not the expected ones."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is read: micro-batches of so many rows, the first ones not measured."""

    rows: int
    batches: int
    warm_up: int

    def of(self, engine: Engine, window: Window) -> Sizes:
        share = engine.share * engine.slower.get(window.name, 1.0)
        rows = max(int(self.rows * share) // 1_000 * 1_000, min(self.rows, 5_000))
        return Sizes(rows, self.batches, self.warm_up)


@dataclass(frozen=True, slots=True)
class Task:
    """What is computed: a kind of windows over orders. `loaded` batches come first, unmeasured, to fill the state."""

    name: str
    orders: Orders
    window: Window
    sizes: Sizes
    kind: str = "windows"
    loaded: tuple[int, ...] = ()

    def batch_sizes(self, engine: Engine) -> list[int]:
        sizes = self.sizes.of(engine, self.window)
        return [*self.loaded, *[sizes.rows] * sizes.batches]


@dataclass(slots=True)
class Measured:
    """One run: records per second, and for micro-batches the milliseconds that each took."""

    rate: float
    batch_millis: list[float] = field(default_factory=list)
    version: str = ""
    checksum: Checksum | None = None


class Bench:
    """Makes inputs once, knows what results must be, and runs engines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._expected: dict[tuple[str, int, str], Checksum] = {}

    def prepare(self, engine: Engine, task: Task) -> list[tuple[Path, int]]:
        """The inputs of an engine, with their rows: one for micro-batches, a small and a large one for others."""
        sizes = task.batch_sizes(engine)
        if engine.measure == "batches":
            inputs = [(write_batches(task.orders, sizes, self._folder, engine.format), sum(sizes))]
        else:
            counts = (sum(sizes) // 4 // 2 * 2, sum(sizes))
            inputs = [(write_partitions(task.orders, rows, self._folder), rows) for rows in counts]
        for _, rows in inputs:
            self._expect(task, rows)
        return inputs

    def run(self, engine: Engine, task: Task) -> Measured:
        """Run an engine once. Raises EngineError if it fails or its results are wrong."""
        runs = [self._run(engine, task, path, rows) for path, rows in self.prepare(engine, task)]
        if engine.measure == "batches":
            told, found, rows = runs[0]
            return self._of_batches(engine, task, told, found)
        (small, _, few), (large, found, rows) = runs
        seconds = large["seconds"] - small["seconds"]
        # On a busy machine more rows can take less time: the results are right, and there is no figure.
        rate = (rows - few) / seconds if seconds > 0 else math.nan
        return Measured(rate, [], large["version"], found)

    def _of_batches(self, engine: Engine, task: Task, told: dict[str, Any], found: Checksum) -> Measured:
        first = len(task.loaded) + task.sizes.warm_up
        last = len(task.loaded) + task.sizes.batches
        millis = [batch["ms"] for batch in told["batches"]][first:last]
        if not millis:
            raise EngineError(f"{engine.title}: only {len(told['batches'])} batches; there should be {last} and two")
        rate = task.sizes.of(engine, task.window).rows / statistics.median(millis) * 1_000
        return Measured(rate, millis, told["version"], found)

    def _expect(self, task: Task, rows: int) -> Checksum:
        key = (task.orders.name, rows, task.window.name)
        if key not in self._expected:
            path = self._folder / f"{'-'.join(map(str, key))}.json"
            if path.exists():
                self._expected[key] = Checksum(**json.loads(path.read_text()))
            else:
                self._expected[key] = expected(task.orders, rows, task.window)
                path.write_text(json.dumps(self._expected[key].as_dict()))
        return self._expected[key]

    def _run(self, engine: Engine, task: Task, path: Path, rows: int) -> tuple[dict[str, Any], Checksum, int]:
        is_late = task.kind == "late"
        with tempfile.TemporaryDirectory(prefix="run-", dir=self._folder, ignore_cleanup_errors=True) as scratch:
            output = Path(scratch) / "results"
            job = {
                "input": str(path),
                "output": str(output),
                "window": asdict(task.window),
                "out_of_orderness": DISORDER,
                "allowed_lateness": ALLOWED_LATENESS if is_late else 0,
                "mode": engine.mode,
                "format": engine.format,
            }
            told = call(engine, job, Path(scratch))
            is_known = "checksum" in told
            found = Checksum(**told["checksum"]) if is_known else written(output, is_updating=is_late)
            shutil.rmtree(scratch, ignore_errors=True)
        wanted = self._expect(task, rows)
        if engine.script == "on_spark" and is_late:
            # It drops late orders without a trace.
            wanted = Checksum(wanted.windows, wanted.orders, wanted.hash)
        if found != wanted:
            raise EngineError(f"{engine.title}, {task.name}: results differ: {found}; expected {wanted}")
        return told, found, rows


def call(engine: Engine, job: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Start the job of an engine and return the line of JSON that it prints last."""
    log = scratch / "log"
    with log.open("w+") as errors:
        try:
            done = subprocess.run(
                [*engine.command(), json.dumps(job)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise EngineError(f"{engine.title}: not done after {PATIENCE} s") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        tail = "\n".join([*done.stdout.splitlines()[-5:], *log.read_text().splitlines()[-15:]])
        raise EngineError(f"{engine.title}: exit code {done.returncode}\n{tail}")
    told: dict[str, Any] = json.loads(lines[-1])
    return told
