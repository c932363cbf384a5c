"""Tidegate's merging of windows under a script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.oracle.script import Script, Step

from tidegate.core.time.millis import MIN_TIME
from tidegate.core.window.assigners import EventTimeSessionWindows, MergingWindowAssigner
from tidegate.core.window.merging import MergingWindowSet
from tidegate.core.window.trigger import Trigger
from tidegate.core.window.triggers import EventTimeTrigger
from tidegate.core.window.windows import TimeWindow


def spans(windows: Iterable[TimeWindow]) -> list[list[int]]:
    return [list(window) for window in sorted(windows)]


class Merge:
    """`TimeWindow.merge_windows`."""

    def __init__(self, script: Script) -> None:
        pass

    def step(self, step: Step) -> Any:
        groups: list[Any] = []
        TimeWindow.merge_windows(
            [TimeWindow(*span) for span in step[1:]],
            lambda merged, result: groups.append([list(result), spans(merged)]),
        )
        return groups


class UsersSessions(MergingWindowAssigner):
    """Merges as sessions do, but the set cannot know that: it has to ask, as for an assigner of a user's own."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        raise NotImplementedError

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True

    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback) -> None:
        TimeWindow.merge_windows(windows, callback.merge)


class MergingSet:
    """A set as the window operator uses it: contents under state windows, windows retired by the watermark."""

    def __init__(self, assigner: MergingWindowAssigner) -> None:
        self._live: dict[TimeWindow, TimeWindow] = {}
        self._set = MergingWindowSet(assigner).at(self._live)
        self._contents: dict[TimeWindow, list[int]] = {}
        self._watermark = MIN_TIME

    def step(self, step: Step) -> Any:
        if step[0] == "add":
            return self._add(step[1], TimeWindow(*step[2]))
        if step[0] == "retire":
            live = sorted(self._live)
            return self._retire(live[step[1] % len(live)]) if live else None
        self._watermark = max(self._watermark, step[1])
        return [self._retire(window) for window in sorted(self._live) if self._is_late(window)]

    def _add(self, element: int, new: TimeWindow) -> Any:
        merges: list[Any] = []

        def on_merge(result: Any, merged: list[Any], state_window: Any, others: list[Any]) -> None:
            merges.append([list(result), spans(merged)])
            for other in others:
                self._contents[state_window] += self._contents.pop(other)

        window = self._set.add(new, lambda window: not self._is_late(window), on_merge)
        if window is None:
            return "late"
        contents = self._contents.setdefault(self._set.state_window(window), [])
        contents.append(element)
        return [list(window), merges, sorted(contents), spans(self._live)]

    def _retire(self, window: TimeWindow) -> Any:
        return [list(window), sorted(self._contents.pop(self._live.pop(window)))]

    def _is_late(self, window: TimeWindow) -> bool:
        return window.max_timestamp() <= self._watermark


def sessions(script: Script) -> MergingSet:
    return MergingSet(EventTimeSessionWindows.with_gap("1 ms"))


def users_sessions(script: Script) -> MergingSet:
    return MergingSet(UsersSessions())
