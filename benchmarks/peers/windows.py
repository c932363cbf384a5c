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
