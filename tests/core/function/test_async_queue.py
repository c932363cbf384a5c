from __future__ import annotations

from typing import Any

import pytest

from tidegate.core.function.async_queue import AsyncQueue, OrderedQueue, Request, UnorderedQueue
from tidegate.core.watermark.records import Watermark


class Line:
    """A queue with requests by name and watermarks by number."""

    def __init__(self, queue: AsyncQueue, *arrivals: str | int) -> None:
        self.queue = queue
        self.entries: dict[Any, Request] = {}
        for arrival in arrivals:
            entry = Request(arrival, None, Watermark(arrival) if isinstance(arrival, int) else None)
            self.entries[arrival] = entry
            queue.put(entry)

    def answer(self, name: str) -> list[Any]:
        """Answer a request; returns who may leave."""
        entry = self.entries[name]
        assert entry.complete([name])
        self.queue.completed(entry)
        return self.leave()

    def leave(self) -> list[Any]:
        left = []
        while (entry := self.queue.pop()) is not None:
            left.append(entry.value)
        return left


def test_in_order_everything_leaves_as_it_came() -> None:
    line = Line(OrderedQueue(), "a", "b", 5, "c")
    assert line.leave() == []
    assert line.answer("c") == []
    assert line.answer("b") == []
    assert line.answer("a") == ["a", "b", 5, "c"]


def test_out_of_order_answers_leave_as_they_come_but_never_across_a_watermark() -> None:
    line = Line(UnorderedQueue(), "a", "b", 5, "c", "d")
    assert line.answer("d") == []
    assert line.answer("b") == ["b"]
    assert line.answer("a") == ["a", 5, "d"]
    assert line.answer("c") == ["c"]


@pytest.mark.parametrize("queue", [OrderedQueue(), UnorderedQueue()])
def test_a_watermark_with_nothing_before_it_leaves_at_once(queue: AsyncQueue) -> None:
    line = Line(queue, 5, 6)
    assert line.leave() == [5, 6]


def test_between_two_watermarks_there_may_be_nothing() -> None:
    line = Line(UnorderedQueue(), "a", 5, 6, "b")
    assert line.answer("b") == []
    assert line.answer("a") == ["a", 5, 6, "b"]


@pytest.mark.parametrize("queue", [OrderedQueue(), UnorderedQueue()])
def test_the_size_counts_watermarks_too(queue: AsyncQueue) -> None:
    line = Line(queue, "a", 5, "b")
    assert len(queue) == 3
    line.answer("a")
    assert len(queue) == 1
    assert [entry.value for entry in queue.requests()] == ["b"]


@pytest.mark.parametrize("queue", [OrderedQueue(), UnorderedQueue()])
def test_what_waits_can_be_listed_with_watermarks_in_their_places(queue: AsyncQueue) -> None:
    Line(queue, "a", 5, "b", 6)
    assert [entry.value for entry in queue.requests()] == ["a", 5, "b", 6]


def test_only_the_first_answer_counts() -> None:
    entry = Request("a", 1)
    assert entry.complete(["first"])
    assert not entry.complete(["second"])
    assert not entry.complete(None, ValueError())
    assert (entry.results, entry.error) == (["first"], None)
