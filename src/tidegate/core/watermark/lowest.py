"""The lowest watermark of many channels, in O(log channels) per change."""

from __future__ import annotations

import heapq

_SLACK = 64


class LowestWatermark:
    """A set of channels with watermarks that knows its minimum.

    Changes push onto a heap and leave the old entry behind; stale entries are dropped when they reach the top, or
    all at once when they outnumber the live ones, so both time and memory stay bounded.

    >>> lowest = LowestWatermark()
    >>> lowest.put(0, 20); lowest.put(1, 10); lowest.put(1, 30)
    >>> lowest.get()
    20
    """

    def __init__(self) -> None:
        self._watermarks: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._watermarks)

    def __contains__(self, channel: int) -> bool:
        return channel in self._watermarks

    def put(self, channel: int, watermark: int) -> None:
        """Add the channel, or move it."""
        self._watermarks[channel] = watermark
        heapq.heappush(self._heap, (watermark, channel))
        if len(self._heap) > 2 * len(self._watermarks) + _SLACK:
            self._heap = [(value, key) for key, value in self._watermarks.items()]
            heapq.heapify(self._heap)

    def discard(self, channel: int) -> None:
        self._watermarks.pop(channel, None)

    def get(self) -> int | None:
        """The minimum, None if there is no channel."""
        heap = self._heap
        watermarks = self._watermarks
        while heap:
            watermark, channel = heap[0]
            if watermarks.get(channel) == watermark:
                return watermark
            heapq.heappop(heap)
        return None
