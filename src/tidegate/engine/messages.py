"""What travels between subtasks: typed messages, each on one edge of the plan.

A message that enters a source names it by uid instead, because it may wait where it outlives the program: edges are
numbered anew when a program changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate.core.watermark.records import Progress

Order = tuple[Any, ...]
"""`(position, channel, index, index, ...)`: where a message stands among all. That of an output is its cause's with its
own index behind it, so results come in the order of what caused them, through every stage."""

Port = int | str
"""The number of an edge, or the uid of the source that a message enters."""


class Target(NamedTuple):
    """A subtask of a stage, or of a sink."""

    stage: int
    subtask: int


class Element(NamedTuple):
    """One record; the key is None where the input is not keyed."""

    order: Order
    port: Port
    channel: str
    key: Any
    value: Any
    timestamp: int | None


class Moved(NamedTuple):
    """A watermark or a status on a channel."""

    order: Order
    port: Port
    channel: str
    progress: Progress


class Joined(NamedTuple):
    """A channel that exists: receivers count it from now on."""

    order: Order
    port: Port
    channel: str


class Summary(NamedTuple):
    """What a part of a batch did to a channel of a source.

    Its highest timestamp, and the first place of its records in the sequence of the channel.
    """

    port: str
    channel: str
    highest: int
    first: int | None


class Records(NamedTuple):
    """Records as columns."""

    port: Port
    table: pa.Table


class Partials(NamedTuple):
    """Partial aggregates as columns."""

    port: Port
    table: pa.Table


class Results(NamedTuple):
    """Results as columns, on their way to a sink."""

    order: Order
    port: Port
    channel: str
    table: pa.Table


class Tick(NamedTuple):
    """Nothing but a reason to run: the clock has moved. `now` is the time where a test sets it."""

    now: int | None = None


class Ended(NamedTuple):
    """The input has ended: every channel of every source in the stage."""


class Closing(NamedTuple):
    """A run ends in good order: its functions are closed behind this batch. For another run it means nothing."""

    run_id: str


class Retired(NamedTuple):
    """For a subtask that is no more since the job was rescaled: what is stored of it goes."""


class Report(NamedTuple):
    """What the operators of a subtask count and measure, by uid."""

    subtask: int
    metrics: Mapping[str, Mapping[str, int]]


OrderedMessage = Element | Moved | Joined | Results
Message = OrderedMessage | Summary | Records | Partials | Report | Tick | Ended | Closing | Retired
