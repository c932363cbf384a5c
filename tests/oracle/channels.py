"""Tidegate's valve, combination and alignment group under a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.script import Script, Step, shown

from tidegate.core.watermark.alignment import AlignmentGroup, AlignmentParameters
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import WatermarkStatus
from tidegate.core.watermark.valve import Rules, StatusWatermarkValve

_STATUS = {"idle": WatermarkStatus.IDLE, "active": WatermarkStatus.ACTIVE}


class Channels:
    """A valve or a combination. With `cuts`, a snapshot and a restore after every step, which must not be seen."""

    def __init__(self, machine: StatusWatermarkValve | CombinedWatermark, *, cuts: bool = False) -> None:
        self._machine = machine
        self._cuts = cuts

    def step(self, step: Step) -> Any:
        verb, channel = step[:2]
        if verb == "watermark":
            progress = self._machine.input_watermark(step[2], channel)
        else:
            progress = self._machine.input_status(_STATUS[verb], channel)
        if self._cuts:
            self._machine = type(self._machine).restore(self._machine.snapshot())
        return shown(progress)


def valve(rules: Rules, *, cuts: bool = False) -> Callable[[Script], Channels]:
    return lambda script: Channels(StatusWatermarkValve(script["channels"], rules=rules), cuts=cuts)


def combination(rules: Rules, *, cuts: bool = False) -> Callable[[Script], Channels]:
    return lambda script: Channels(CombinedWatermark(script["channels"], rules=rules), cuts=cuts)


class Alignment:
    """A group without drift, whose limit is its lowest watermark. Every report is an update."""

    def __init__(self, script: Script) -> None:
        self._group = AlignmentGroup(AlignmentParameters("group", max_drift=0, update_interval=1))
        self._channels = [self._group.add_channel() for _ in range(script["channels"])]
        self._now = 0

    def step(self, step: Step) -> Any:
        _, channel, watermark = step
        self._group.report(self._channels[channel], watermark)
        self._now += 1
        return self._group.update(self._now)
