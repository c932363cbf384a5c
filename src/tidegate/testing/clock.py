"""A clock that moves only when told to."""

from __future__ import annotations

from tidegate.errors import InvalidValueError


class ManualClock:
    """Processing time under the control of a test.

    >>> clock = ManualClock()
    >>> clock.advance_to(200)
    >>> clock()
    200
    """

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def __call__(self) -> int:
        return self._now

    def advance_to(self, now: int) -> None:
        if now < self._now:
            raise InvalidValueError(f"processing time does not go back: it is {self._now}, asked for {now}")
        self._now = now

    def advance(self, milliseconds: int) -> None:
        self.advance_to(self._now + milliseconds)
