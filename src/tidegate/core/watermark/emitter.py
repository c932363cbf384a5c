"""The emitter: the gate behind a generator that never lets time go back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MAX_TIME, MIN_TIME
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.errors import InvalidTypeError


class WatermarkEmitter:
    """A `WatermarkOutput` that sends only news.

    A watermark that is not greater than the last is dropped; a greater one from an idle channel announces active
    first; a status is announced once per change; after `Watermark.MAX` nothing follows.
    """

    def __init__(self, send: Callable[[Progress], None]) -> None:
        self._send = send
        self._current = MIN_TIME
        self.is_idle = False
        """Whether the last status sent was idle."""

    @property
    def current_watermark(self) -> int:
        return self._current

    @property
    def has_ended(self) -> bool:
        return self._current == MAX_TIME

    def emit_watermark(self, watermark: Watermark) -> None:
        if not isinstance(watermark, Watermark):
            raise InvalidTypeError(f"emit_watermark takes a Watermark, got {watermark!r}")
        if watermark.timestamp <= self._current:
            return
        self.mark_active()
        self._current = watermark.timestamp
        self._send(watermark)

    def mark_idle(self) -> None:
        if not self.is_idle and not self.has_ended:
            self.is_idle = True
            self._send(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        if self.is_idle and not self.has_ended:
            self.is_idle = False
            self._send(WatermarkStatus.ACTIVE)

    def snapshot(self) -> Snapshot:
        return make_snapshot("emitter", 1, current=self._current, is_idle=self.is_idle)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "emitter", 1)
        self._current = fields["current"]
        self.is_idle = fields["is_idle"]
