"""The order in which answers and watermarks leave an asynchronous operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from tidegate.core.watermark.records import Progress


class Entry:
    """A request on its way, or a watermark or status between requests, which is complete when it arrives."""

    __slots__ = ("deadline", "error", "is_done", "progress", "results", "segment", "task", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None, progress: Progress | None = None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.progress = progress
        self.is_done = progress is not None
        self.results: Any = None
        self.error: BaseException | None = None
        self.deadline: int | None = None
        self.task: Any = None
        self.segment: _Segment | None = None

    def complete(self, results: Any = None, error: BaseException | None = None) -> bool:
        """Answer the request. Only the first answer counts; returns whether this was it."""
        if self.is_done:
            return False
        self.is_done = True
        self.results = results
        self.error = error
        return True


class AsyncQueue(ABC):
    """Holds entries until they may leave."""

    def __init__(self) -> None:
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @abstractmethod
    def put(self, entry: Entry) -> None: ...

    @abstractmethod
    def completed(self, entry: Entry) -> None:
        """Take note that the entry has been answered."""

    @abstractmethod
    def pop(self) -> Entry | None:
        """The next entry that may leave, None if none may."""

    @abstractmethod
    def entries(self) -> list[Entry]:
        """All entries in arrival order, as far as order matters."""


class OrderedQueue(AsyncQueue):
    """Everything leaves in the order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: deque[Entry] = deque()

    def put(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._size += 1

    def completed(self, entry: Entry) -> None:
        pass

    def pop(self) -> Entry | None:
        if not self._entries or not self._entries[0].is_done:
            return None
        self._size -= 1
        return self._entries.popleft()

    def entries(self) -> list[Entry]:
        return list(self._entries)


class _Segment:
    """The entries between two watermarks, or one watermark."""

    __slots__ = ("is_progress", "pending", "ready")

    def __init__(self, *, is_progress: bool) -> None:
        self.is_progress = is_progress
        self.pending: dict[Entry, None] = {}
        self.ready: deque[Entry] = deque()


class UnorderedQueue(AsyncQueue):
    """Answers leave as they come, but never across a watermark."""

    def __init__(self) -> None:
        super().__init__()
        self._segments: deque[_Segment] = deque()

    def put(self, entry: Entry) -> None:
        is_progress = entry.progress is not None
        if is_progress or not self._segments or self._segments[-1].is_progress:
            self._segments.append(_Segment(is_progress=is_progress))
        segment = self._segments[-1]
        entry.segment = segment
        if entry.is_done:
            segment.ready.append(entry)
        else:
            segment.pending[entry] = None
        self._size += 1

    def completed(self, entry: Entry) -> None:
        segment = entry.segment
        if segment is not None and entry in segment.pending:
            del segment.pending[entry]
            segment.ready.append(entry)

    def pop(self) -> Entry | None:
        while self._segments:
            segment = self._segments[0]
            if segment.ready:
                self._size -= 1
                return segment.ready.popleft()
            if segment.pending:
                return None
            self._segments.popleft()
        return None

    def entries(self) -> list[Entry]:
        return [entry for segment in self._segments for entry in (*segment.ready, *segment.pending)]
