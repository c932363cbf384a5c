"""The valve: many channels, one input.

Each channel has a watermark, a status, and is aligned or not. The output is the minimum over the aligned channels. A
channel that was idle and comes back behind the output is not aligned: it is left out until it catches up, so that it
cannot hold back an output that it could no longer influence. (`combine` is the other rule, for several inputs.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, check_timestamp
from tidegate.core.watermark.lowest import LowestWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError, InvalidValueError, UnknownChannelError

Rules = Literal["fixed", "flink-2.3"]
"""`fixed` is the corrected rule; `flink-2.3` is Flink's, which can lose the maximum, stall, or end time early."""


class Channel:
    """What valve and combination know of one channel or input."""

    __slots__ = ("is_active", "is_aligned", "watermark")

    def __init__(self, watermark: int = MIN_TIME, *, is_active: bool = True, is_aligned: bool = True) -> None:
        self.watermark = watermark
        self.is_active = is_active
        self.is_aligned = is_aligned

    @property
    def has_ended(self) -> bool:
        return self.watermark == MAX_TIME


class StatusWatermarkValve:
    """Combines the channels of one input. Every call returns what the valve emitted, in order.

    >>> valve = StatusWatermarkValve(2)
    >>> valve.input_watermark(25, 0)
    []
    >>> valve.input_watermark(10, 1)
    [Watermark(timestamp=10)]
    >>> valve.input_status(WatermarkStatus.IDLE, 1)
    [Watermark(timestamp=25)]
    """

    def __init__(self, channels: int = 0, *, rules: Rules = "fixed") -> None:
        if isinstance(channels, bool) or not isinstance(channels, int) or channels < 0:
            raise InvalidValueError(f"a valve takes a number of channels of 0 or more, got {channels!r}")
        check_rules(rules)
        self._rules: Rules = rules
        self._ended_apart = rules == "fixed"
        self._channels = {index: Channel() for index in range(channels)}
        self._next_channel = channels
        self._aligned = LowestWatermark()
        for index in self._channels:
            self._aligned.put(index, MIN_TIME)
        self._active = channels
        self._ended = 0
        self._is_idle = False
        self._last_output = MIN_TIME
        # The highest watermark of a channel that has not ended; None when the channel that held it ended or left.
        self._highest: int | None = MIN_TIME

    @property
    def last_output(self) -> int:
        """The watermark last emitted, MIN_TIME before any."""
        return self._last_output

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    @property
    def channels(self) -> Mapping[int, Channel]:
        """The channels by index, to look at."""
        return self._channels

    def input_watermark(self, watermark: int | Watermark, channel: int) -> list[Progress]:
        """A watermark arrived on `channel`."""
        timestamp = _timestamp(watermark)
        state = self._channel(channel)
        if timestamp == MAX_TIME and self._ended_apart:
            return self._end(channel, state)
        if self._is_idle or not state.is_active or timestamp <= state.watermark:
            return []
        state.watermark = timestamp
        if self._highest is not None and timestamp > self._highest:
            self._highest = timestamp
        if state.is_aligned or timestamp >= self._last_output:
            state.is_aligned = True
            self._aligned.put(channel, timestamp)
        return self._new_minimum()

    def input_status(self, status: WatermarkStatus, channel: int) -> list[Progress]:
        """`channel` announced a status."""
        state = self._channel(channel)
        if not isinstance(status, WatermarkStatus):
            raise InvalidTypeError(f"input_status takes a WatermarkStatus, got {status!r}")
        if self._ended_apart and state.has_ended:
            return []
        is_active = status is WatermarkStatus.ACTIVE
        if is_active == state.is_active:
            return []
        return self._wake(channel, state) if is_active else self._rest(channel, state)

    def add_channel(self) -> tuple[int, list[Progress]]:
        """A channel joins, active and aligned at MIN_TIME: it holds the output where it stands until it catches up."""
        index = self._next_channel
        self._next_channel += 1
        self._channels[index] = Channel()
        self._aligned.put(index, MIN_TIME)
        self._active += 1
        return index, self._announce_active()

    def remove_channel(self, channel: int) -> list[Progress]:
        """A channel leaves; the minimum is looked for again over those that stay."""
        state = self._channel(channel)
        del self._channels[channel]
        self._leave(channel, state)
        if state.has_ended and self._ended_apart:
            self._ended -= 1
            return []
        if state.is_active:
            self._active -= 1
        if not self._channels:
            return []
        return self._after_loss(was_active=state.is_active)

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "valve",
            1,
            rules=self._rules,
            last_output=self._last_output,
            is_idle=self._is_idle,
            next_channel=self._next_channel,
            channels=[[i, c.watermark, c.is_active, c.is_aligned] for i, c in self._channels.items()],
        )

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any]) -> StatusWatermarkValve:
        fields = open_snapshot(snapshot, "valve", 1)
        valve = cls(rules=fields["rules"])
        valve._last_output = fields["last_output"]
        valve._is_idle = fields["is_idle"]
        valve._next_channel = fields["next_channel"]
        valve._highest = None
        for index, watermark, is_active, is_aligned in fields["channels"]:
            state = valve._channels[index] = Channel(watermark, is_active=is_active, is_aligned=is_aligned)
            if valve._ended_apart and state.has_ended:
                valve._ended += 1
                continue
            valve._active += is_active
            if is_aligned:
                valve._aligned.put(index, watermark)
        return valve

    def _channel(self, channel: int) -> Channel:
        state = self._channels.get(channel) if type(channel) is int else None
        if state is None:
            raise UnknownChannelError(f"the valve has no channel {channel!r}; it has {_listed(self._channels)}")
        return state

    def _end(self, channel: int, state: Channel) -> list[Progress]:
        if state.has_ended:
            return []
        self._leave(channel, state)
        state.watermark = MAX_TIME
        state.is_aligned = False
        self._ended += 1
        was_active = state.is_active
        if was_active:
            self._active -= 1
        return self._after_loss(was_active=was_active)

    def _rest(self, channel: int, state: Channel) -> list[Progress]:
        state.is_active = False
        may_release = self._may_hold_output(state)
        self._unalign(channel, state)
        self._active -= 1
        if self._active:
            return self._new_minimum() if may_release else []
        flushes = self._ended_apart or state.watermark == self._last_output
        return [*(self._flush() if flushes else []), *self._announce_idle()]

    def _may_hold_output(self, state: Channel) -> bool:
        if self._ended_apart:
            return state.is_aligned
        # Flink looks again only where the channel's watermark is the last output; behind it is one that joined.
        return state.watermark == self._last_output or (state.is_aligned and state.watermark < self._last_output)

    def _wake(self, channel: int, state: Channel) -> list[Progress]:
        state.is_active = True
        self._active += 1
        if state.watermark >= self._last_output:
            state.is_aligned = True
            self._aligned.put(channel, state.watermark)
        emitted = self._announce_active()
        return emitted + self._new_minimum() if self._ended_apart else emitted

    def _after_loss(self, *, was_active: bool) -> list[Progress]:
        """A channel ended or left: the rest decides alone."""
        if self._ended == len(self._channels):
            if self._last_output == MAX_TIME:
                return []
            emitted = self._announce_active()
            self._last_output = MAX_TIME
            return [*emitted, Watermark.MAX]
        if not was_active:
            return []
        if self._active:
            return self._new_minimum()
        return [*self._flush(), *self._announce_idle()]

    def _new_minimum(self) -> list[Progress]:
        minimum = self._aligned.get()
        if minimum is None or minimum <= self._last_output:
            return []
        self._last_output = minimum
        return [Watermark(minimum)]

    def _flush(self) -> list[Progress]:
        """Every channel is idle: what the fastest of them knew holds for all."""
        if self._highest is None:
            self._highest = max((c.watermark for c in self._channels.values() if self._counts(c)), default=MIN_TIME)
        if self._highest <= self._last_output:
            return []
        self._last_output = self._highest
        return [Watermark(self._highest)]

    def _counts(self, state: Channel) -> bool:
        return not (self._ended_apart and state.has_ended)

    def _leave(self, channel: int, state: Channel) -> None:
        self._aligned.discard(channel)
        if state.watermark == self._highest:
            self._highest = None

    def _unalign(self, channel: int, state: Channel) -> None:
        state.is_aligned = False
        self._aligned.discard(channel)

    def _announce_idle(self) -> list[Progress]:
        if self._is_idle:
            return []
        self._is_idle = True
        return [WatermarkStatus.IDLE]

    def _announce_active(self) -> list[Progress]:
        if not self._is_idle:
            return []
        self._is_idle = False
        return [WatermarkStatus.ACTIVE]


def check_rules(rules: str) -> None:
    if rules not in get_args(Rules):
        raise InvalidValueError(f"rules must be one of {', '.join(get_args(Rules))}, got {rules!r}")


def _timestamp(watermark: int | Watermark) -> int:
    if isinstance(watermark, Watermark):
        return watermark.timestamp
    return check_timestamp(watermark, "watermark")


def _listed(channels: Iterable[int]) -> str:
    known = sorted(channels)
    if not known:
        return "none"
    if known == list(range(len(known))):
        return f"0 to {len(known) - 1}"
    return ", ".join(map(str, known[:10])) + (", ..." if len(known) > 10 else "")
