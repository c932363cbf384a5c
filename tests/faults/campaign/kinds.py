"""What can happen to a job. Each kind does it once to an episode, and says what came of it.

A job may go on as if nothing had been, stop with an error of ours, or be refused at its next start: then what was
damaged is put back. Whether anything was lost or repeated is seen at the end of the episode.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.faults.campaign.episode import Episode, Process, kill
from tests.faults.campaign.power import Power

Kind = Callable[[Episode], str]
_JVM: Final = "org.apache.spark"
_DAEMON: Final = "pyspark.daemon"
_PLANNER: Final = "python_streaming_source_runner"


NOTHING: Final = "nothing to do it to"
"""The outcome of a fault that did not happen; it does not count."""


class SilentError(AssertionError):
    """A fault that was met with something else than an error of ours."""


def outcome(result: dict[str, Any]) -> str:
    """What became of a run, in few words. Only what says so may fail."""
    match result["status"]:
        case "done" | "stopped":
            return "went on"
        case "failed":
            return f"failed: {result['kind']}"
        case "dead":
            return "killed"
        case _:
            raise SilentError(f"{result['status']}: {result.get('kind', '')} {result['error']}")


def refused_or_right(episode: Episode, result: dict[str, Any]) -> str:
    return outcome(episode.settled(result))


# Processes that are killed


def kill_driver(episode: Episode) -> str:
    episode.start()
    episode.await_progress(episode.dice.randrange(3))
    episode.forget_process()
    return "killed"


def kill_process(pattern: str, *, choose_last: bool = False) -> Kind:
    """Kill a process beside the driver: the job goes on without it, or stops with an error of ours."""

    def inject(episode: Episode) -> str:
        episode.start()
        episode.await_progress(episode.dice.randrange(1, 4))
        found = episode.process.pids(pattern)
        if not found or not episode.process.is_running:
            episode.process.stop()
            return f"{NOTHING} ({refused_or_right(episode, episode.process.result())})"
        kill(found[-1 if choose_last else 0])
        # What has not noticed anything by then has survived.
        result = episode.process.result(3.0)
        if result["status"] == "hangs":
            episode.process.stop()
            result = episode.process.result()
        return refused_or_right(episode, result)

    return inject


def kill_executor(episode: Episode) -> str:
    """On a cluster: the executors are children of its workers, in other sessions than the driver."""
    episode.start()
    episode.await_progress(episode.dice.randrange(3))
    found = _all_pids("CoarseGrainedExecutorBackend")
    if not found or not episode.process.is_running:
        episode.process.stop()
        return f"{NOTHING} ({refused_or_right(episode, episode.process.result())})"
    kill(episode.dice.choice(found))
    episode.await_progress(1)
    episode.process.stop()
    return refused_or_right(episode, episode.process.result())


def _all_pids(pattern: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if pattern.encode() in command and b"worker-url" in command:
            found.append(int(folder.name))
    return found


# Files of the checkpoint that are damaged

CHECKPOINT_FILES: Final = {
    "program": "checkpoint/program.json",
    "sinks": "checkpoint/sinks.state",
    "spool": "checkpoint/spool/*.spool",
    "file log": "checkpoint/files/*.log",
    "metadata": "checkpoint/query/metadata",
    "offsets": "checkpoint/query/offsets/[0-9]*",
    "commits": "checkpoint/query/commits/[0-9]*",
    "operator metadata": "checkpoint/query/state/*/_metadata/*/[0-9]*",
    "state": "checkpoint/query/state/*/*/[0-9]*.changelog",
    "snapshots": "checkpoint/query/state/*/*/[0-9]*.zip",
    "journal": "out/*/.*.journal",
}


def _cut(path: Path, episode: Episode) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: episode.dice.randrange(len(data)) if data else 0])


def _flip(path: Path, episode: Episode) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[episode.dice.randrange(len(data))] ^= 1 << episode.dice.randrange(8)
    path.write_bytes(bytes(data))


def _empty(path: Path, episode: Episode) -> None:
    path.write_bytes(b"")


def _delete(path: Path, episode: Episode) -> None:
    path.unlink()


WAYS: Final[dict[str, Callable[[Path, Episode], None]]] = {
    "cut": _cut,
    "flipped": _flip,
    "emptied": _empty,
    "deleted": _delete,
}


def damage(pattern: str, way: str) -> Kind:
    """Damage the last file of its kind, sometimes another; where it is refused it is put back."""

    def inject(episode: Episode) -> str:
        if not episode.checkpoint.exists():
            episode.run(1)
        paths = sorted(episode.folder.glob(pattern), key=lambda path: path.stat().st_mtime)
        if not paths:
            return NOTHING
        path = paths[-1] if episode.dice.random() < 0.7 else episode.dice.choice(paths)
        put_back = _copied(episode)
        whole = path.read_bytes()
        WAYS[way](path, episode)
        damaged = path.read_bytes() if path.exists() else None
        told = refused_or_right(episode, episode.run(1))
        is_as_damaged = (path.read_bytes() if path.exists() else None) == damaged
        if told == "went on" and is_as_damaged and path.parent.exists():
            # Nobody needed it so far. Whoever needs it later would refuse it: so it is put back, as it would be then.
            path.write_bytes(whole)
        elif told != "went on":
            put_back()
        return told

    return inject


def _copied(episode: Episode) -> Callable[[], None]:
    """Copy the checkpoint and what came out, to be put back."""
    copy = episode.copy_checkpoint("before")
    out = episode.folder / "out-before"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(episode.folder / "out", out)

    def put_back() -> None:
        episode.restore_checkpoint(copy)
        shutil.rmtree(episode.folder / "out")
        out.rename(episode.folder / "out")

    return put_back


def older_copy(episode: Episode) -> str:
    """Restore the checkpoint from a copy that batches were committed behind."""
    episode.run(1)
    copy = episode.copy_checkpoint("older")
    episode.run(2, files_at_once=episode.dice.choice([1, 3]))
    episode.restore_checkpoint(copy)
    return refused_or_right(episode, episode.run(1, files_at_once=episode.dice.choice([1, 2, 4])))


def two_starters(episode: Episode) -> str:
    """Another process starts the same job while it runs."""
    episode.start()
    episode.await_progress(episode.dice.randrange(2))
    was_running = episode.process.is_running
    rival = Process(episode.folder / "rival.log", episode.below)
    try:
        rival.start(folder=str(episode.folder), stop_after=None, files_at_once=4, numbers=1, is_last=False)
        result = rival.result()
    finally:
        rival.kill()
    is_over = not episode.process.is_running
    episode.process.stop()
    told = refused_or_right(episode, episode.process.result())
    if was_running and not is_over and result["status"] != "failed":
        raise SilentError(f"a second job on the checkpoint: {result}")
    return f"the other {outcome(result)}, {told}"


# Input that changes


def _shorter(path: Path, episode: Episode) -> Path:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    return path


def _longer(path: Path, episode: Episode) -> Path:
    text = path.read_text()
    path.write_text(text + text.splitlines(keepends=True)[0])
    return path


def _replaced(path: Path, episode: Episode) -> Path:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    return path


def _renamed(path: Path, episode: Episode) -> Path:
    return path.rename(path.with_name(f"{path.stem}-renamed.json"))


def _gone(path: Path, episode: Episode) -> Path:
    path.unlink()
    return path


CHANGES: Final[dict[str, Callable[[Path, Episode], Path]]] = {
    "shorter": _shorter,
    "longer": _longer,
    "replaced": _replaced,
    "renamed": _renamed,
    "gone": _gone,
}


def changed_file(change: str) -> Kind:
    """Change a file of the input while the job is stopped, and put all back as it was before.

    A job that goes on had not found the file yet, or has read another for it that holds the same.
    """

    def inject(episode: Episode) -> str:
        episode.run(1)
        path = episode.dice.choice(sorted((episode.folder / "in").rglob("*.json")))
        kept = episode.folder / "kept.json"
        shutil.copy2(path, kept)
        put_back = _copied(episode)
        changed = CHANGES[change](path, episode)
        told = refused_or_right(episode, episode.run(1))
        changed.unlink(missing_ok=True)
        shutil.copy2(kept, path)
        put_back()
        return told

    return inject


# Disks, clocks and power


def bad_disk(where: str, **settings: int) -> Kind:
    """For a while what is written below `where` fails, or is slow."""

    def inject(episode: Episode) -> str:
        control = episode.below.control
        episode.start()
        episode.await_progress(episode.dice.randrange(2))
        control.prefix = str(episode.folder / where).encode()
        for name, value in settings.items():
            setattr(control, name, value)
        deadline = time.monotonic() + 10.0
        while control.num_hits == 0 and "delay_micros" not in settings and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(episode.dice.uniform(0.0, 2.0))
        hits = control.num_hits
        episode.below.reset()
        result = episode.process.result(2.0)
        if result["status"] == "hangs":
            episode.process.stop()
            result = episode.process.result()
        told = refused_or_right(episode, result)
        return told if hits or "delay_micros" in settings else f"{NOTHING} ({told})"

    return inject


def clock_jump(seconds: int) -> Kind:
    def inject(episode: Episode) -> str:
        episode.start()
        episode.await_progress(episode.dice.randrange(2))
        episode.below.control.clock_seconds = seconds
        episode.await_progress(1)
        episode.process.stop()
        told = refused_or_right(episode, episode.process.result())
        if episode.dice.random() < 0.5:
            # Whoever starts while the clock is off writes down what it says.
            told = refused_or_right(episode, episode.run(1))
        episode.below.reset()
        return told

    return inject


def power_loss(episode: Episode) -> str:
    """Everything of ours that was not flushed is gone; what Spark has written by itself stays."""
    power = Power(episode)
    episode.start()
    episode.await_progress(episode.dice.randrange(3))
    episode.forget_process()
    power.cut()
    return "cut"


def all_kinds(*, has_below: bool, has_cluster: bool) -> Iterator[tuple[str, Kind, int]]:
    """Every kind with its name and how often it comes in a campaign of about three hundred."""
    yield "kill -9 of the driver and all of its processes", kill_driver, 10
    yield "kill -9 of the JVM", kill_process(_JVM), 6
    yield "kill -9 of a Python worker", kill_process(_DAEMON, choose_last=True), 16
    yield "kill -9 of a Python daemon", kill_process(_DAEMON), 8
    yield "kill -9 of the planner", kill_process(_PLANNER), 12
    for name, pattern in CHECKPOINT_FILES.items():
        for way in WAYS:
            yield f"{name} {way}", damage(pattern, way), 5
    yield "an older copy of the checkpoint", older_copy, 6
    yield "two starters", two_starters, 6
    for change in CHANGES:
        yield f"input file {change}", changed_file(change), 3
    if has_below:
        for where in ("checkpoint", "out"):
            yield f"disk full below {where}", bad_disk(where, write_error=errno.ENOSPC), 4
            yield f"read-only below {where}", bad_disk(where, create_error=errno.EROFS), 4
            yield f"slow disk below {where}", bad_disk(where, delay_micros=2_000), 2
        yield "a sink that fails in write", bad_disk("out", write_error=errno.EIO), 4
        yield "a sink that fails in commit", bad_disk("out", create_error=errno.EIO), 4
        yield "the clock a day back", clock_jump(-86_400), 3
        yield "the clock a day ahead", clock_jump(86_400), 3
        yield "power cut", power_loss, 10
    if has_cluster:
        yield "kill -9 of an executor", kill_executor, 10
