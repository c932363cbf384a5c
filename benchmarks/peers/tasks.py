"""What a run consists of: which windows over how many keys, the job with late orders, and the one with stored keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchmarks.peers.data import Orders
from benchmarks.peers.engines import Engine
from benchmarks.peers.measure import Sizes, Task
from benchmarks.peers.windows import WINDOWS

KEYS = {"low": 1_000, "high": 200_000, "very-high": 5_000_000}
STORED = {"few": 100_000, "many": 10_000_000}
TOUCHED = 10_000
LATE_SHARE = 0.01
RATE = 500_000
"""Orders per minute of event time: with 200,000 keys about 2.5 for each key and minute."""
DENSE = 2 * RATE
"""The same keys with five orders each: Spark adds up before its shuffle, so that it has less to keep."""
SHARES = {
    ("tumbling", "low"): 2.0,
    ("tumbling", "very-high"): 0.5,
    ("sliding", "low"): 2.0,
    ("sliding", "high"): 0.125,
    ("session", "high"): 0.25,
}
"""The rows of a batch against `--rows`, chosen so that a batch of Spark's takes seconds and not minutes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for on the command line."""

    windows: tuple[str, ...]
    keys: tuple[str, ...]
    kinds: tuple[str, ...]
    sizes: Sizes
    is_everything: bool = False

    def sizes_of(self, window: str, level: str) -> Sizes:
        rows = int(self.sizes.rows * SHARES.get((window, level), 1.0))
        return replace(self.sizes, rows=rows)


def rate_of(sizes: Sizes, rate: int = RATE) -> int:
    """Orders per minute: small batches still span two minutes, so that windows close."""
    return max(min(rate, sizes.rows // 2), 1)


def tasks(choice: Choice) -> list[Task]:
    return [
        *(task for task in _windows(choice) if "windows" in choice.kinds),
        *(task for task in _dense(choice) if "dense" in choice.kinds),
        *(task for task in _late(choice) if "late" in choice.kinds),
        *(task for task in _stored(choice) if "stored" in choice.kinds),
    ]


def takes_part(engine: Engine, task: Task, choice: Choice) -> bool:
    """Whether an engine runs a task. Without `--everything` only some run with other than the middle number of keys."""
    if task.kind not in engine.kinds:
        return False
    if task.kind != "windows":
        return True
    is_default = any(task.orders.keys == KEYS[level] for level in engine.levels) or len(choice.keys) == 1
    return task.window.name in engine.windows and (is_default or choice.is_everything)


def _windows(choice: Choice) -> Iterable[Task]:
    for window in choice.windows:
        for level in choice.keys:
            is_default = window == "tumbling" or level == "high" or len(choice.keys) == 1
            is_default |= window == "sliding" and level == "low"
            if is_default or choice.is_everything:
                sizes = choice.sizes_of(window, level)
                orders = Orders(KEYS[level], rate_of(sizes))
                name = f"{WINDOWS[window].title}, {KEYS[level]:,} keys"
                yield Task(name, orders, WINDOWS[window], sizes)


def _dense(choice: Choice) -> Iterable[Task]:
    if "tumbling" in choice.windows and "high" in choice.keys:
        sizes = choice.sizes_of("tumbling", "high")
        orders = Orders(KEYS["high"], rate_of(sizes, DENSE))
        name = f"{WINDOWS['tumbling'].title}, {KEYS['high']:,} keys, {DENSE // RATE} times the orders a minute"
        yield Task(name, orders, WINDOWS["tumbling"], sizes, kind="dense")


def _late(choice: Choice) -> Iterable[Task]:
    # Batches before the first hopelessly late orders are not measured.
    sizes = Sizes(choice.sizes.rows // 2, choice.sizes.batches + 1, choice.sizes.warm_up + 1)
    rate = rate_of(sizes)
    far = sizes.rows * 200_000 // rate
    orders = Orders(KEYS["high"], rate, late=LATE_SHARE, far=far)
    name = f"tumbling windows of 60 s, {KEYS['high']:,} keys, 1 % late orders, allowed lateness of 10 s, late output"
    yield Task(name, orders, WINDOWS["tumbling"], sizes, kind="late")


def _stored(choice: Choice) -> Iterable[Task]:
    for count in STORED.values():
        loaded = tuple([min(count, 1_000_000)] * (count // min(count, 1_000_000)))
        sizes = Sizes(TOUCHED, choice.sizes.batches + 4, choice.sizes.warm_up)
        name = f"{count:,} keys stored, {TOUCHED:,} orders a batch"
        orders = Orders(count, 1_000_000, stored=True)
        yield Task(name, orders, WINDOWS["day"], sizes, kind="stored", loaded=loaded)
