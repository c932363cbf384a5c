"""A receiver for outputs: feed one input, then take what came out."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.watermark.records import Progress, Record, Watermark, WatermarkStatus
from tidegate.testing import ManualClock


class Received:
    """Keeps records, watermarks and statuses in the order of their arrival."""

    def __init__(self) -> None:
        self._items: list[Record | Progress] = []

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._items.append(Record(value, timestamp))

    def process_watermark(self, watermark: Watermark) -> None:
        self._items.append(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self._items.append(status)

    def take(self) -> list[Record | Progress]:
        """Everything since the last call."""
        items, self._items = self._items, []
        return items


@pytest.fixture
def received() -> Received:
    return Received()


@pytest.fixture
def others() -> tuple[Received, Received]:
    """Two more receivers, for outputs with several."""
    return Received(), Received()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
