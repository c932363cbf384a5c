"""Laws of whole programs: random windows, triggers and inputs against a model that looks at the whole history."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import local_run
from tests.properties.cases import Feed, Outcome, Program, Run, Script
from tests.properties.model import expected
from tests.properties.programs import closing_programs, event_time_stages, programs, programs_with_scripts

from tidegate.datastream.window import EventTimeTrigger

Case = tuple[Program, Script]


def in_any_order(outcomes: list[Outcome]) -> list[tuple[object, ...]]:
    return [(Counter(outcome.results), Counter(outcome.late), outcome.watermarks) for outcome in outcomes]


def in_stream_order(ran: Run) -> tuple[object, ...]:
    return ran.counts, [(outcome.results, outcome.late) for outcome in ran.outcomes]


@given(programs_with_scripts(programs(max_parallelism=1)))
@settings(max_examples=250, deadline=None)
def test_every_step_gives_the_results_late_records_and_watermarks_of_the_model(case: Case) -> None:
    ran, model = local_run.run(*case), expected(*case)
    assert in_any_order(ran.outcomes) == in_any_order(model.outcomes)
    assert ran.counts == model.counts


@given(programs_with_scripts())
@settings(max_examples=100, deadline=None)
def test_parallel_subtasks_give_the_results_late_records_and_counts_of_the_model(case: Case) -> None:
    ran, model = local_run.run(*case), expected(*case)
    for step, must in zip(ran.outcomes, model.outcomes, strict=True):
        assert Counter(step.results) == Counter(must.results)
        assert Counter(step.late) == Counter(must.late)
    assert ran.counts == model.counts


@given(programs_with_scripts(), st.sets(st.integers(0, 45), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_a_restart_at_any_step_gives_the_same_in_the_same_order(case: Case, cuts: set[int]) -> None:
    assert in_stream_order(local_run.run(*case, cuts)) == in_stream_order(local_run.run(*case))


@given(programs_with_scripts(programs(max_parallelism=2)))
@settings(max_examples=25, deadline=None)
def test_a_restart_before_every_step_gives_the_same_in_the_same_order(case: Case) -> None:
    program, script = case
    everywhere = range(len(script))
    assert in_stream_order(local_run.run(program, script, everywhere)) == in_stream_order(local_run.run(*case))


@given(
    programs_with_scripts(),
    st.dictionaries(st.integers(0, 45), st.sampled_from([1, 2, 3, 4, 7]), min_size=1, max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_another_parallelism_at_any_step_gives_the_same(case: Case, cuts: dict[int, int]) -> None:
    ran, model = local_run.run(*case, cuts), expected(*case)
    for step, must in zip(ran.outcomes, model.outcomes, strict=True):
        assert Counter(step.results) == Counter(must.results)
        assert Counter(step.late) == Counter(must.late)
    assert ran.counts == model.counts


@given(programs_with_scripts(programs().map(lambda program: replace(program, channels=3))), st.permutations(range(3)))
@settings(max_examples=60, deadline=None)
def test_permuting_the_channels_gives_the_same(case: Case, order: list[int]) -> None:
    program, script = case
    permuted = [step._replace(channel=order[step.channel]) for step in script]
    straight, crossed = local_run.run(program, script), local_run.run(program, permuted)
    assert crossed.counts == straight.counts
    assert in_any_order(crossed.outcomes) == in_any_order(straight.outcomes)


@given(programs_with_scripts(programs(max_parallelism=1)))
@settings(max_examples=60, deadline=None)
def test_the_watermark_never_goes_back(case: Case) -> None:
    watermarks = [w for outcome in local_run.run(*case).outcomes for w in outcome.watermarks]
    assert all(before < after for before, after in itertools.pairwise(watermarks))


@given(programs_with_scripts(programs(max_parallelism=1)))
@settings(max_examples=60, deadline=None)
def test_results_come_before_the_watermark_that_caused_them(case: Case) -> None:
    program, script = case
    outcomes = local_run.run(program, script).outcomes
    for step, outcome in zip(script, outcomes, strict=True):
        if outcome.watermarks:
            assert outcome.ends_with_watermark
        elif not isinstance(step, Feed):
            assert not outcome.results


@given(programs_with_scripts(closing_programs(), ends=True))
@settings(max_examples=100, deadline=None)
def test_every_record_is_in_a_window_or_late_or_dropped_or_in_no_window(case: Case) -> None:
    program, script = case
    ran = local_run.run(program, script)
    fed = {step.element.name for step in script if isinstance(step, Feed)}
    in_windows = {name for outcome in ran.outcomes for result in outcome.results for name in result.names}
    late = [record.name for outcome in ran.outcomes for record in outcome.late]
    (counts,) = ran.counts
    assert len(late) == counts.to_late_output
    assert in_windows <= fed - set(late)
    assert len(fed) == len(in_windows) + counts.to_late_output + counts.dropped + counts.in_no_window


class SameTrigger(EventTimeTrigger):
    """Does what its base does, but the operator cannot know that."""


@given(programs_with_scripts(programs(event_time_stages())), st.sets(st.integers(0, 45), max_size=2))
@settings(max_examples=120, deadline=None)
def test_the_short_way_for_the_event_time_trigger_gives_what_the_long_one_does(case: Case, cuts: set[int]) -> None:
    short, long = local_run.run(*case, cuts), local_run.run(*case, cuts, SameTrigger())
    assert in_stream_order(short) == in_stream_order(long)
