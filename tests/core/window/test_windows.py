from __future__ import annotations

import pickle

import pytest

from tidegate.core.time.millis import MAX_TIME
from tidegate.core.window.windows import GlobalWindow, TimeWindow


def test_the_last_timestamp_of_a_window_is_one_before_its_end() -> None:
    assert TimeWindow(0, 1000).max_timestamp() == 999


def test_windows_are_values() -> None:
    assert TimeWindow(0, 10) == TimeWindow(0, 10)
    assert len({TimeWindow(0, 10), TimeWindow(0, 10), TimeWindow(5, 10)}) == 2
    assert repr(TimeWindow(0, 10)) == "TimeWindow(start=0, end=10)"


@pytest.mark.parametrize(
    ("other", "meets"), [((10, 20), True), ((5, 6), True), ((-5, 0), True), ((11, 20), False), ((-9, -1), False)]
)
def test_windows_meet_where_they_overlap_or_touch(other: tuple[int, int], meets: bool) -> None:
    assert TimeWindow(0, 10).intersects(TimeWindow(*other)) is meets
    assert TimeWindow(*other).intersects(TimeWindow(0, 10)) is meets


def test_a_cover_is_the_smallest_window_around_both() -> None:
    assert TimeWindow(0, 10).cover(TimeWindow(5, 20)) == TimeWindow(0, 20)
    assert TimeWindow(5, 6).cover(TimeWindow(0, 10)) == TimeWindow(0, 10)


@pytest.mark.parametrize(
    ("timestamp", "offset", "size", "start"),
    [
        (0, 0, 10, 0),
        (9, 0, 10, 0),
        (10, 0, 10, 10),
        (-1, 0, 10, -10),
        (-10, 0, 10, -10),
        (4, 5, 10, -5),
        (4, -3, 10, -3),
    ],
)
def test_the_start_of_a_window_is_right_below_zero_and_with_offsets(
    timestamp: int, offset: int, size: int, start: int
) -> None:
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, size) == start


def test_groups_of_windows_that_meet_are_reported_with_their_cover() -> None:
    merges: list[tuple[list[TimeWindow], TimeWindow]] = []
    windows = [TimeWindow(30, 40), TimeWindow(0, 10), TimeWindow(10, 20), TimeWindow(50, 60), TimeWindow(35, 45)]
    TimeWindow.merge_windows([*windows, TimeWindow(50, 60)], lambda group, cover: merges.append((group, cover)))
    assert merges == [
        ([TimeWindow(0, 10), TimeWindow(10, 20)], TimeWindow(0, 20)),
        ([TimeWindow(30, 40), TimeWindow(35, 45)], TimeWindow(30, 45)),
    ]


def test_there_is_one_global_window_also_after_pickling() -> None:
    assert GlobalWindow() is GlobalWindow.get()
    assert pickle.loads(pickle.dumps(GlobalWindow())) is GlobalWindow()
    assert GlobalWindow().max_timestamp() == MAX_TIME
    assert repr(GlobalWindow()) == "GlobalWindow()"
