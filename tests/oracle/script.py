"""Scripts: what both sides do, as plain data, and how one is run on Tidegate.

A script is a dict with a `kind`, the settings of that kind and `steps`, lists that start with a verb. The result of a
step is plain data too. What a step means is said where Flink's side runs it, in `java/tidegate/oracle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.errors import TidegateError

Script = dict[str, Any]
Step = list[Any]
Results = list[Any]

ERROR = "error"
"""The result of a step that was refused, and of every step if the settings are."""


class Part(Protocol):
    """One of Tidegate's classes under a script."""

    def step(self, step: Step) -> Any: ...


def run(create: Callable[[Script], Part], script: Script) -> Results:
    """The result of every step."""
    try:
        part = create(script)
    except TidegateError:
        return [ERROR] * len(script["steps"])
    return [_tried(part, step) for step in script["steps"]]


def _tried(part: Part, step: Step) -> Any:
    try:
        return part.step(step)
    except TidegateError:
        return ERROR


def shown(progress: Iterable[Progress]) -> list[int | str]:
    """Watermarks as numbers, statuses as words."""
    return [item.timestamp if isinstance(item, Watermark) else _word(item) for item in progress]


def _word(status: WatermarkStatus) -> str:
    return "idle" if status is WatermarkStatus.IDLE else "active"
