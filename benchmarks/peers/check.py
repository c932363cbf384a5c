"""Whether results are right: what the windows must hold, by numpy, and a checksum of what an engine wrote."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from benchmarks.peers.data import CHUNK, Orders
from benchmarks.peers.windows import FACTORS, NAMES, Window

Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checksum:
    """How many windows and orders, and a hash of all (user, window, aggregates) that does not depend on their order."""

    windows: int
    orders: int
    hash: str
    late: int = 0

    def __str__(self) -> str:
        late = f", {self.late:,} late" if self.late else ""
        return f"{self.windows:,} windows, {self.orders:,} orders, {self.hash}{late}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def checksum(results: Results) -> Checksum:
    """The hash is the sum of a product for each row; numbers of 64 bits wrap around."""
    sums = []
    for factors in FACTORS:
        parts = (results[name].astype(np.int64).view(np.uint64) * np.uint64(f) for name, f in factors.items())
        sums.append(sum(parts, np.zeros(len(results["user"]), np.uint64)))
    total = int((sums[0] * sums[1]).sum(dtype=np.uint64)) if len(sums[0]) else 0
    return Checksum(len(sums[0]), int(results["orders"].sum()), f"{total:016x}")


def expected(orders: Orders, rows: int, window: Window) -> Checksum:
    """What the windows over the first orders must hold; orders that are hopelessly late belong to none."""
    found = _expected(orders, rows, window)
    if not orders.late:
        return found
    return replace(found, late=int(orders.columns(0, rows)["is_far"].sum()))


def _expected(orders: Orders, rows: int, window: Window) -> Checksum:
    if window.gap:
        return checksum(_sessions(orders, rows, window.gap))
    slices = _merged([_slices(orders, start, min(start + 10 * CHUNK, rows), window.slide) for start in _steps(rows)])
    if window.slide == window.size:
        return checksum(_as_windows(slices, window))
    count = window.size // window.slide
    shifted = [slices | {"start": slices["start"] - number * window.slide} for number in range(count)]
    return checksum(_as_windows(_merged(shifted), window))


def _steps(rows: int) -> range:
    return range(0, rows, 10 * CHUNK)


def _slices(orders: Orders, start: int, stop: int, slide: int) -> Results:
    columns = orders.columns(start, stop)
    kept = ~columns["is_far"]
    ts, amount = columns["ts"][kept], columns["amount"][kept]
    slices = {"user": columns["user"][kept], "start": ts // slide * slide}
    return _grouped(slices | {"orders": np.ones_like(amount), "total": amount, "biggest": amount})


def _merged(parts: list[Results]) -> Results:
    return _grouped({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _grouped(rows: Results) -> Results:
    order = np.lexsort((rows["start"], rows["user"]))
    user, start = rows["user"][order], rows["start"][order]
    first = np.flatnonzero(np.r_[True, (user[1:] != user[:-1]) | (start[1:] != start[:-1])])
    return {
        "user": user[first],
        "start": start[first],
        "orders": np.add.reduceat(rows["orders"][order], first),
        "total": np.add.reduceat(rows["total"][order], first),
        "biggest": np.maximum.reduceat(rows["biggest"][order], first),
    }


def _as_windows(groups: Results, window: Window) -> Results:
    return groups | {"window_start": groups["start"], "window_end": groups["start"] + window.size}


def _sessions(orders: Orders, rows: int, gap: int) -> Results:
    columns = orders.columns(0, rows)
    order = np.lexsort((columns["ts"], columns["user"]))
    user, ts, amount = columns["user"][order], columns["ts"][order], columns["amount"][order]
    first = np.flatnonzero(np.r_[True, (user[1:] != user[:-1]) | (ts[1:] - ts[:-1] > gap)])
    last = np.r_[first[1:], len(ts)] - 1
    return {
        "user": user[first],
        "window_start": ts[first],
        "window_end": ts[last] + gap,
        "orders": last - first + 1,
        "total": np.add.reduceat(amount, first),
        "biggest": np.maximum.reduceat(amount, first),
    }


def written(folder: Path, *, is_updating: bool = False) -> Checksum:
    """The checksum of result files, without the closing orders.

    Files are Parquet, or CSV without a header; a row without a user is a late order. `is_updating` says that a window
    may be there several times, with more orders each time.
    """
    tables = [_read(path) for path in sorted(folder.rglob("*")) if path.is_file() and path.name[0] not in "_."]
    rows = pa.concat_tables(tables) if tables else pa.table({name: pa.array([], pa.int64()) for name in NAMES})
    late = rows.column("user").null_count
    if late:
        rows = rows.filter(pc.is_valid(rows.column("user")))
    results = {name: rows.column(name).to_numpy() for name in NAMES}
    kept = results["user"] >= 0
    results = {name: values[kept] for name, values in results.items()}
    return replace(checksum(_latest(results) if is_updating else results), late=late)


def _latest(results: Results) -> Results:
    order = np.lexsort((results["orders"], results["window_start"], results["user"]))
    user, start = results["user"][order], results["window_start"][order]
    last = np.flatnonzero(np.r_[(user[1:] != user[:-1]) | (start[1:] != start[:-1]), True])
    return {name: values[order][last] for name, values in results.items()}


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        rows = pq.read_table(path, columns=list(NAMES))
    else:
        kinds = dict.fromkeys(NAMES[1:], pa.int64()) | {"user": pa.string()}
        options = pacsv.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=True)
        if path.stat().st_size == 0:
            return pa.table({name: pa.array([], pa.int64()) for name in NAMES})
        rows = pacsv.read_csv(path, pacsv.ReadOptions(column_names=list(NAMES)), convert_options=options)
    columns = [_number(rows.column(name)) for name in NAMES]
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def _number(column: Any) -> Any:
    """Users without their letter; timestamps as milliseconds."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.cast(pc.utf8_slice_codeunits(column, 1), pa.int64())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    return column.cast(pa.int64())
