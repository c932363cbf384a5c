"""The shift of a subtask's windows is chosen once, and kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    TumblingWindows,
    WindowAssigner,
    WindowStagger,
)
from tidegate.core.window.stagger import Stagger

CLOCK = st.integers(-(10**6), 10**13)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 10**6)
STAGGERED = st.sampled_from([WindowStagger.RANDOM, WindowStagger.NATURAL])


def start_at(assigner: WindowAssigner, time: int) -> int:
    """The start of the window that holds a time."""
    unused: Any = None
    (window,) = assigner.assign_windows("element", time, unused)
    start: int = window.start
    assert start <= time < window.end
    return start


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows(10),
        TumblingProcessingTimeWindows(10, 3, WindowStagger.ALIGNED),
        SlidingEventTimeWindows(10, 5),
        EventTimeSessionWindows(10),
        GlobalWindows.create(),
    ],
)
def test_only_staggered_windows_have_a_shift_to_choose(assigner: WindowAssigner) -> None:
    stagger = Stagger(assigner)
    assert not stagger.is_open
    assert stagger.shift is None


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
@pytest.mark.parametrize("how", [WindowStagger.RANDOM, WindowStagger.NATURAL])
def test_a_shift_is_chosen_once(kind: type[TumblingWindows], how: WindowStagger) -> None:
    stagger = Stagger(kind(10, 0, how))
    assert stagger.is_open
    chosen = stagger.choose(17, 25)
    assert type(chosen) is kind
    assert stagger.shift == {WindowStagger.RANDOM: 5, WindowStagger.NATURAL: 7}[how]
    assert not stagger.is_open


@given(SIZES, STAGGERED, CLOCK, SEEDS, CLOCK, st.data())
def test_windows_keep_their_size_and_are_shifted_from_their_offset(
    size: int, how: WindowStagger, now: int, seed: int, time: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))
    stagger = Stagger(TumblingEventTimeWindows(size, offset, how))
    chosen = stagger.choose(now, seed)
    assert isinstance(chosen, TumblingEventTimeWindows)
    assert stagger.shift is not None
    assert 0 <= stagger.shift < size
    assert chosen.size == size
    assert (start_at(chosen, time) - offset - stagger.shift) % size == 0


@given(SIZES, CLOCK, SEEDS)
def test_natural_windows_begin_with_the_first_element(size: int, now: int, seed: int) -> None:
    stagger = Stagger(TumblingEventTimeWindows(size, 0, WindowStagger.NATURAL))
    assert start_at(stagger.choose(now, seed), now) == now


@given(SIZES, CLOCK, CLOCK, SEEDS)
def test_random_windows_do_not_depend_on_the_clock(size: int, now: int, later: int, seed: int) -> None:
    first, second = (Stagger(TumblingEventTimeWindows(size, 0, WindowStagger.RANDOM)) for _ in range(2))
    first.choose(now, seed)
    second.choose(later, seed)
    assert first.shift == second.shift


def test_random_windows_of_different_subtasks_begin_at_different_times() -> None:
    stagger = Stagger(TumblingEventTimeWindows(1_000, 0, WindowStagger.RANDOM))
    assert {start_at(stagger.choose(0, seed), 5_000) for seed in (1, 2, 700)} == {4_001, 4_002, 4_700}


@given(SIZES, STAGGERED, CLOCK, SEEDS, CLOCK)
def test_a_shift_that_was_kept_gives_the_same_windows(
    size: int, how: WindowStagger, now: int, seed: int, time: int
) -> None:
    before = Stagger(TumblingEventTimeWindows(size, 0, how))
    chosen = before.choose(now, seed)
    assert before.shift is not None
    after = Stagger(TumblingEventTimeWindows(size, 0, how))
    restored = after.restore(before.shift)
    assert not after.is_open
    assert after.shift == before.shift
    assert start_at(restored, time) == start_at(chosen, time)
