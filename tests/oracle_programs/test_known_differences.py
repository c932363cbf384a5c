"""What Tidegate does on purpose where PyFlink does otherwise; `make oracle-programs` checks what PyFlink does."""

from __future__ import annotations

from pathlib import Path

from tests.oracle_programs.known_differences import KNOWN
from tests.oracle_programs.on_tidegate import run_locally
from tools.flink_compatibility import defects


def check(name: str) -> None:
    chosen = [known for known in KNOWN if known.name == name]
    assert chosen
    for known in chosen:
        given = run_locally(known.program)
        lists = {output: [(list(value), time) for value, time in results] for output, results in given.items()}
        assert lists == known.tidegate
        assert known.flink != known.tidegate


def test_sessions_that_become_one_keep_all_that_was_reduced() -> None:
    check("merged-reduction")


def test_a_result_has_the_time_of_its_window_whatever_fired_it() -> None:
    check("time-of-a-result")


def test_a_timer_that_a_timer_sets_in_the_past_fires_with_it() -> None:
    check("timer-set-by-a-timer")


def test_what_leaves_by_the_side_keeps_its_time() -> None:
    check("time-of-a-side-output")


def test_a_timer_at_the_end_of_time_fires_at_the_end_of_input() -> None:
    check("timer-at-the-end-of-time")


def test_a_sliding_count_window_fires_every_slide() -> None:
    check("sliding-count-windows")


def test_count_windows_of_a_key_are_one_window() -> None:
    check("state-of-count-windows")


def test_intervals_below_zero_are_those_of_java() -> None:
    check("negative-intervals")


def test_every_difference_is_in_the_table_of_defects() -> None:
    here = Path(__file__).relative_to(defects.ROOT).as_posix()
    described = {defect.test_name for defect in defects.load() if defect.file == here}
    # A transcript pins the sliding count window there.
    assert len(described) == len({known.name for known in KNOWN} - {"sliding-count-windows"})
