"""The stream of the demo: three partitions out of order, one that lags and one that goes idle; and its program.

Event time runs ten times as fast as the clock, so that twenty seconds show more than three minutes of traffic.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tidegate.core.function.functions import ProcessWindowFunction
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.source.source import SourceFunction
from tidegate.core.source.source_context import SourceContext
from tidegate.core.watermark.records import Watermark
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.datastream.sources import FunctionSource
from tidegate.datastream.stream_execution_environment import StreamExecutionEnvironment
from tidegate.datastream.window import TumblingEventTimeWindows

START: Final = 1_767_268_800_000
"""Noon of the first of January 2026 in UTC, where the event time of the demo begins."""
SPEED: Final = 10
WINDOW: Final = 20_000
OUT_OF_ORDERNESS: Final = 5_000
ALLOWED_LATENESS: Final = 10_000
LAG: Final = 40_000
IDLE_TIMEOUT: Final = 1_000
"""Of the clock, as idleness is; the others are event time."""

_PAUSE: Final = 0.25
_SALES_AT_ONCE: Final = 5
_PRODUCTS: Final = ("coffee", "tea")
_QUIET: Final = (0.25, 0.75)
_STRAGGLER_EVERY: Final = 15
_LATE_EVERY: Final = 40


class Sale(NamedTuple):
    """An element of the stream; `arrival` is the milliseconds from the start of the demo."""

    partition: str
    product: str
    time: int
    arrival: int


class Fired(NamedTuple):
    """What a window gives when it fires."""

    product: str
    start: int
    end: int
    sales: int


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a partition behaves; times in milliseconds of event time."""

    name: str
    lag: int = 0
    has_stragglers: bool = False
    goes_quiet: bool = False


PARTITIONS: Final = (
    Behaviour("steady"),
    Behaviour("lagging", lag=LAG, has_stragglers=True),
    Behaviour("silent", goes_quiet=True),
)


class Gate:
    """Holds the partitions back until Spark is warm: their clock starts when their first record has come through."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        self._opened.set()

    def wait(self, seconds: float) -> bool:
        return self._opened.wait(seconds)

    def __reduce__(self) -> Any:
        # It is used in the driver's process only; a copy elsewhere is never asked.
        return Gate, ()


class PartitionSource(SourceFunction):
    """One partition: a first record, and behind the gate a stream for some seconds of the clock."""

    def __init__(self, behaviour: Behaviour, seconds: float, gate: Gate) -> None:
        self._behaviour = behaviour
        self._seconds = seconds
        self._gate = gate
        self._is_cancelled = False

    def run(self, ctx: SourceContext) -> None:
        numbers = random.Random(self._behaviour.name)
        ctx.collect(self._at(0.0, self._behaviour.lag, numbers))
        while not self._gate.wait(0.05):
            if self._is_cancelled:
                return
        self._stream(ctx, numbers)

    def _stream(self, ctx: SourceContext, numbers: random.Random) -> None:
        started = time.monotonic()
        number = 0
        was_quiet = False
        while not self._is_cancelled:
            elapsed = time.monotonic() - started
            if elapsed >= self._seconds:
                return
            share = elapsed / self._seconds
            if self._behaviour.goes_quiet and _QUIET[0] <= share < _QUIET[1]:
                was_quiet = True
            else:
                if was_quiet:
                    was_quiet = False
                    for sale in self._backlog(elapsed, numbers):
                        ctx.collect(sale)
                for _ in range(_SALES_AT_ONCE):
                    number += 1
                    ctx.collect(self._sale(number, elapsed, numbers))
            time.sleep(_PAUSE)

    def cancel(self) -> None:
        self._is_cancelled = True

    def _sale(self, number: int, elapsed: float, numbers: random.Random) -> Sale:
        delay = self._behaviour.lag + numbers.randrange(OUT_OF_ORDERNESS)
        if self._behaviour.has_stragglers:
            if number % _LATE_EVERY == 0:
                delay += OUT_OF_ORDERNESS + WINDOW + ALLOWED_LATENESS
            elif number % _STRAGGLER_EVERY == 0:
                delay += OUT_OF_ORDERNESS + WINDOW
        return self._at(elapsed, delay, numbers)

    def _backlog(self, elapsed: float, numbers: random.Random) -> Iterator[Sale]:
        """What a partition that comes back had kept: old, so some of it is late."""
        quiet = int((_QUIET[1] - _QUIET[0]) * self._seconds * 1_000 * SPEED)
        for delay in range(quiet, 0, -5_000):
            yield self._at(elapsed, delay, numbers)

    def _at(self, elapsed: float, delay: int, numbers: random.Random) -> Sale:
        event_time = START + int(elapsed * 1_000 * SPEED) - delay
        return Sale(self._behaviour.name, numbers.choice(_PRODUCTS), event_time, int(elapsed * 1_000))


class PartitionChannel(FunctionSource):
    """A partition as a source whose channel has the partition's name."""

    def __init__(self, behaviour: Behaviour, seconds: float, gate: Gate) -> None:
        super().__init__(PartitionSource(behaviour, seconds, gate))
        self._name = behaviour.name

    def channels(self) -> Sequence[str]:
        return (self._name,)


class CountSales(ProcessWindowFunction):
    """How many sales a window holds."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Fired]:
        window = context.window()
        yield Fired(key, window.start, window.end, sum(1 for _ in elements))


class CallbackSink(Sink):
    """Tells what arrives to functions of the driver's process; a copy elsewhere tells nobody."""

    def __init__(
        self,
        on_value: Callable[[Any], None] | None = None,
        on_watermark: Callable[[int], None] | None = None,
    ) -> None:
        self._on_value = on_value
        self._on_watermark = on_watermark

    def write(self, value: Any, context: SinkContext) -> None:
        if self._on_value is not None:
            self._on_value(value)

    def write_watermark(self, watermark: Watermark) -> None:
        if self._on_watermark is not None:
            self._on_watermark(watermark.timestamp)

    def __reduce__(self) -> Any:
        return CallbackSink, ()


class Listener:
    """What happens in the demo; the display is one."""

    def on_sale(self, sale: Sale) -> None:
        """A record has arrived."""

    def on_partition_watermark(self, partition: str, watermark: int) -> None:
        """The watermark of one partition."""

    def on_watermark(self, watermark: int) -> None:
        """The watermark behind all partitions, after the windows that it fires."""

    def on_window(self, fired: Fired) -> None:
        """A window has fired, for the first time or again."""

    def on_late(self, sale: Sale) -> None:
        """A record whose windows are gone."""


def build(env: StreamExecutionEnvironment, listener: Listener, seconds: float) -> None:
    """The program of the demo, as a user would write it."""
    gate = Gate()

    def on_sale(sale: Sale) -> None:
        gate.open()
        listener.on_sale(sale)

    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(f"{OUT_OF_ORDERNESS} ms")
        .with_timestamp_assigner(lambda sale, _: sale.time)
        .with_idleness(f"{IDLE_TIMEOUT} ms")
    )
    partitions = []
    for behaviour in PARTITIONS:
        sales = env.add_source(PartitionChannel(behaviour, seconds, gate), behaviour.name)
        stamped = sales.assign_timestamps_and_watermarks(strategy)
        stamped.sink_to(CallbackSink(on_sale, _for_partition(listener, behaviour.name)))
        partitions.append(stamped)
    late = OutputTag("late")
    counts = (
        partitions[0]
        .union(*partitions[1:])
        .key_by(lambda sale: sale.product)
        .window(TumblingEventTimeWindows.of(f"{WINDOW} ms"))
        .allowed_lateness(ALLOWED_LATENESS)
        .side_output_late_data(late)
        .process(CountSales())
    )
    counts.sink_to(CallbackSink(listener.on_window, listener.on_watermark))
    counts.get_side_output(late).sink_to(CallbackSink(listener.on_late))


def _for_partition(listener: Listener, partition: str) -> Callable[[int], None]:
    return lambda watermark: listener.on_partition_watermark(partition, watermark)


def late_with_one_watermark(sales: Sequence[Sale], every: int = 1_000) -> int:
    """How many of the sales one watermark for the whole stream would lose.

    It is the highest event time of the earlier ticks of `every` milliseconds minus the same bound, as in a query that
    has one watermark and moves it with each micro-batch. Allowed lateness is granted to it as well.
    """
    highest = watermark = -(2**63)
    tick = 0
    lost = 0
    for sale in sorted(sales, key=lambda sale: sale.arrival):
        if sale.arrival // every > tick:
            tick = sale.arrival // every
            watermark = max(watermark, highest - OUT_OF_ORDERNESS)
        window_end = sale.time - sale.time % WINDOW + WINDOW
        lost += window_end - 1 + ALLOWED_LATENESS <= watermark
        highest = max(highest, sale.time)
    return lost
