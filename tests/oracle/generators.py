"""Tidegate's assigning operator under a script: generators, idleness and the emitter behind them."""

from __future__ import annotations

from typing import Any

from tests.oracle.script import Script, Step, shown

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.time.duration import Time
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import WatermarkStrategy

START = 1_000
"""Where Flink's side starts its clock."""


def strategy(script: Script) -> WatermarkStrategy:
    name = script["strategy"]
    if name == "bounded":
        made = WatermarkStrategy.for_bounded_out_of_orderness(Time.milliseconds(script["bound"]))
    elif name == "ascending":
        made = WatermarkStrategy.for_monotonous_timestamps()
    else:
        made = WatermarkStrategy.no_watermarks()
    return made.with_idleness(Time.milliseconds(script["idleness"])) if "idleness" in script else made


class _Received:
    """Keeps what moves time."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def process_element(self, value: Any, timestamp: int | None) -> None:
        pass

    def process_watermark(self, watermark: Watermark) -> None:
        self.progress.append(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.progress.append(status)


class Generator:
    """The operator fed record by record. With `cuts`, saved and brought back after every step."""

    def __init__(self, script: Script, *, cuts: bool = False) -> None:
        self._strategy = strategy(script)
        self._cuts = cuts
        self._now = START
        self._is_paused = False
        self._received = _Received()
        self.output = ChainedOutput(self._received)
        self.operator = self._create()

    def _create(self) -> TimestampsAndWatermarksOperator:
        return TimestampsAndWatermarksOperator(self._strategy, self.output, lambda: self._now)

    def step(self, step: Step) -> Any:
        match step:
            case ["event", timestamp]:
                self.event(timestamp)
            case ["tick", milliseconds]:
                self._now += milliseconds
                self.operator.on_periodic_emit()
            case ["pause"]:
                self._is_paused = True
                self.operator.pause()
            case ["resume"]:
                self._is_paused = False
                self.operator.resume()
            case _:
                self.operator.process_watermark(Watermark.MAX)
        if self._cuts and not self._is_paused:
            saved = self.operator.snapshot()
            self.operator = self._create()
            self.operator.restore(saved, is_restart=False)
        progress, self._received.progress = self._received.progress, []
        return shown(progress)

    def event(self, timestamp: int) -> None:
        self.operator.process_element("event", timestamp)


class HighestGenerator(Generator):
    """The operator fed with the highest timestamp of a column, here of one record."""

    def event(self, timestamp: int) -> None:
        self.operator.process_highest(timestamp)


def cut_generator(script: Script) -> Generator:
    return Generator(script, cuts=True)
