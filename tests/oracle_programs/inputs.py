"""Random inputs: elements with their timestamps, and the watermarks that follow some of them."""

from __future__ import annotations

import random
from typing import NamedTuple

KEYS = ("a", "b", "c", "d")


class Element(NamedTuple):
    timestamp: int
    watermark: int | None
    key: str
    id: int
    number: int


def disordered(chooser: random.Random, count: int, start: int) -> list[Element]:
    """Elements around a time that goes on, some far behind it; watermarks that jump, stand still and go back."""
    keys = KEYS[: chooser.randint(1, len(KEYS))]
    pace = chooser.choice([1, 2, 2, 4])
    elements = []
    now = start
    for name in range(count):
        now += chooser.choice([0, pace, pace, 2 * pace])
        if chooser.random() < 0.06:
            now += 25
        behind = chooser.choice([0, 0, 1, 3, 6, 9, 14])
        if chooser.random() < 0.12:
            behind += 25
        timestamp = now - behind + chooser.choice([0, 0, 0, 4])
        elements.append(
            Element(timestamp, _watermark(chooser, now, timestamp), chooser.choice(keys), name, chooser.randint(0, 9))
        )
    return elements


def _watermark(chooser: random.Random, now: int, timestamp: int) -> int | None:
    """Often none, often near the time, and now and then where rules turn: at a timestamp, or one beside it."""
    draw = chooser.random()
    if draw < 0.45:
        return None
    if draw < 0.8:
        return now - chooser.randint(0, 9)
    if draw < 0.95:
        return timestamp + chooser.choice([-1, 0, 1])
    return now + 12


def punctual(chooser: random.Random, count: int, start: int, first_id: int = 0) -> list[Element]:
    """Out of order, but no element is behind a watermark before it.

    For programs with two sources: Flink reads them in any order, so that only elements that are on time for their own
    source are on time in every run.
    """
    keys = KEYS[: chooser.randint(1, 3)]
    elements = []
    now, passed = start, start - 30
    for name in range(first_id, first_id + count):
        now += chooser.choice([0, 1, 2, 5])
        timestamp = max(now - chooser.choice([0, 1, 4, 9]), passed + 1)
        watermark = None
        if chooser.random() < 0.5:
            watermark = now - chooser.randint(4, 12)
            passed = max(passed, watermark)
        elements.append(Element(timestamp, watermark, chooser.choice(keys), name, chooser.randint(0, 9)))
    return elements


def in_order_by_key(elements: list[Element]) -> list[Element]:
    """The same elements, each later than those of its key before it, so that no two sessions become one."""
    latest: dict[str, int] = {}
    ordered = []
    for element in elements:
        latest[element.key] = max(element.timestamp, latest.get(element.key, element.timestamp - 1) + 1)
        ordered.append(element._replace(timestamp=latest[element.key]))
    return ordered


def distinct_by_key(*sources: list[Element]) -> None:
    """Take out elements that have the key and the timestamp of another one."""
    seen: set[tuple[str, int]] = set()
    for elements in sources:
        kept = []
        for element in elements:
            if (element.key, element.timestamp) not in seen:
                seen.add((element.key, element.timestamp))
                kept.append(element)
        elements[:] = kept
