"""A window operator under control: elements are `(key, value)`, results say which window fired with which values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tidegate.core.function.functions import ProcessWindowFunction
from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.time.duration import Time
from tidegate.core.window.assigners import WindowAssigner
from tidegate.core.window.evictors import Evictor
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.window_functions import ListContents
from tidegate.core.window.window_operator import WindowSpec
from tidegate.core.window.windows import TimeWindow
from tidegate.testing import OneInputHarness

ms = Time.milliseconds
LATE = OutputTag("late")


class Fired(NamedTuple):
    key: Any
    span: tuple[int, ...] | None
    values: list[Any]


class Listing(ProcessWindowFunction):
    """All values of the window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Fired]:
        window = context.window()
        yield Fired(key, tuple(window) if isinstance(window, TimeWindow) else None, [value for _, value in elements])


class Windowing(OneInputHarness):
    """`add` feeds, `fired` takes what came out."""

    def __init__(
        self,
        assigner: WindowAssigner,
        trigger: Trigger | None = None,
        evictor: Evictor | None = None,
        *,
        lateness: int = 0,
        late_output: OutputTag | None = None,
        function: Any = None,
    ) -> None:
        spec = WindowSpec(
            assigner, ListContents(), function or Listing(), trigger, evictor, lateness, late_output, is_keyed=True
        )
        super().__init__(spec, key_selector=0)

    def add(self, value: Any, timestamp: int | None = None, key: Any = "a") -> list[Any]:
        self.process_element((key, value), timestamp)
        return self.fired()

    def advance(self, watermark: int) -> list[Any]:
        self.process_watermark(watermark)
        return self.fired()

    def at(self, processing_time: int) -> list[Any]:
        self.set_processing_time(processing_time)
        return self.fired()

    def fired(self) -> list[Any]:
        return [record.value for record in self.outputs()]
