"""The windows that are compared, as data that every job understands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Times in milliseconds. Tumbling windows have `slide == size`, sessions have only a gap."""

    name: str
    size: int = 0
    slide: int = 0
    gap: int = 0
    title: str = ""


WINDOWS = {
    window.name: window
    for window in (
        Window("tumbling", 60_000, 60_000, title="tumbling windows of 60 s"),
        Window("sliding", 60_000, 10_000, title="windows of 60 s every 10 s"),
        Window("session", gap=10_000, title="sessions with a gap of 10 s"),
        Window("day", 86_400_000 * 20, 86_400_000 * 20, title="one window that stays open"),
    )
}

NAMES = ("user", "window_start", "window_end", "orders", "total", "biggest")
"""The columns of results."""
FACTORS = (
    dict(zip(NAMES, (0x1D872B41, 0x2F0B4C47, 0x165667B1, 0x7FEB352D, 0x5C4D5A1B, 0x45D9F3B), strict=True)),
    dict(zip(NAMES, (0x27D4EB2F, 0x6C62272D, 0x3C6EF373, 0x119DE1F3, 0x344B5409, 0x2545F491), strict=True)),
)
"""What each column of a row is multiplied by, in the two sums whose product is the hash of the row."""
