"""The time core at work, without Spark: three partitions, one that lags and one that goes idle.

Each partition has its own timestamps-and-watermarks operator; their watermarks meet in one valve. The clock is set by
the script, so every run shows the same. On a terminal the steps appear one after the other; piped, the table is plain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.time.duration import Duration
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.testing import ManualClock

PARTITIONS = ("steady", "lagging", "silent")
BOUND = 1_000
IDLE_TIMEOUT = 1_500
TICK = 500
SECONDS_ON_A_TERMINAL = 1.5

# (arrives at, partition, event time) in milliseconds. "lagging" runs 2 s behind the clock; "silent" says nothing for
# 4 s, and then comes back with an old record.
STREAM = (
    (10_300, "steady", 10_200),
    (10_310, "lagging", 8_300),
    (10_320, "silent", 10_000),
    (10_800, "steady", 10_700),
    (10_810, "lagging", 8_800),
    (10_820, "silent", 10_200),
    (11_300, "steady", 10_400),
    (11_310, "lagging", 9_200),
    (11_800, "steady", 11_800),
    (11_810, "lagging", 9_900),
    (12_300, "steady", 12_200),
    (12_310, "lagging", 10_400),
    (12_800, "steady", 12_700),
    (12_810, "lagging", 10_700),
    (13_300, "steady", 13_300),
    (13_310, "lagging", 11_400),
    (13_800, "steady", 13_100),
    (13_810, "lagging", 11_800),
    (14_300, "steady", 14_200),
    (14_310, "lagging", 12_400),
    (14_320, "lagging", 10_600),
    (14_800, "silent", 11_100),
    (14_810, "steady", 14_800),
    (14_820, "lagging", 12_700),
    (15_300, "silent", 15_200),
    (15_310, "steady", 15_300),
    (15_320, "lagging", 13_400),
)
START = 10_000
END = 15_500


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the table."""

    clock: int
    event: str
    partitions: tuple[str, ...]
    output: str
    is_late: bool


class Join:
    """What stands behind the valve: it sees records and progress in order, and knows which records come late."""

    def __init__(self, partitions: int) -> None:
        self.valve = StatusWatermarkValve(partitions)
        self.emitted: list[Progress] = []
        self.is_late = False

    def record(self, timestamp: int) -> None:
        self.is_late = timestamp <= self.valve.last_output


class Channel:
    """A partition's way into the valve."""

    def __init__(self, join: Join, index: int) -> None:
        self._join = join
        self._index = index

    def process_element(self, value: Any, timestamp: int | None) -> None:
        assert timestamp is not None, value
        self._join.record(timestamp)

    def process_watermark(self, watermark: Watermark) -> None:
        self._join.emitted += self._join.valve.input_watermark(watermark, self._index)

    def process_status(self, status: WatermarkStatus) -> None:
        self._join.emitted += self._join.valve.input_status(status, self._index)


class Demo:
    """Feeds the stream to the core and tells each step."""

    def __init__(self) -> None:
        strategy = (
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND))
            .with_timestamp_assigner(lambda event, _: event["time"])
            .with_idleness(Duration.of_millis(IDLE_TIMEOUT))
        )
        self.num_late = 0
        self.num_late_with_one_watermark = 0
        self._clock = ManualClock(START)
        self._join = Join(len(PARTITIONS))
        self._operators = [
            TimestampsAndWatermarksOperator(strategy, ChainedOutput(Channel(self._join, index)), self._clock)
            for index in range(len(PARTITIONS))
        ]
        # For comparison: one watermark for the whole query, from the highest event time of the ticks before.
        self._highest = MIN_TIME
        self._single = MIN_TIME

    def steps(self) -> Iterator[Step]:
        """Every record, and every probe that changed something."""
        pending = list(STREAM)
        previous = self._step("")
        for tick in range(START + TICK, END + 1, TICK):
            while pending and pending[0][0] <= tick:
                arrival, partition, timestamp = pending.pop(0)
                self._clock.advance_to(arrival)
                previous = self._feed(partition, timestamp)
                yield previous
            self._clock.advance_to(tick)
            for operator in self._operators:
                operator.on_periodic_emit()
            self._single = max(self._single, self._highest - BOUND)
            probe = self._step("probe")
            if probe.output or probe.partitions != previous.partitions:
                yield probe
            previous = probe
        for operator in self._operators:
            operator.process_watermark(Watermark.MAX)
        yield self._step("end of input")

    def _feed(self, partition: str, timestamp: int) -> Step:
        self._operators[PARTITIONS.index(partition)].process_element({"time": timestamp}, None)
        is_late = self._join.is_late
        self.num_late += is_late
        self.num_late_with_one_watermark += timestamp <= self._single
        self._highest = max(self._highest, timestamp)
        return self._step(f"{partition}: {seconds(timestamp)}", is_late=is_late)

    def _step(self, event: str, *, is_late: bool = False) -> Step:
        output = ", ".join(map(shown, self._join.emitted))
        self._join.emitted.clear()
        return Step(self._clock(), event, tuple(map(self._partition, range(len(PARTITIONS)))), output, is_late)

    def _partition(self, index: int) -> str:
        channel = self._join.valve.channels[index]
        watermark = seconds(self._operators[index].current_watermark)
        if channel.has_ended:
            return "ended"
        if not channel.is_active:
            return f"{watermark} idle"
        return watermark if channel.is_aligned else f"{watermark} behind"


def seconds(milliseconds: int) -> str:
    if milliseconds == MIN_TIME:
        return "-"
    return f"{milliseconds / 1_000:.3f}"


def shown(progress: Progress) -> str:
    if isinstance(progress, WatermarkStatus):
        return progress.value
    return "MAX" if progress.timestamp == MAX_TIME else seconds(progress.timestamp)


def cells(step: Step) -> tuple[str, ...]:
    return (seconds(step.clock), step.event, *step.partitions, step.output, "late" if step.is_late else "")


def table(steps: Sequence[Step], widths: Sequence[int]) -> Table:
    title = "Watermarks of three partitions, and of the valve behind them (seconds)"
    result = Table(title=title, box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    styles = ("", "", *["cyan"] * len(PARTITIONS), "bold green", "bold red")
    names = ("clock", "record or probe", *PARTITIONS, "valve emits", "late")
    for name, style, width in zip(names, styles, widths, strict=True):
        result.add_column(name, style=style, min_width=width, no_wrap=True)
    for step in steps:
        result.add_row(*cells(step), style="dim" if step.event == "probe" and not step.output else "")
    return result


def play(console: Console, steps: Sequence[Step], widths: Sequence[int]) -> None:
    """The last lines of the table, growing; then it disappears in favour of the whole table."""
    visible = max(console.height - 8, 5)
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for count in range(1, len(steps) + 1):
            live.update(table(steps[max(0, count - visible) : count], widths), refresh=True)
            time.sleep(SECONDS_ON_A_TERMINAL / len(steps))


def main() -> None:
    console = Console(highlight=False)
    console.print(
        "This shows Tidegate's time core by itself, without Spark. The Spark runtime does not exist yet.\n\n"
        f"Three partitions, one that lags and one that falls silent. A probe every {TICK / 1_000:g} s lets each emit "
        f"its highest timestamp minus {BOUND / 1_000:g} s minus 1 ms, and marks it idle after more than "
        f"{IDLE_TIMEOUT / 1_000:g} s of quiet probes. The valve emits the lowest of the three. A record is late if "
        "its timestamp is not above what the valve last emitted.\n"
    )
    demo = Demo()
    steps = list(demo.steps())
    widths = [max(map(len, column)) for column in zip(*map(cells, steps), strict=True)]
    if console.is_terminal:
        play(console, steps, widths)
    console.print(table(steps, widths))
    console.print(
        f"{len(STREAM)} records, {demo.num_late} of them late. What to look for:\n"
        "- 'lagging' is 2 s behind and holds the valve, so its records are in time.\n"
        "- 'silent' holds it too, until it is idle; the valve goes on without it.\n"
        "- 'silent' comes back behind the valve: late, and nobody waits for it.\n"
        "- The end of input is a watermark too: MAX.\n\n"
        "With one watermark for all partitions (the highest timestamp of the earlier probes, minus the same bound) "
        f"{demo.num_late_with_one_watermark} of the {len(STREAM)} records would have been late."
    )


if __name__ == "__main__":
    main()
