"""The order in which answers and watermarks leave an asynchronous operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from tidegate.core.watermark.records import Progress


class Request:
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
    """Holds requests until they may leave."""

    def __init__(self) -> None:
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @abstractmethod
    def put(self, request: Request) -> None: ...

    @abstractmethod
    def completed(self, request: Request) -> None:
        """Take note that the request has been answered."""

    @abstractmethod
    def pop(self) -> Request | None:
        """The next request that may leave, None if none may."""

    @abstractmethod
    def requests(self) -> list[Request]:
        """All requests in arrival order, as far as order matters."""


class OrderedQueue(AsyncQueue):
    """Everything leaves in the order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._requests: deque[Request] = deque()

    def put(self, request: Request) -> None:
        self._requests.append(request)
        self._size += 1

    def completed(self, request: Request) -> None:
        pass

    def pop(self) -> Request | None:
        if not self._requests or not self._requests[0].is_done:
            return None
        self._size -= 1
        return self._requests.popleft()

    def requests(self) -> list[Request]:
        return list(self._requests)


class _Segment:
    """The requests between two watermarks, or one watermark."""

    __slots__ = ("is_progress", "pending", "ready")

    def __init__(self, *, is_progress: bool) -> None:
        self.is_progress = is_progress
        self.pending: dict[Request, None] = {}
        self.ready: deque[Request] = deque()


class UnorderedQueue(AsyncQueue):
    """Answers leave as they come, but never across a watermark."""

    def __init__(self) -> None:
        super().__init__()
        self._segments: deque[_Segment] = deque()

    def put(self, request: Request) -> None:
        is_progress = request.progress is not None
        if is_progress or not self._segments or self._segments[-1].is_progress:
            self._segments.append(_Segment(is_progress=is_progress))
        segment = self._segments[-1]
        request.segment = segment
        if request.is_done:
            segment.ready.append(request)
        else:
            segment.pending[request] = None
        self._size += 1

    def completed(self, request: Request) -> None:
        segment = request.segment
        if segment is not None and request in segment.pending:
            del segment.pending[request]
            segment.ready.append(request)

    def pop(self) -> Request | None:
        while self._segments:
            segment = self._segments[0]
            if segment.ready:
                self._size -= 1
                return segment.ready.popleft()
            if segment.pending:
                return None
            self._segments.popleft()
        return None

    def requests(self) -> list[Request]:
        return [request for segment in self._segments for request in (*segment.ready, *segment.pending)]
