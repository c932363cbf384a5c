"""The orders that every engine reads: made from a seed, so that any stretch of them can be made again.

Order number i happens at `BASE + i / rate`, and its timestamp is up to five seconds before that. Even numbers are in
partition 0, odd ones in partition 1. A user is silent for 20 of every 80 seconds, so that sessions end however few
users there are. Behind the last order each partition has two closing orders of a user of its own, an hour later: they
move the watermarks of engines that would otherwise keep their last windows open.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

BASE: Final = 1_767_225_600_000
"""The first of January 2026 in milliseconds."""
CHUNK: Final = 100_000
"""Orders that one seed makes."""
DISORDER: Final = 5_000
CLOSING_USER: Final = -1
HOUR: Final = 3_600_000

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Orders:
    """What decides the orders. `late` is the share of late ones, half of them within an allowed lateness of 10 s."""

    keys: int
    rate: int = 1_000_000
    """Orders per minute of event time."""
    late: float = 0.0
    far: int = 0
    """How far the hopelessly late orders are behind, in milliseconds.

    Spark finds an order late by the watermark of two batches before, so this is more than three batches.
    """
    stored: bool = False
    """Whether the first orders have one user each, in turn, before users are drawn from them."""

    @property
    def name(self) -> str:
        return f"keys{self.keys}-rate{self.rate}" + f"-late{self.far}" * (self.late > 0) + "-stored" * self.stored

    def columns(self, start: int, stop: int) -> Columns:
        """The orders from `start` to `stop`, as arrays."""
        parts = [self._chunk(number) for number in range(start // CHUNK, -(-stop // CHUNK))]
        first = start // CHUNK * CHUNK
        return {name: np.concatenate([part[name] for part in parts])[start - first : stop - first] for name in parts[0]}

    def _chunk(self, number: int) -> Columns:
        source = np.random.default_rng([self.keys, number])
        index = np.arange(number * CHUNK, (number + 1) * CHUNK, dtype=np.int64)
        now = BASE + DISORDER + index * 60_000 // self.rate
        behind = source.integers(0, DISORDER - 2, CHUNK)
        user = source.integers(0, self.keys, CHUNK)
        draw = source.random(CHUNK)
        if self.late:
            behind = np.where(draw < self.late, source.integers(DISORDER, DISORDER + 9_999, CHUNK), behind)
            is_far = (draw < self.late / 2) & (now - BASE > self.far)
            behind = np.where(is_far, self.far, behind)
            behind = np.minimum(behind, now - BASE)
        # Multiples of three are never exactly ten seconds apart, where engines differ on whether a session goes on.
        ts = (now - behind) // 3 * 3
        if self.stored:
            user = np.where(index < self.keys, index % self.keys, user)
        else:
            user = np.where((user + ts // 20_000) % 4 == 0, (user + 1) % self.keys, user)
        return {
            "partition": (index % 2).astype(np.int32),
            "offset": index // 2,
            "user": user,
            "ts": ts,
            "amount": source.integers(1, 1_000, CHUNK),
            "is_far": is_far if self.late else np.zeros(CHUNK, dtype=bool),
        }

    def end(self, rows: int) -> int:
        """A time that no order of the first `rows` reaches."""
        return BASE + 2 * DISORDER + rows * 60_000 // self.rate


def closing(orders: Orders, rows: int, partition: int, turn: int) -> Columns:
    """The closing order of a partition; there are two turns."""
    return {
        "partition": np.array([partition], dtype=np.int32),
        "offset": np.array([rows // 2 + 1 + turn]),
        "user": np.array([CLOSING_USER]),
        "ts": np.array([orders.end(rows) + 30 * 24 * HOUR * orders.stored + HOUR * (turn + 1)]),
        "amount": np.array([0]),
    }


def table(columns: Columns) -> pa.Table:
    """Orders as a table with the columns of the input files."""
    names = pa.array(columns["user"]).cast(pa.string())
    return pa.table(
        {
            "partition": pa.array(columns["partition"]),
            "offset": pa.array(columns["offset"]),
            "user": pc.binary_join_element_wise("u", names, ""),
            "ts": pa.array(columns["ts"] * 1_000).cast(pa.timestamp("us", tz="UTC")),
            "amount": pa.array(columns["amount"]),
        }
    )


def batches(sizes: list[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for size in sizes:
        yield start, start + size
        start += size


def write_batches(orders: Orders, sizes: list[int], folder: Path, kind: str = "parquet") -> Path:
    """A folder of files for engines that read in batches: a file of each partition for each batch, oldest first.

    The files of later batches are younger, which is the order in which Spark's file source takes them.
    """
    name = f"{orders.name}-{kind}-{len(sizes)}x{sizes[0]}-{sizes[-1]}"
    target = folder / name
    if target.exists():
        return target
    unfinished = folder / f"{name}.part"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    rows = sum(sizes)
    number = 0
    for start, stop in batches(sizes):
        columns = orders.columns(start, stop)
        for partition in (0, 1):
            chosen = columns["partition"] == partition
            part = {name: values[chosen] for name, values in columns.items()}
            _write(table(part), unfinished, number, partition, kind)
        number += 1
    for turn in (0, 1):
        for partition in (0, 1):
            _write(table(closing(orders, rows, partition, turn)), unfinished, number, partition, kind)
        number += 1
    unfinished.rename(target)
    return target


def _write(rows: pa.Table, folder: Path, number: int, partition: int, kind: str) -> None:
    path = folder / f"batch-{number:04}-{partition}.{kind}"
    if kind == "parquet":
        pq.write_table(rows, path, compression="snappy")
    else:
        _write_csv(rows, path)
    os.utime(path, (BASE / 1_000 + number, BASE / 1_000 + number))


def write_partitions(orders: Orders, rows: int, folder: Path) -> Path:
    """A folder with one CSV file for each partition, for engines that read their input in one go."""
    target = folder / f"{orders.name}-csv-{rows}"
    if target.exists():
        return target
    unfinished = folder / f"{target.name}.part"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for start in range(0, rows, 10 * CHUNK):
        columns = orders.columns(start, min(start + 10 * CHUNK, rows))
        for partition in (0, 1):
            chosen = columns["partition"] == partition
            part = {name: values[chosen] for name, values in columns.items()}
            _write_csv(table(part), unfinished / f"partition-{partition}.csv")
    for turn in (0, 1):
        for partition in (0, 1):
            _write_csv(table(closing(orders, rows, partition, turn)), unfinished / f"partition-{partition}.csv")
    unfinished.rename(target)
    return target


def _write_csv(rows: pa.Table, path: Path) -> None:
    """Append rows without a header; timestamps are milliseconds, the cheapest form for everybody."""
    millis = rows.column("ts").cast(pa.int64())
    rows = rows.set_column(3, "ts", pc.divide(millis, 1_000))
    with path.open("ab") as out:
        pacsv.write_csv(rows, out, pacsv.WriteOptions(include_header=False, quoting_style="none"))
