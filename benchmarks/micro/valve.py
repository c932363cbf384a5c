"""What one watermark costs in the valve, by the number of channels.

`python benchmarks/micro/valve.py` measures 10, 1,000 and 10,000 channels and exits 1 if the largest costs more than
4 times the smallest. `--quick` runs a small version that checks the results and never fails on time.
"""

from __future__ import annotations

import argparse
import gc
import platform
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.valve import StatusWatermarkValve

SIZES = (10, 1_000, 10_000)
LIMIT = 4.0
INTERVAL = 200
"""Ragged traffic: every channel sends a watermark about this often, in milliseconds of a simulated clock."""
DISORDER = 2_000
"""Ragged traffic: a watermark is up to this far behind the simulated clock."""

Arguments = tuple[int, int]
"""A watermark and its channel."""


def ragged(channels: int, seed: int) -> Iterator[Arguments]:
    """As a shuffle delivers them: a random channel each time, rising within a channel, uneven across channels."""
    source = random.Random(seed)
    latest = [MIN_TIME] * channels
    first_of_each = source.sample(range(channels), channels)
    for step in count():
        channel = first_of_each[step] if step < channels else source.randrange(channels)
        clock = step * INTERVAL // channels
        latest[channel] = max(clock - source.randrange(DISORDER), latest[channel] + 1)
        yield latest[channel], channel


def lockstep(channels: int, seed: int) -> Iterator[Arguments]:
    """The hardest for the valve: channels take turns, so that every watermark moves the minimum and is emitted."""
    order = random.Random(seed).sample(range(channels), channels)
    return zip(count(), cycle(order), strict=False)


TRAFFIC = {"ragged": ragged, "lockstep": lockstep}


class Subject:
    """One valve under measurement. All its channels have spoken, and one round has warmed it up."""

    def __init__(self, traffic: str, channels: int, calls: int, seed: int) -> None:
        self.channels = channels
        self.nanos_per_watermark: list[float] = []
        self._calls = calls
        self._valve = StatusWatermarkValve(channels)
        self._latest = [MIN_TIME] * channels
        self._traffic = TRAFFIC[traffic](channels, seed)
        for watermark, channel in self._next(channels):
            self._valve.input_watermark(watermark, channel)
        emitted = sum(len(self._valve.input_watermark(*arguments)) for arguments in self._next(calls))
        self.emitting = emitted / calls

    def measure(self) -> None:
        """Time one round of calls. Their arguments are made before the clock starts."""
        arguments = self._next(self._calls)
        input_watermark = self._valve.input_watermark
        gc.collect()
        gc.disable()
        try:
            start = time.perf_counter_ns()
            for watermark, channel in arguments:
                input_watermark(watermark, channel)
            elapsed = time.perf_counter_ns() - start
        finally:
            gc.enable()
        self.nanos_per_watermark.append(elapsed / self._calls)

    def check(self) -> None:
        """The valve must be where its slowest channel is, or the time means nothing."""
        lowest = min(self._latest)
        if self._valve.last_output != lowest:
            sys.exit(f"{self.channels} channels: the valve is at {self._valve.last_output}, the slowest at {lowest}")

    def _next(self, calls: int) -> list[Arguments]:
        arguments = list(islice(self._traffic, calls))
        for watermark, channel in arguments:
            self._latest[channel] = watermark
        return arguments


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one kind of traffic and one number of channels."""

    traffic: str
    channels: int
    emitting: float
    median: float
    lowest: float
    highest: float
    ratio: float


def measure(traffic: str, *, rounds: int, calls: int, seed: int = 1) -> list[Row]:
    """Measure all sizes side by side: each round visits every size, and the order of the sizes turns."""
    subjects = [Subject(traffic, size, calls, seed) for size in SIZES]
    for number in range(rounds):
        turn = number % len(subjects)
        for subject in subjects[turn:] + subjects[:turn]:
            subject.measure()
    base = subjects[0].nanos_per_watermark
    rows = []
    for subject in subjects:
        subject.check()
        nanos = subject.nanos_per_watermark
        ratio = statistics.median(own / other for own, other in zip(nanos, base, strict=True))
        rows.append(
            Row(traffic, subject.channels, subject.emitting, statistics.median(nanos), min(nanos), max(nanos), ratio)
        )
    return rows


def show(rows: Sequence[Row], *, rounds: int, calls: int) -> None:
    print(f"StatusWatermarkValve.input_watermark, Python {platform.python_version()}")
    print(f"{rounds} rounds of {calls:,} watermarks for each size, sizes interleaved")
    print()
    print(
        f"{'traffic':<8}  {'channels':>8}  {'emitting':>8}  {'ns/watermark':>12}  {'lowest':>7}  {'highest':>7}"
        f"  {f'ratio to {SIZES[0]}':>11}"
    )
    for row in rows:
        print(
            f"{row.traffic:<8}  {row.channels:>8,}  {row.emitting:>8.1%}  {row.median:>12,.0f}  {row.lowest:>7,.0f}"
            f"  {row.highest:>7,.0f}  {row.ratio:>11.2f}"
        )
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cost per watermark in the valve, by the number of channels.")
    parser.add_argument("--quick", action="store_true", help="a small run that checks results and ignores the limit")
    options = parser.parse_args(arguments)
    rounds, calls = (3, 2_000) if options.quick else (9, 100_000)
    rows = [row for traffic in TRAFFIC for row in measure(traffic, rounds=rounds, calls=calls)]
    show(rows, rounds=rounds, calls=calls)
    if any(row.ratio <= 0 or (row.channels == SIZES[0] and row.ratio != 1) for row in rows):
        print("the ratios make no sense", file=sys.stderr)
        return 1
    if options.quick:
        print("quick run: the results are right, the times say nothing")
        return 0
    worst = max(row.ratio for row in rows if row.channels == SIZES[-1])
    verdict = "within" if worst <= LIMIT else "ABOVE"
    print(f"{SIZES[-1]:,} channels cost up to {worst:.2f} times {SIZES[0]}: {verdict} the limit of {LIMIT:g}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
