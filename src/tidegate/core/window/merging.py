"""The windows of one key that merge, and where the state of each is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from tidegate.core.window.assigners import MergingWindowAssigner, SessionWindows
from tidegate.core.window.windows import TimeWindow

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Called with `(result, merged, state_window, merged_state_windows)`: the windows `merged` become `result`; the state
is kept under `state_window`, and that of `merged_state_windows` is to be added to it."""


_ALONE: Final = object()
"""The new window merges with none."""


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
        self._live: dict[Any, Any] = {}
        self._grow = self._grow_session if isinstance(assigner, SessionWindows) else self._grow_any

    def at(self, live: dict[Any, Any]) -> MergingWindowSet:
        self._live = live
        return self

    def state_window(self, window: Any) -> Any:
        """Where the state of a live window is kept, None if the window is not live."""
        return self._live.get(window)

    def add(self, new: Any, may_create: Callable[[Any], bool], on_merge: OnMerge) -> Any:
        """Add a window and report the merges that follow. Returns the window that the new one became part of.

        None if that window may not be created any more, because it would be late: then nothing has changed.
        """
        live = self._live
        if new in live:
            return new
        if live and (result := self._grow(new, may_create, on_merge)) is not _ALONE:
            return result
        if not may_create(new):
            return None
        live[new] = new
        return new

    def _grow_session(self, new: TimeWindow, may_create: Callable[[Any], bool], on_merge: OnMerge) -> Any:
        """Merge with the sessions that the new one touches.

        One pass is enough: live sessions never touch each other, so only the new one can join them. The result ends
        no earlier than a live session, so it is not late.
        """
        start, end = new
        touching = [window for window in self._live if window[0] <= end and window[1] >= start]
        if not touching:
            return _ALONE
        for window in touching:
            if window[0] < start:
                start = window[0]
            if window[1] > end:
                end = window[1]
        result = TimeWindow(start, end)
        if result not in self._live:
            self._merge(result, touching, on_merge)
        return result

    def _grow_any(self, new: Any, may_create: Callable[[Any], bool], on_merge: OnMerge) -> Any:
        """Merge as the assigner says; None if the merge of the new window would be late."""
        live = self._live
        collected = _Collect()
        self._assigner.merge_windows([*live, new], collected)
        result = next((result for result, merged in collected.merges if new in merged), _ALONE)
        if not may_create(new if result is _ALONE else result):
            return None
        for merge_result, merged in collected.merges:
            existing = [window for window in merged if window in live]
            if existing and existing != [merge_result]:
                self._merge(merge_result, existing, on_merge)
        if result is not _ALONE:
            live.setdefault(result, result)
        return result

    def _merge(self, result: Any, existing: list[Any], on_merge: OnMerge) -> None:
        live = self._live
        state_windows = [live.pop(window) for window in existing]
        state_window = live[result] = state_windows.pop(0)
        on_merge(result, existing, state_window, state_windows)
