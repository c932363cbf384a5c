"""The watermark of an operator with several inputs.

The rule differs from the valve's in one point: an input that comes back from idleness counts at once, however far
behind it is, so the combined watermark stands still until it catches up. It never goes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME, check_timestamp
from tidegate.core.watermark.lowest import LowestWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import Rules, check_rules
from tidegate.errors import InvalidTypeError, InvalidValueError, UnknownChannelError


class CombinedWatermark:
    """Combines the inputs of one operator. Every call returns what the combination emitted, in order.

    >>> combined = CombinedWatermark(2)
    >>> combined.input_watermark(8, 0)
    []
    >>> combined.input_watermark(5, 1)
    [Watermark(timestamp=5)]
    """

    def __init__(self, inputs: int, *, rules: Rules = "fixed") -> None:
        if isinstance(inputs, bool) or not isinstance(inputs, int) or inputs < 1:
            raise InvalidValueError(f"a combination takes a number of inputs of 1 or more, got {inputs!r}")
        check_rules(rules)
        self._rules: Rules = rules
        self._ended_apart = rules == "fixed"
        self._watermarks = [MIN_TIME] * inputs
        self._idle = [False] * inputs
        self._counting = LowestWatermark()
        for index in range(inputs):
            self._counting.put(index, MIN_TIME)
        self._is_idle = False
        self._last_output = MIN_TIME

    @property
    def last_output(self) -> int:
        """The watermark last emitted, MIN_TIME before any."""
        return self._last_output

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def input_watermark(self, watermark: int | Watermark, input_index: int) -> list[Progress]:
        """A watermark arrived on an input. It turns an idle input active first."""
        timestamp = watermark.timestamp if isinstance(watermark, Watermark) else check_timestamp(watermark, "watermark")
        self._check(input_index)
        if self._ended_apart:
            if self._has_ended(input_index):
                return []
            if timestamp == MAX_TIME:
                return self._end(input_index)
        woken = self._wake(input_index) if self._idle[input_index] else []
        if timestamp <= self._watermarks[input_index]:
            return woken
        self._watermarks[input_index] = timestamp
        self._counting.put(input_index, timestamp)
        return woken + self._new_minimum()

    def input_status(self, status: WatermarkStatus, input_index: int) -> list[Progress]:
        """An input announced a status."""
        self._check(input_index)
        if not isinstance(status, WatermarkStatus):
            raise InvalidTypeError(f"input_status takes a WatermarkStatus, got {status!r}")
        becomes_idle = status is WatermarkStatus.IDLE
        if self._idle[input_index] == becomes_idle or (self._ended_apart and self._has_ended(input_index)):
            return []
        if not becomes_idle:
            return self._wake(input_index)
        self._idle[input_index] = True
        self._counting.discard(input_index)
        return self._after_loss()

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "combined",
            1,
            rules=self._rules,
            last_output=self._last_output,
            is_idle=self._is_idle,
            inputs=[list(pair) for pair in zip(self._watermarks, self._idle, strict=True)],
        )

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any]) -> CombinedWatermark:
        fields = open_snapshot(snapshot, "combined", 1)
        combined = cls(len(fields["inputs"]), rules=fields["rules"])
        combined._last_output = fields["last_output"]
        combined._is_idle = fields["is_idle"]
        for index, (watermark, is_idle) in enumerate(fields["inputs"]):
            combined._watermarks[index] = watermark
            combined._idle[index] = is_idle
            combined._counting.discard(index)
            if not is_idle and not (combined._ended_apart and watermark == MAX_TIME):
                combined._counting.put(index, watermark)
        return combined

    def _check(self, input_index: int) -> None:
        if type(input_index) is not int or not 0 <= input_index < len(self._watermarks):
            raise UnknownChannelError(f"there is no input {input_index!r}; inputs are 0 to {len(self._watermarks) - 1}")

    def _has_ended(self, input_index: int) -> bool:
        return self._watermarks[input_index] == MAX_TIME

    def _end(self, input_index: int) -> list[Progress]:
        was_idle = self._idle[input_index]
        self._watermarks[input_index] = MAX_TIME
        self._idle[input_index] = False
        self._counting.discard(input_index)
        if all(watermark == MAX_TIME for watermark in self._watermarks):
            emitted = self._announce(idle=False)
            self._last_output = MAX_TIME
            return [*emitted, Watermark.MAX]
        return [] if was_idle else self._after_loss()

    def _wake(self, input_index: int) -> list[Progress]:
        self._idle[input_index] = False
        self._counting.put(input_index, self._watermarks[input_index])
        return self._announce(idle=False) + self._new_minimum()

    def _after_loss(self) -> list[Progress]:
        if len(self._counting):
            return self._new_minimum()
        highest = max(w for w in self._watermarks if not (self._ended_apart and w == MAX_TIME))
        return self._advance(highest) + self._announce(idle=True)

    def _new_minimum(self) -> list[Progress]:
        minimum = self._counting.get()
        return [] if minimum is None else self._advance(minimum)

    def _advance(self, watermark: int) -> list[Progress]:
        if watermark <= self._last_output:
            return []
        self._last_output = watermark
        return [Watermark(watermark)]

    def _announce(self, *, idle: bool) -> list[Progress]:
        if self._is_idle == idle:
            return []
        self._is_idle = idle
        return [WatermarkStatus.IDLE if idle else WatermarkStatus.ACTIVE]
