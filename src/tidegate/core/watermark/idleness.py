"""The idle countdown of one channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.errors import InvalidValueError


class IdlenessCountdown:
    """Decides when a channel without events is idle.

    The countdown starts at the first probe that saw no event since the probe before, not at the last event, and the
    channel is idle when strictly more than `timeout` has passed since. The next event makes it active at once.

    The clock stands still between `pause` and `resume`: a channel that nobody reads is not silent, it is not heard.

    >>> countdown = IdlenessCountdown(100)
    >>> [countdown.probe(now) for now in (50, 150, 151)]
    [False, False, True]
    """

    def __init__(self, timeout: int) -> None:
        if timeout <= 0:
            raise InvalidValueError(f"idle timeout must be longer than 0 ms, got {timeout} ms")
        self._timeout = timeout
        self._started_at: int | None = None
        self._had_event = False
        self._paused_at: int | None = None
        self._is_idle = False

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def event(self) -> bool:
        """An event came. Returns True if that ends an idle phase."""
        self._had_event = True
        was_idle = self._is_idle
        self._is_idle = False
        return was_idle

    def probe(self, now: int) -> bool:
        """Check at `now`. Returns True if the channel has just become idle."""
        if self._had_event:
            self._had_event = False
            self._started_at = None
            return False
        if self._is_idle or self._paused_at is not None:
            return False
        if self._started_at is None:
            self._started_at = now
            return False
        self._is_idle = now - self._started_at > self._timeout
        return self._is_idle

    def pause(self, now: int) -> None:
        """The channel is not offered for reading from `now` on."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: int) -> None:
        """The channel is read again; the time in between does not count."""
        if self._paused_at is None:
            return
        if self._started_at is not None:
            self._started_at += now - self._paused_at
        self._paused_at = None

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "idleness", 1, is_idle=self._is_idle, started_at=self._started_at, had_event=self._had_event
        )

    def restore(self, snapshot: Mapping[str, Any], *, is_restart: bool = True) -> None:
        """Go on from a snapshot. After a restart only the status counts, and the countdown starts anew.

        A backlog must never find its channel idle because the job was down. A runtime that brings its operators back
        for every batch says that it is no restart.
        """
        fields = open_snapshot(snapshot, "idleness", 1)
        self._is_idle = fields["is_idle"]
        self._started_at = None if is_restart else fields["started_at"]
        self._had_event = not is_restart and fields["had_event"]
        self._paused_at = None
