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
    nothing.
    """

    def __init__(self, assigner: MergingWindowAssigner, state_windows: dict[Any, Any]) -> None:
        self._assigner = assigner
        self._state_windows = state_windows

    def state_window(self, window: Any) -> Any:
        """Where the state of a live window is kept, None if the window is not live."""
        return self._state_windows.get(window)

    def retire(self, window: Any) -> None:
        del self._state_windows[window]

    def add(self, new: Any, may_create: Callable[[Any], bool], on_merge: Callable[[Merge], None]) -> Any:
        """Add a window and report the merges that follow. Returns the window that the new one became part of.

        None if that window may not be created any more, because it would be late: then nothing has changed.
        """
        live = self._state_windows
        if new in live:
            return new
        if isinstance(self._assigner, SessionWindows) and (covering := _covering(live, new)) is not None:
            return covering
        if not live:
            if not may_create(new):
                return None
            live[new] = new
            return new
        collected = _Collect()
        self._assigner.merge_windows([*live, new], collected)
        result = next((result for result, merged in collected.merges if new in merged), new)
        if not may_create(result):
            return None
        for merge_result, merged in collected.merges:
            self._merge(merge_result, [window for window in merged if window in live], on_merge)
        live.setdefault(result, result)
        return result

    def _merge(self, result: Any, existing: list[Any], on_merge: Callable[[Merge], None]) -> None:
        if not existing or existing == [result]:
            return
        live = self._state_windows
        state_windows = [live.pop(window) for window in existing]
        live[result] = state_windows[0]
        on_merge(Merge(result, existing, state_windows[0], state_windows[1:]))


def _covering(live: dict[Any, Any], new: TimeWindow) -> TimeWindow | None:
    """The live session that the new one lies within: nothing merges then. Live sessions never touch each other."""
    for window in live:
        if window[0] <= new[0] and window[1] >= new[1]:
            return window  # type: ignore[no-any-return]
    return None
