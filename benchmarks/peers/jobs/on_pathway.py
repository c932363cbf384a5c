"""The job on Pathway, over static input: it sees all rows at once, so no window has to wait for a watermark."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("PATHWAY_THREADS", "2")

import pathway as pw

NAMES = ("partition", "offset", "user", "ts", "amount")


class Order(pw.Schema):
    partition: int
    offset: int
    user: str
    ts: int
    amount: int


def windows(window: dict[str, Any]) -> Any:
    if window["gap"]:
        return pw.temporal.session(max_gap=window["gap"])
    if window["size"] == window["slide"]:
        return pw.temporal.tumbling(duration=window["size"])
    return pw.temporal.sliding(hop=window["slide"], duration=window["size"])


def with_headers(folder: Path, copy: Path) -> Path:
    """Pathway reads CSV with a header only."""
    copy.mkdir(parents=True)
    for path in folder.iterdir():
        with path.open("rb") as lines, (copy / path.name).open("wb") as out:
            out.write((",".join(NAMES) + "\n").encode())
            while part := lines.read(1 << 24):
                out.write(part)
    return copy


def without_changes(raw: Path, output: Path) -> None:
    """The result without its header and Pathway's columns `time` and `diff`; of static input all rows are additions."""
    output.mkdir(parents=True)
    with raw.open(encoding="utf-8") as lines, (output / "results.csv").open("w", encoding="utf-8") as out:
        next(lines)
        for line in lines:
            row, _, diff = line.rstrip().replace('"', "").rsplit(",", 2)
            if diff != "1":
                sys.exit(f"a change where only additions are expected: {line}")
            out.write(row + "\n")


def main() -> None:
    job = json.loads(sys.argv[1])
    output = Path(job["output"])
    folder = with_headers(Path(job["input"]), output.parent / "with-headers")
    raw = output.parent / "raw.csv"
    gap = job["window"]["gap"]
    started = time.monotonic()
    orders = pw.io.csv.read(str(folder), schema=Order, mode="static")
    results = orders.windowby(orders.ts, window=windows(job["window"]), instance=orders.user).reduce(
        user=pw.this._pw_instance,
        window_start=pw.this._pw_window_start,
        window_end=pw.this._pw_window_end + gap,
        orders=pw.reducers.count(),
        total=pw.reducers.sum(pw.this.amount),
        biggest=pw.reducers.max(pw.this.amount),
    )
    pw.io.csv.write(results, str(raw))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.monotonic() - started
    without_changes(raw, output)
    print(json.dumps({"seconds": seconds, "version": version("pathway"), "settings": {}}))


if __name__ == "__main__":
    main()
