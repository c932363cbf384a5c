"""Offsets of Kafka's partitions: where reading begins, how far a batch goes, and who reads what. No broker needed.

A partition is named `topic/partition`, as its channel is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tidegate.errors import FetchError

Offsets = dict[str, int]
"""The next offset to read of each partition."""


class OffsetKind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    COMMITTED = "committed"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class OffsetRule:
    """Which offset a partition begins or ends at. `otherwise` is for partitions that the rule says nothing about."""

    kind: OffsetKind
    timestamp: int = 0
    given: tuple[tuple[str, int], ...] = ()
    otherwise: OffsetKind | None = None


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of a partition from offset `first` up to, and without, `until`."""

    partition: str
    first: int
    until: int

    @property
    def topic(self) -> str:
        return self.partition.rpartition("/")[0]

    @property
    def number(self) -> int:
        return int(self.partition.rpartition("/")[2])

    def __len__(self) -> int:
        return max(self.until - self.first, 0)


def next_offsets(start: Mapping[str, int], until: Mapping[str, int], max_rows: int | None) -> Offsets:
    """How far a batch may read: each partition in proportion to what waits there, so that none gets ahead.

    Every partition with something to read gets at least one offset, those where most waits first, as far as
    `max_rows` goes.

    >>> next_offsets({"t/0": 0, "t/1": 5}, {"t/0": 100, "t/1": 6}, 11)
    {'t/0': 10, 't/1': 6}
    """
    waiting = {name: max(until[name] - start[name], 0) for name in until}
    total = sum(waiting.values())
    if max_rows is None or total <= max_rows:
        return {name: start[name] + count for name, count in waiting.items()}
    ready = sorted((name for name in waiting if waiting[name]), key=lambda name: (-waiting[name], name))[:max_rows]
    left = max_rows - len(ready)
    shares = {name: 1 + left * (waiting[name] - 1) // total for name in ready}
    spare = max_rows - sum(shares.values())
    for name in ready:
        more = min(spare, waiting[name] - shares[name])
        shares[name] += more
        spare -= more
    return {name: start[name] + shares.get(name, 0) for name in until}


def ranges_between(start: Mapping[str, int], end: Mapping[str, int]) -> list[OffsetRange]:
    """What a batch reads of each partition."""
    found = [OffsetRange(name, start[name], end[name]) for name in end]
    return [part for part in found if len(part)]


def shared_out(ranges: Sequence[OffsetRange], tasks: int, least: int) -> list[list[OffsetRange]]:
    """The ranges cut into about equal shares, in order: one for each task, and none of fewer than `least` offsets."""
    total = sum(map(len, ranges))
    count = max(min(tasks, total // least), 1)
    shares: list[list[OffsetRange]] = [[] for _ in range(count)]
    done = 0
    for part in ranges:
        first = part.first
        while first < part.until:
            number = min(done * count // total, count - 1)
            border = -(-(number + 1) * total // count)
            until = min(part.until, first + border - done)
            shares[number].append(OffsetRange(part.partition, first, until))
            done += until - first
            first = until
    return [share for share in shares if share]


def check_nothing_lost(start: Mapping[str, int], earliest: Mapping[str, int], latest: Mapping[str, int]) -> None:
    """Refuse to go on where Kafka has deleted what was not read yet."""
    for name, first in start.items():
        if earliest.get(name, first) > first:
            raise lost(name, first, f"the first that is there has offset {earliest[name]}")
        if latest.get(name, first) < first:
            raise lost(name, first, f"it ends at offset {latest[name]}; the topic seems to have been made anew")


def lost(partition: str, first: int, why: str) -> FetchError:
    return FetchError(
        f"KafkaSource: partition {partition} has lost the records from offset {first} on: {why}. Keep records longer "
        "(retention.ms) and start from a new checkpoint, or go on without them: set_fail_on_data_loss(False)"
    )
