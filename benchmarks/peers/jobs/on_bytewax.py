"""The job on Bytewax. Its clock runs per key and with the wall; here the wall stands still, so only events move it."""

from __future__ import annotations

import json
import multiprocessing
import socket
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

NOW = datetime(2026, 6, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LINES = 10_000
PROCESSES = 2

Order = tuple[datetime, int]


class Lines(StatefulSourcePartition):
    """The files of all partitions line by line in turn: a clock per key has no watermark for each partition."""

    def __init__(self, folder: Path) -> None:
        files = [path.open(encoding="utf-8") for path in sorted(folder.iterdir())]
        self._lines = chain.from_iterable(zip_longest(*files))

    def next_batch(self) -> list[str]:
        lines = [line for line in islice(self._lines, LINES) if line is not None]
        if not lines:
            raise StopIteration
        return lines

    def snapshot(self) -> None:
        return None


class Orders(FixedPartitionedSource):
    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def list_parts(self) -> list[str]:
        return ["all"]

    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> Lines:
        return Lines(self._folder)


class Writer(StatelessSinkPartition):
    def __init__(self, path: Path) -> None:
        self._out = path.open("w", encoding="utf-8")

    def write_batch(self, items: list[str]) -> None:
        self._out.write("".join(items))

    def close(self) -> None:
        self._out.close()


class Results(DynamicSink):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Writer:
        self._folder.mkdir(parents=True, exist_ok=True)
        return Writer(self._folder / f"worker-{worker_index}.csv")


def parse(line: str) -> tuple[str, Order]:
    _, _, user, millis, amount = line.split(",")
    return user, (EPOCH + timedelta(milliseconds=int(millis)), int(amount))


def windower(window: dict[str, Any]) -> Any:
    size, slide, gap = (timedelta(milliseconds=window[name]) for name in ("size", "slide", "gap"))
    if window["gap"]:
        return win.SessionWindower(gap=gap)
    if size == slide:
        return win.TumblingWindower(length=size, align_to=EPOCH)
    return win.SlidingWindower(length=size, offset=slide, align_to=EPOCH)


def fold(state: list[Any], order: Order) -> list[Any]:
    """Count, sum, maximum, and the first and last timestamp, which say where a session is."""
    ts, amount = order
    if not state:
        return [1, amount, amount, ts, ts]
    state[0] += 1
    state[1] += amount
    state[2] = max(state[2], amount)
    state[3] = min(state[3], ts)
    state[4] = max(state[4], ts)
    return state


def merge(a: list[Any], b: list[Any]) -> list[Any]:
    if not a or not b:
        return a or b
    return [a[0] + b[0], a[1] + b[1], max(a[2], b[2]), min(a[3], b[3]), max(a[4], b[4])]


def millis(ts: datetime) -> int:
    return (ts - EPOCH) // timedelta(milliseconds=1)


def dataflow(job: dict[str, Any]) -> Dataflow:
    window = job["window"]

    def line(item: tuple[str, tuple[int, list[Any]]]) -> str:
        user, (number, (count, total, biggest, first, last)) = item
        if window["gap"]:
            start, end = millis(first), millis(last) + window["gap"]
        else:
            start = number * window["slide"]
            end = start + window["size"]
        return f"{user},{start},{end},{count},{total},{biggest}\n"

    flow = Dataflow("orders")
    lines = op.input("read", flow, Orders(job["input"]))
    clock = win.EventClock(
        ts_getter=lambda order: order[0],
        wait_for_system_duration=timedelta(milliseconds=job["out_of_orderness"]),
        now_getter=lambda: NOW,
    )
    orders = op.map("parse", lines, parse)
    folded = win.fold_window("fold", orders, clock, windower(window), list, fold, merge, ordered=False)
    op.output("write", op.map("line", folded.down, line), Results(Path(job["output"])))
    return flow


def run(job: dict[str, Any], addresses: list[str], number: int) -> None:
    cluster_main(dataflow(job), addresses, number, worker_count_per_proc=1)


def addresses(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


def main() -> None:
    job = json.loads(sys.argv[1])
    places = addresses(PROCESSES)
    started = time.monotonic()
    others = [multiprocessing.Process(target=run, args=(job, places, n)) for n in range(1, PROCESSES)]
    for other in others:
        other.start()
    run(job, places, 0)
    for other in others:
        other.join()
    if any(other.exitcode for other in others):
        sys.exit("a worker failed")
    print(json.dumps({"seconds": time.monotonic() - started, "version": version("bytewax"), "settings": {}}))


if __name__ == "__main__":
    main()
