"""One job of the campaign, from its first record to its last, whatever happens to it in between."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import json
import mmap
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.faults.campaign.victim import BASE, POISON, YEAR, YEAR_AHEAD

PATIENCE: Final = 240.0
PER_FILE: Final = 60
NUMBERS: Final = 20_000
MINUTE: Final = 60_000
_ROOT: Final = Path(__file__).parents[3]


class Control(ctypes.Structure):
    """The block of memory that `below.c` looks at."""

    _fields_ = (
        ("write_error", ctypes.c_int32),
        ("create_error", ctypes.c_int32),
        ("delay_micros", ctypes.c_int32),
        ("keeps_flushed", ctypes.c_int32),
        ("clock_seconds", ctypes.c_int64),
        ("num_hits", ctypes.c_int64),
        ("prefix", ctypes.c_char * 1024),
        ("shadow", ctypes.c_char * 1024),
    )


class Below:
    """The library between the victims and the system, and what it is told. Without a compiler there is none."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._library = folder / "below.so"
        source = Path(__file__).with_name("below.c")
        compiler = shutil.which("cc") or shutil.which("gcc")
        self.is_there = compiler is not None
        self._path = folder / "control"
        self._path.write_bytes(bytes(ctypes.sizeof(Control)))
        with self._path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self.control = Control.from_buffer(self._memory)
        if compiler is not None:
            command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(self._library), str(source), "-ldl"]
            subprocess.run(command, check=True)

    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "BELOW_CONTROL": str(self._path)} if self.is_there else {}

    def reset(self) -> None:
        ctypes.memset(ctypes.addressof(self.control), 0, ctypes.sizeof(Control))


class Process:
    """A victim with its JVM and Python workers: a session of processes of its own."""

    def __init__(self, log: Path, below: Below, master: str | None = None) -> None:
        self._log = log.open("ab")
        scratch = log.with_name("scratch")
        scratch.mkdir(exist_ok=True)
        environment = {**os.environ, **below.environment(), "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch)}
        environment["PYTHONPATH"] = str(_ROOT)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.campaign.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            text=True,
            cwd=_ROOT,
            start_new_session=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._tell({"master": master})

    def start(self, **arguments: Any) -> None:
        self._tell({"run": arguments})

    def stop(self) -> None:
        self._tell({"stop": True})

    def result(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """What became of the run; a process that died says nothing more."""
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            return {"status": "hangs", "error": f"no answer within {seconds:.0f} s"}
        found: dict[str, Any] = json.loads(answer) if answer else {"status": "dead"}
        return found

    @property
    def is_running(self) -> bool:
        """Whether a run has not ended yet."""
        return self._process.poll() is None and self._answers.empty()

    def pids(self, pattern: str) -> list[int]:
        """The processes of this session whose command holds the pattern."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,sess=,args="], capture_output=True, text=True, check=True
        )
        rows = (line.split(None, 2) for line in listed.stdout.splitlines())
        return [int(pid) for pid, session, command in rows if int(session) == self._process.pid and pattern in command]

    def kill(self) -> None:
        """As `kill -9` of everybody at once."""
        for pid in self.pids(""):
            if pid != self._process.pid:
                kill(pid)
        kill(self._process.pid)
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _tell(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Victims:
    """The process that runs the jobs, one after the other, and the next one when it was killed."""

    def __init__(self, folder: Path, below: Below, master: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.below = below
        self._log = folder / "log"
        self._master = master
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        if self._process is None:
            self._process = Process(self._log, self.below, self._master)
        return self._process

    def forget(self) -> None:
        """Kill it, with all that belongs to it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()


class Episode:
    """A folder with input, checkpoint and output; `dice` decides what is not said."""

    def __init__(self, folder: Path, dice: random.Random, victims: Victims) -> None:
        self.folder = folder
        self.dice = dice
        self.below = victims.below
        self._victims = victims
        self.checkpoint = folder / "checkpoint"
        self.query = self.checkpoint / "query"
        self.records: list[list[dict[str, Any]]] = []
        self._num_files = 0
        self.add_files()

    # Input, and the answer from the whole of it

    def add_files(self) -> None:
        """A minute more of each channel."""
        self.records += [self._write_file(channel, self._num_files) for channel in "ab"]
        self._num_files += 1

    def _write_file(self, channel: str, number: int) -> list[dict[str, Any]]:
        rows = []
        for index in range(PER_FILE):
            at = BASE + number * MINUTE + index * 1_000 - self.dice.randrange(5) * 1_000
            rows.append({"user": f"u{self.dice.randrange(8)}", "ts": at, "amount": self.dice.randrange(1_000)})
        path = self.folder / "in" / channel / f"{number:03d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hidden.rename(path)
        return rows

    def expected(self) -> dict[str, Counter[Any]]:
        windows: dict[tuple[str, int], list[int]] = {}
        for row in (row for rows in self.records for row in rows):
            start = row["ts"] - row["ts"] % (2 * MINUTE)
            windows.setdefault((row["user"], start), []).append(row["amount"])
        sums: dict[tuple[int, int], list[int]] = {}
        future, dead = [], []
        for number in range(NUMBERS):
            at = BASE + number * 10
            if number % YEAR_AHEAD == YEAR_AHEAD - 1:
                future.append((number, at + 2 * YEAR))
            elif number % POISON == POISON - 1:
                dead.append(number)
            else:
                sums.setdefault((number % 7, at // 500), []).append(at)
        return {
            "windows": Counter((*key, len(amounts), sum(amounts)) for key, amounts in windows.items()),
            "future": Counter(future),
            "dead": Counter(dead),
            "sums": (counts := Counter((key, max(times), len(times)) for (key, _), times in sums.items())),
            "stored": counts,
            "appended": counts,
        }

    def found(self) -> dict[str, Counter[Any]]:
        out = self.folder / "out"

        def lines(name: str) -> list[str]:
            return [line for path in sorted((out / name).rglob("part-*")) for line in path.read_text().splitlines()]

        sums: Counter[Any] = Counter()
        for path in (out / "sums").rglob("part-*"):
            with path.open(newline="") as file:
                sums.update((int(row["key"]), int(row["last"]), int(row["count"])) for row in csv.DictReader(file))
        return {
            "windows": Counter(tuple(json.loads(line)) for line in lines("windows")),
            "future": Counter(tuple(json.loads(line)) for line in lines("future")),
            "dead": Counter(int(line) for line in lines("dead")),
            "sums": sums,
            "stored": Counter(
                tuple(found) for path in (out / "stored").glob("[0-9]*.json") for found in json.loads(path.read_text())
            ),
            "appended": Counter(
                tuple(json.loads(line))
                for path in (out / "appended").glob("[0-9a-f]*")
                for line in path.read_text().splitlines()
            ),
        }

    def differences(self) -> list[str]:
        """What was lost and what is there too often; nothing, if all is well."""
        expected, found = self.expected(), self.found()
        sentences = []
        for name, answer in expected.items():
            lost, surplus = answer - found[name], found[name] - answer
            if lost:
                sentences.append(f"{name}: {lost.total()} of {answer.total()} lost, such as {sorted(lost)[:3]}")
            if surplus and name != "appended":
                sentences.append(f"{name}: {surplus.total()} too many, such as {sorted(surplus)[:3]}")
        return sentences

    # Running

    @property
    def process(self) -> Process:
        return self._victims.process

    def start(self, stop_after: int | None = None, *, files_at_once: int = 1, is_last: bool = False) -> None:
        """Start a run, which has more to read than the runs before."""
        if not is_last:
            self.add_files()
        self.process.start(
            folder=str(self.folder),
            stop_after=stop_after,
            files_at_once=files_at_once,
            numbers=NUMBERS,
            is_last=is_last,
        )

    def run(self, stop_after: int, *, files_at_once: int = 1) -> dict[str, Any]:
        """A run that stops when so many batches more are committed."""
        self.start(stop_after, files_at_once=files_at_once)
        return self.settled(self.process.result())

    def settled(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result of a run; a process that can run nothing more is replaced."""
        if result["status"] in ("dead", "hangs", "crashed") or "Spark itself has ended" in result.get("error", ""):
            self.forget_process()
        return result

    def finish(self) -> dict[str, Any]:
        """Run to the end."""
        self.below.reset()
        self.start(files_at_once=100, is_last=True)
        return self.settled(self.process.result())

    def forget_process(self) -> None:
        self._victims.forget()

    def commits(self) -> set[str]:
        return {path.name for path in (self.query / "commits").glob("[0-9]*")}

    def await_progress(self, batches: int) -> None:
        """Wait until the run that was started has committed so many batches, or is over; and a random moment."""
        known = self.commits()
        deadline = time.monotonic() + PATIENCE
        while self.process.is_running and len(self.commits() - known) < batches and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(self.dice.uniform(0, 0.8))

    def copy_checkpoint(self, name: str) -> Path:
        copy = self.folder / name
        shutil.rmtree(copy, ignore_errors=True)
        if self.checkpoint.exists():
            shutil.copytree(self.checkpoint, copy)
        return copy

    def restore_checkpoint(self, copy: Path) -> None:
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        if copy.exists():
            shutil.copytree(copy, self.checkpoint)
