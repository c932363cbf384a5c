"""Watermark alignment: who may be read, so that a fast channel does not run away from the slowest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, add, check_timestamp
from tidegate.core.watermark.lowest import LowestWatermark
from tidegate.errors import InvalidTypeError, InvalidValueError, UnknownChannelError

DEFAULT_UPDATE_INTERVAL: Final = 1_000


@dataclass(frozen=True, slots=True)
class AlignmentParameters:
    """`with_watermark_alignment` as a value; times in milliseconds."""

    group: str
    max_drift: int
    update_interval: int = DEFAULT_UPDATE_INTERVAL

    def __post_init__(self) -> None:
        if not isinstance(self.max_drift, int) or not isinstance(self.update_interval, int):
            raise InvalidTypeError(
                f"alignment takes milliseconds, got drift {self.max_drift!r} and interval {self.update_interval!r}"
            )
        if self.max_drift < 0:
            raise InvalidValueError(f"alignment drift must not be negative, got {self.max_drift} ms")
        if self.update_interval <= 0:
            raise InvalidValueError(
                f"alignment update interval must be longer than 0 ms, got {self.update_interval} ms"
            )


class AlignmentGroup:
    """The channels of one alignment group, over all sources that name it.

    A channel may be read while its watermark is at most the lowest of the group plus the drift. Idle and finished
    channels do not hold the group; a channel that has not spoken yet does, at MIN_TIME, as it holds the valve. The
    limit is worked out anew once per update interval.

    >>> group = AlignmentGroup(AlignmentParameters("g", max_drift=10))
    >>> slow, fast = group.add_channel(), group.add_channel()
    >>> group.report(slow, 100); group.report(fast, 111); group.update(now=0)
    110
    >>> group.may_read(slow), group.may_read(fast)
    (True, False)
    """

    def __init__(self, parameters: AlignmentParameters) -> None:
        self._parameters = parameters
        self._watermarks: dict[int, int] = {}
        self._idle: set[int] = set()
        self._holding = LowestWatermark()
        self._next_channel = 0
        self._limit = MAX_TIME
        self._updated_at: int | None = None

    @property
    def limit(self) -> int:
        """The highest watermark that a channel may have and still be read."""
        return self._limit

    def add_channel(self) -> int:
        index = self._next_channel
        self._next_channel += 1
        self._watermarks[index] = MIN_TIME
        self._holding.put(index, MIN_TIME)
        return index

    def remove_channel(self, channel: int) -> None:
        self._check(channel)
        del self._watermarks[channel]
        self._idle.discard(channel)
        self._holding.discard(channel)

    def report(self, channel: int, watermark: int) -> None:
        """The channel's watermark by now; MAX_TIME says that it has finished."""
        self._check(channel)
        timestamp = check_timestamp(watermark, "alignment")
        self._watermarks[channel] = timestamp
        self._place(channel)

    def set_idle(self, channel: int, *, is_idle: bool) -> None:
        self._check(channel)
        if is_idle:
            self._idle.add(channel)
        else:
            self._idle.discard(channel)
        self._place(channel)

    def update(self, now: int) -> int:
        """Work out the limit if the update interval has passed since the last time. Returns the limit in force."""
        if self._updated_at is None or now - self._updated_at >= self._parameters.update_interval:
            self._updated_at = now
            lowest = self._holding.get()
            self._limit = MAX_TIME if lowest is None else add(lowest, self._parameters.max_drift)
        return self._limit

    def may_read(self, channel: int) -> bool:
        self._check(channel)
        return self._watermarks[channel] <= self._limit

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "alignment",
            1,
            channels=[[i, watermark, i in self._idle] for i, watermark in self._watermarks.items()],
            next_channel=self._next_channel,
            limit=self._limit,
        )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take the channels back. The interval starts anew: the first `update` works the limit out."""
        fields = open_snapshot(snapshot, "alignment", 1)
        self._watermarks = {index: watermark for index, watermark, _ in fields["channels"]}
        self._idle = {index for index, _, is_idle in fields["channels"] if is_idle}
        self._next_channel = fields["next_channel"]
        self._limit = fields["limit"]
        self._updated_at = None
        self._holding = LowestWatermark()
        for index in self._watermarks:
            self._place(index)

    def _place(self, channel: int) -> None:
        watermark = self._watermarks[channel]
        if channel in self._idle or watermark == MAX_TIME:
            self._holding.discard(channel)
        else:
            self._holding.put(channel, watermark)

    def _check(self, channel: int) -> None:
        if channel not in self._watermarks:
            raise UnknownChannelError(
                f"alignment group {self._parameters.group!r} has no channel {channel!r}; add_channel() gives one"
            )


def channels_to_read(parameters: AlignmentParameters, watermarks: Mapping[str, int]) -> list[str]:
    """Which of these channels may be read, for whoever plans ahead and has no clock.

    >>> channels_to_read(AlignmentParameters("g", max_drift=10), {"slow": 100, "fast": 111})
    ['slow']
    """
    group = AlignmentGroup(parameters)
    channels = {name: group.add_channel() for name in watermarks}
    for name, channel in channels.items():
        group.report(channel, watermarks[name])
    group.update(now=0)
    return [name for name, channel in channels.items() if group.may_read(channel)]
