"""Tidegate's evictors under a script."""

from __future__ import annotations

from typing import Any, cast

from tests.oracle.script import Script, Step

from tidegate.core.time.duration import Time
from tidegate.core.window.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from tidegate.core.window.windows import GlobalWindow


def evictor(script: Script) -> Evictor:
    limit, after = script["limit"], script["after"]
    match script["evictor"]:
        case "count":
            return CountEvictor.of(limit, after)
        case "time":
            return TimeEvictor.of(Time.milliseconds(limit), after)
        case _:
            return DeltaEvictor.of(limit, lambda old, latest: old - latest, after)


class Evicting:
    def __init__(self, script: Script) -> None:
        self._evictor = evictor(script)

    def step(self, step: Step) -> Any:
        values = [TimestampedValue(*value) for value in step[1:]]
        context = cast("Any", None)
        self._evictor.evict_before(values, len(values), GlobalWindow(), context)
        before = [list(value) for value in values]
        self._evictor.evict_after(values, len(values), GlobalWindow(), context)
        return [before, [list(value) for value in values]]
