"""Random programs and their inputs as plain data: no runtime, no library.

`programs` draws them and builds them with the public API, `model` works out what they must give.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

MIN = -(2**63)
MAX = 2**63 - 1


# Windows


class Tumbling(NamedTuple):
    size: int
    offset: int = 0


class Sliding(NamedTuple):
    size: int
    slide: int
    offset: int = 0


class Session(NamedTuple):
    gap: int


class Global(NamedTuple):
    pass


class CountTumbling(NamedTuple):
    length: int


class CountSliding(NamedTuple):
    length: int
    every: int


Windows = Tumbling | Sliding | Session | Global | CountTumbling | CountSliding


# Triggers


class EventTime(NamedTuple):
    pass


class Count(NamedTuple):
    every: int


class Continuous(NamedTuple):
    interval: int


class Delta(NamedTuple):
    threshold: int


class Purging(NamedTuple):
    nested: EventTime | Count | Continuous | Delta


Trigger = EventTime | Count | Continuous | Delta | Purging


class Evictor(NamedTuple):
    """`kind` is count, time or delta."""

    kind: str
    amount: int
    is_after: bool = False


@dataclass(frozen=True)
class Stage:
    """A keyed window; `function` says how its elements are kept: process, aggregate or reduce."""

    windows: Windows
    trigger: Trigger | None = None
    evictor: Evictor | None = None
    lateness: int = 0
    has_late_output: bool = False
    function: str = "process"
    keys: int = 4
    """Keys are taken modulo this number."""


@dataclass(frozen=True)
class Program:
    """One window after the other. Where `stamps_records`, the watermarks are those that the records carry."""

    stages: tuple[Stage, ...]
    channels: int = 1
    parallelism: int = 1
    stamps_records: bool = False


# Inputs


class Element(NamedTuple):
    """What goes into a window: a key, a name that no other element has, and a number."""

    key: int
    name: Any
    number: int
    watermark: int | None = None


class Feed(NamedTuple):
    channel: int
    element: Element
    timestamp: int


class Mark(NamedTuple):
    """A watermark; MAX ends the channel."""

    channel: int
    timestamp: int


class Status(NamedTuple):
    channel: int
    is_idle: bool


Step = Feed | Mark | Status
Script = list[Step]


# Outputs


class Result(NamedTuple):
    """What a window gave: `names` are those of its elements, in order; a window without end has the span ()."""

    key: int
    span: tuple[int, ...]
    names: tuple[Any, ...]
    timestamp: int


class Late(NamedTuple):
    stage: int
    name: Any
    timestamp: int


@dataclass
class Outcome:
    """What one step of the input caused. Results and late records are in the order in which they came."""

    results: list[Result] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    watermarks: list[int] = field(default_factory=list)
    ends_with_watermark: bool = False


class Counts(NamedTuple):
    """How many records of a stage no window took, by reason."""

    to_late_output: int
    dropped: int
    in_no_window: int


@dataclass
class Run:
    outcomes: list[Outcome]
    counts: list[Counts]


def result_element(result: Result, keys: int) -> Element:
    """What a result is to the next stage."""
    return Element(result.key % keys, (result.key, result.span, result.names, result.timestamp), len(result.names))
