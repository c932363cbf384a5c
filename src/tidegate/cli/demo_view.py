"""What the demo shows: a live picture on a terminal, plain lines where the output is piped, and a summary."""

from __future__ import annotations

import datetime
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from tidegate.cli.demo_stream import (
    ALLOWED_LATENESS,
    IDLE_TIMEOUT,
    LAG,
    OUT_OF_ORDERNESS,
    PARTITIONS,
    SPEED,
    WINDOW,
    Fired,
    Listener,
    Sale,
    late_with_one_watermark,
)
from tidegate.core.time.millis import MAX_TIME, MIN_TIME

_RECENT: Final = 10
_KINDS: Final = ("window ", "update ", "late ")
_NOTES: Final = {
    "steady": "on time, out of order",
    "lagging": f"{LAG // 1_000} s behind, with stragglers",
    "silent": "stops in between",
}


@dataclass(slots=True)
class PartitionView:
    """What is known of a partition."""

    name: str
    records: int = 0
    highest: int = MIN_TIME
    watermark: int = MIN_TIME


class DemoView(Listener):
    """Keeps what has happened; draws it when asked, or prints a line for each event.

    Events come from the thread of the job, drawing from that of the terminal.
    """

    def __init__(self, console: Console, *, is_live: bool) -> None:
        self._console = console
        self._is_live = is_live
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._partitions = {behaviour.name: PartitionView(behaviour.name) for behaviour in PARTITIONS}
        self._watermark = MIN_TIME
        self._recent: deque[Text] = deque(maxlen=_RECENT)
        self._fired: set[tuple[str, int]] = set()
        self._sales: list[Sale] = []
        self._were_idle: set[str] = set()
        self.num_windows = 0
        self.num_updates = 0
        self.num_late = 0
        self.first_window_after: float | None = None

    # What happens

    def on_sale(self, sale: Sale) -> None:
        with self._lock:
            if not self._sales:
                self._say(Text("Spark is warm: the stream begins", "bold"))
            self._sales.append(sale)
            partition = self._partitions[sale.partition]
            partition.records += 1
            partition.highest = max(partition.highest, sale.time)

    def on_partition_watermark(self, partition: str, watermark: int) -> None:
        with self._lock:
            self._partitions[partition].watermark = watermark

    def on_watermark(self, watermark: int) -> None:
        with self._lock:
            self._watermark = watermark
            self._were_idle |= {view.name for view in self._partitions.values() if self._state(view) == "idle"}
            if not self._is_live:
                partitions = "  ".join(f"{view.name} {self._state(view)}" for view in self._partitions.values())
                self._print(self._stamped(Text(f"watermark  {clock(watermark)}   ({partitions})")))

    def on_window(self, fired: Fired) -> None:
        with self._lock:
            if self.first_window_after is None:
                self.first_window_after = time.monotonic() - self._started
            is_update = (fired.product, fired.start) in self._fired
            self._fired.add((fired.product, fired.start))
            self.num_updates += is_update
            self.num_windows += not is_update
            what, style = ("update   ", "yellow") if is_update else ("window   ", "green")
            why = "  again, with a straggler" if is_update else ""
            span = f"{clock(fired.start)} - {clock(fired.end)}"
            self._say(Text(f"{what}  {span}  {fired.product:<6} {fired.sales:>4} sales{why}", style))

    def on_late(self, sale: Sale) -> None:
        with self._lock:
            self.num_late += 1
            self._say(
                Text(f"late       {clock(sale.time)}  {sale.product} from {sale.partition}: to the side output", "red")
            )

    # What is shown

    def __rich__(self) -> Group:
        with self._lock:
            return Group(self._table(), Text(), *self._recent)

    def score(self) -> int:
        """How many of the things that there are to see are in the picture now."""
        with self._lock:
            kinds = {kind for line in self._recent for kind in _KINDS if kind in line.plain}
            states = {self._state(view) for view in self._partitions.values()}
            return len(kinds) + 2 * ("idle" in states) - 2 * ("ended" in states)

    def introduction(self) -> str:
        return (
            f"Three partitions of one stream on a local Spark. Event time runs {SPEED} times as fast as the clock.\n"
            f"Windows of {WINDOW // 1_000} s, out of order by up to {OUT_OF_ORDERNESS // 1_000} s, "
            f"{ALLOWED_LATENESS // 1_000} s of allowed lateness; a partition is idle after "
            f"{IDLE_TIMEOUT // 1_000} s of silence.\nStarting Spark ..."
        )

    def summary(self) -> str:
        """The numbers at the end."""
        total = len(self._sales)
        lost = late_with_one_watermark(self._sales)
        first = "none" if self.first_window_after is None else f"{self.first_window_after:.1f} s after the start"
        lines = [
            f"{total} records, {self.num_windows} windows, {self.num_updates} updates by stragglers, "
            f"{self.num_late} late records in the side output; first window {first}.",
            f"'lagging' was {LAG // 1_000} s behind and held the watermark, so only its stragglers were late.",
        ]
        if "silent" in self._were_idle:
            lines.append("'silent' went idle and held nobody back; what it had kept came when its windows were gone.")
        lines.append(
            f"One watermark for the whole stream, moved once a second, would have lost {lost} of the {total} records."
        )
        return "\n".join(lines)

    def _table(self) -> Table:
        result = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="event time", title_justify="left")
        result.add_column("partition", no_wrap=True)
        for name in ("records", "newest", "watermark", ""):
            result.add_column(name, justify="right" if name else "left", no_wrap=True)
        for view in self._partitions.values():
            state = self._state(view)
            style = {"idle": "dim", "ended": "dim"}.get(state, "")
            holds = "  <- holds the watermark" if view.watermark == self._watermark and not style else ""
            shown = clock(view.watermark) if state != "idle" else f"{clock(view.watermark)} idle"
            result.add_row(
                view.name, str(view.records), clock(view.highest), shown, f"{_NOTES[view.name]}{holds}", style=style
            )
        result.add_section()
        counts = f"{self.num_windows} windows, {self.num_updates} updates, {self.num_late} late"
        result.add_row("all", str(len(self._sales)), "", clock(self._watermark), counts, style="bold")
        return result

    def _state(self, view: PartitionView) -> str:
        """A partition's watermark, or that it is idle: then that of all partitions is past it."""
        if view.watermark == MAX_TIME:
            return "ended"
        return "idle" if self._watermark > view.watermark else clock(view.watermark)

    def _say(self, line: Text) -> None:
        whole = self._stamped(line)
        self._recent.append(whole)
        if not self._is_live:
            self._print(whole)

    def _stamped(self, line: Text) -> Text:
        return Text.assemble((f"{time.monotonic() - self._started:5.1f} s  ", "dim"), line)

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def clock(event_time: int) -> str:
    """The time of day of an event, as the demo shows it."""
    if event_time == MIN_TIME:
        return "-"
    if event_time == MAX_TIME:
        return "the end"
    return datetime.datetime.fromtimestamp(event_time / 1_000, datetime.UTC).strftime("%H:%M:%S")
