"""The windows of one key that merge, and where the state of each is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from tidegate.core.assigners import MergingWindowAssigner, SessionWindows
from tidegate.core.windows import TimeWindow


class Merge(NamedTuple):
    """Windows that become one: `state_window` keeps the state, that of `merged_state_windows` is added to it."""

    result: Any
    merged: list[Any]
    state_window: Any
    merged_state_windows: list[Any]


class _Collect(MergingWindowAssigner.MergeCallback):
    def __init__(self) -> None:
        self.merges: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Collection[Any], merge_result: Any) -> None:
        self.merges.append((merge_result, list(to_be_merged)))


class MergingWindowSet:
    """Maps each live window of a key to the window under which its state is kept.

    When windows merge, the state stays where one of them had it, so that growing a session by one element moves
    nothing. One set serves all keys of an operator: `at` points it to the windows of a key.
    """

    def __init__(self, assigner: MergingWindowAssigner) -> None:
        self._assigner = assigner
        self._find = self._session_merge if isinstance(assigner, SessionWindows) else self._merges
        self._live: dict[Any, Any] = {}

    def at(self, live: dict[Any, Any]) -> MergingWindowSet:
        self._live = live
        return self

    def state_window(self, window: Any) -> Any:
        """Where the state of a live window is kept, None if the window is not live."""
        return self._live.get(window)

    def add(self, new: Any, may_create: Callable[[Any], bool], on_merge: Callable[[Merge], None]) -> Any:
        """Add a window and report the merges that follow. Returns the window that the new one became part of.

        None if that window may not be created any more, because it would be late: then nothing has changed.
        """
        live = self._live
        result = new
        merges: list[tuple[Any, list[Any]]] = []
        if live:
            if new in live:
                return new
            merges = self._find(new)
            for merge_result, merged in merges:
                if new in merged:
                    result = merge_result
            if result in live:
                return result
        if not may_create(result):
            return None
        for merge_result, merged in merges:
            self._merge(merge_result, [window for window in merged if window in live], on_merge)
        live.setdefault(result, result)
        return result

    def _merge(self, result: Any, existing: list[Any], on_merge: Callable[[Merge], None]) -> None:
        if not existing or existing == [result]:
            return
        live = self._live
        state_windows = [live.pop(window) for window in existing]
        live[result] = state_windows[0]
        on_merge(Merge(result, existing, state_windows[0], state_windows[1:]))

    def _merges(self, new: Any) -> list[tuple[Any, list[Any]]]:
        collected = _Collect()
        self._assigner.merge_windows([*self._live, new], collected)
        return collected.merges

    def _session_merge(self, new: TimeWindow) -> list[tuple[Any, list[Any]]]:
        """What a new session merges with, in one pass: live sessions never touch each other, only it can join them."""
        start, end = new
        touching = [window for window in self._live if window[0] <= end and window[1] >= start]
        if not touching:
            return []
        for window in touching:
            start = min(start, window[0])
            end = max(end, window[1])
        touching.append(new)
        return [(TimeWindow(start, end), touching)]
