"""A program that comes back to its state: it goes on, is migrated with a sentence, or is refused with one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.state.format import FormatChange, StateFormat, compare, described
from tidegate.core.time.duration import Time
from tidegate.core.window.assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowStagger,
)
from tidegate.core.window.triggers import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    PurgingTrigger,
)

ms = Time.milliseconds
GOES_ON = FormatChange()

NAMES = st.sampled_from(["a", "b", "c", "d"])
PARTS = st.dictionaries(NAMES, st.lists(st.sampled_from(["p", "q", "r", "s"]), max_size=3, unique=True))
VALUES = st.none() | st.integers(0, 3) | st.text("xy", max_size=2) | st.lists(st.integers(0, 3), max_size=2)
SETTINGS = st.dictionaries(NAMES, VALUES)
FORMATS = st.builds(
    StateFormat,
    st.sampled_from(["windows", "a join"]),
    SETTINGS,
    SETTINGS,
    st.dictionaries(st.sampled_from(["lateness", "aggregates"]), VALUES | PARTS),
    st.integers(1, 2),
)


def aggregates(parts: Mapping[str, list[str]]) -> StateFormat:
    return StateFormat("windows", flexible={"aggregates": parts})


# Goes on


@given(FORMATS)
def test_the_same_format_goes_on(state: StateFormat) -> None:
    assert compare(state, state) == GOES_ON


@given(FORMATS)
def test_a_format_that_was_kept_as_json_is_the_same(state: StateFormat) -> None:
    kept = StateFormat.of_plain(json.loads(json.dumps(state.plain())))
    assert kept == state
    assert compare(kept, state) == GOES_ON


@given(FORMATS, FORMATS)
def test_an_answer_is_one_of_the_three(before: StateFormat, after: StateFormat) -> None:
    change = compare(before, after)
    assert change.refusal is None or not change.migrations
    if (before.kind, before.version) != (after.kind, after.version):
        assert change.refusal is not None


def test_what_only_one_shares_does_not_matter() -> None:
    before = StateFormat("windows", shared={"aggregate total": "sum(x)", "aggregate lowest": "min(x)"})
    after = StateFormat("windows", shared={"aggregate total": "sum(x)", "aggregate highest": "max(x)"})
    assert compare(before, after) == GOES_ON


def test_a_new_aggregate_whose_parts_were_all_kept_is_whole() -> None:
    before = aggregates({"sum(x)": ["sum of x"], "count(x)": ["count of x"]})
    after = aggregates({"sum(x)": ["sum of x"], "count(x)": ["count of x"], "mean(x)": ["sum of x", "count of x"]})
    assert compare(before, after) == GOES_ON


def test_a_new_aggregate_that_needs_no_part_is_whole() -> None:
    assert compare(aggregates({}), aggregates({"count()": []})) == GOES_ON


# Is migrated


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        (
            StateFormat("windows", flexible={"allowed lateness": "0 ms"}),
            StateFormat("windows", flexible={"allowed lateness": "5 ms"}),
            ("allowed lateness was 0 ms and is 5 ms: what is gone by now stays gone",),
        ),
        (
            StateFormat("windows"),
            StateFormat("windows", flexible={"allowed lateness": "5 ms"}),
            ("allowed lateness was nothing and is 5 ms: what is gone by now stays gone",),
        ),
        (
            aggregates({"max(x)": ["max of x"]}),
            StateFormat("windows"),
            ("aggregates was max(x) max of x and is nothing: what is gone by now stays gone",),
        ),
        (
            aggregates({"max(x)": ["max of x"], "sum(x)": ["sum of x"]}),
            aggregates({"sum(x)": ["sum of x"], "mean(y)": ["sum of y", "count of y"]}),
            (
                "mean(y) is new in aggregates: what is open goes on without what came before",
                "max(x) is no longer in aggregates: what was kept of it is forgotten",
            ),
        ),
    ],
)
def test_what_may_differ_is_migrated_with_a_sentence_each(
    before: StateFormat, after: StateFormat, sentences: tuple[str, ...]
) -> None:
    assert compare(before, after) == FormatChange(sentences)


def test_sentences_on_all_that_differs_are_told() -> None:
    before = StateFormat("windows", flexible={"allowed lateness": "0 ms", "aggregates": {"max(x)": ["max of x"]}})
    after = StateFormat("windows", flexible={"allowed lateness": "5 ms", "aggregates": {}})
    change = compare(before, after)
    assert change.refusal is None
    assert [sentence.split()[0] for sentence in change.migrations] == ["allowed", "max(x)"]


@given(PARTS, PARTS)
def test_parts_decide_on_each_new_aggregate(before: dict[str, list[str]], after: dict[str, list[str]]) -> None:
    change = compare(aggregates(before), aggregates(after))
    kept = {part for parts in before.values() for part in parts}
    new = {name: parts for name, parts in after.items() if name not in before}
    begins_empty = [name for name, parts in new.items() if parts and kept.isdisjoint(parts)]
    is_whole = [name for name, parts in new.items() if kept.issuperset(parts)]
    if len(begins_empty) + len(is_whole) < len(new):
        assert change.refusal is not None
    else:
        assert change == FormatChange(
            (
                *(
                    f"{name} is new in aggregates: what is open goes on without what came before"
                    for name in begins_empty
                ),
                *(
                    f"{name} is no longer in aggregates: what was kept of it is forgotten"
                    for name in before
                    if name not in after
                ),
            )
        )


# Is refused


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (StateFormat("windows"), StateFormat("a join"), "it was windows and is a join now"),
        (
            StateFormat("windows", version=1),
            StateFormat("windows", version=2),
            "its state has version 1, this Tidegate reads version 2",
        ),
        (
            StateFormat("windows", fixed={"size": 10}),
            StateFormat("windows", fixed={"size": 20}),
            "its size was 10 and is 20 now",
        ),
        (
            StateFormat("windows"),
            StateFormat("windows", fixed={"evictor": "CountEvictor"}),
            "its evictor was nothing and is CountEvictor now",
        ),
        (
            StateFormat("windows", fixed={"key": {"user": "string", "shop": "int64"}}),
            StateFormat("windows"),
            "its key was user string, shop int64 and is nothing now",
        ),
        (
            StateFormat("windows", fixed={"key": ["user", "shop"]}),
            StateFormat("windows", fixed={"key": ["user"]}),
            "its key was user, shop and is user now",
        ),
        (
            StateFormat("windows", shared={"aggregate total": "sum(x)"}),
            StateFormat("windows", shared={"aggregate total": "sum(y)"}),
            "its aggregate total was sum(x) and is sum(y) now",
        ),
        (
            StateFormat("windows", fixed={"key": "user"}),
            StateFormat("windows", shared={"key": "shop"}),
            "its key was user and is shop now",
        ),
        (
            aggregates({"sum(x)": ["sum of x"]}),
            aggregates({"sum(x)": ["sum of x"], "mean(x)": ["sum of x", "count of x"]}),
            "mean(x) is new in aggregates, and of what it is made of only sum of x was kept for what is open",
        ),
    ],
)
def test_what_must_be_the_same_is_refused_with_both(before: StateFormat, after: StateFormat, why: str) -> None:
    assert compare(before, after) == FormatChange(refusal=why)


def test_a_refusal_stands_alone_whatever_could_be_migrated() -> None:
    before = StateFormat("windows", flexible={"allowed lateness": "0 ms", "aggregates": {"sum(x)": ["sum of x"]}})
    after = StateFormat("windows", flexible={"allowed lateness": "5 ms", "aggregates": {"mean(x)": ["sum of x", "n"]}})
    change = compare(before, after)
    assert change.migrations == ()
    assert change.refusal is not None


@given(FORMATS, FORMATS)
def test_a_change_of_what_is_fixed_is_refused_both_ways(one: StateFormat, other: StateFormat) -> None:
    there, back = (
        compare(StateFormat(a.kind, a.fixed, version=a.version), StateFormat(b.kind, b.fixed, version=b.version))
        for a, b in ((one, other), (other, one))
    )
    assert (there.refusal is None) == (back.refusal is None)


def test_more_may_have_to_be_the_same() -> None:
    state = StateFormat("windows", fixed={"size": 10}, version=3)
    assert state.with_fixed(key="user") == StateFormat("windows", fixed={"size": 10, "key": "user"}, version=3)
    assert state.fixed == {"size": 10}


# Assigners and triggers in one line


class OfUser(CountTrigger):
    pass


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        (TumblingEventTimeWindows.of(ms(10)), "TumblingEventTimeWindows(offset=0, size=10, stagger=aligned)"),
        (SlidingEventTimeWindows.of(ms(10), ms(5)), "SlidingEventTimeWindows(offset=0, size=10, slide=5)"),
        (NeverTrigger(), "NeverTrigger()"),
        (PurgingTrigger.of(EventTimeTrigger()), "PurgingTrigger(nested_trigger=EventTimeTrigger())"),
        (EventTimeSessionWindows.with_dynamic_gap(len), "DynamicEventTimeSessionWindows(session_gap=0)"),
        (OfUser(3), "OfUser"),
    ],
)
def test_what_is_ours_is_described_with_its_settings_and_what_is_of_a_user_by_name(subject: Any, line: str) -> None:
    assert described(subject) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TumblingEventTimeWindows.of(ms(10)), TumblingEventTimeWindows.of(ms(10), None, WindowStagger.NATURAL)),
        (ContinuousEventTimeTrigger.of(ms(1)), ContinuousEventTimeTrigger.of(ms(2))),
        (EventTimeSessionWindows.with_gap(ms(7)), EventTimeSessionWindows.with_gap(ms(8))),
        (PurgingTrigger.of(EventTimeTrigger()), EventTimeTrigger()),
        (PurgingTrigger.of(CountTrigger.of(3)), PurgingTrigger.of(CountTrigger.of(4))),
        (DeltaTrigger.of(0.5, max), DeltaTrigger.of(0.6, max)),
        (
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(10)),
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(20)),
        ),
        (
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(10)),
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(10), reset_timer_on_new_record=True),
        ),
        (
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(10)),
            ProcessingTimeoutTrigger.of(EventTimeTrigger(), ms(10), should_clear_on_timeout=False),
        ),
    ],
)
def test_other_settings_have_another_description(one: Any, other: Any) -> None:
    assert described(one) != described(other)


def test_functions_of_a_user_are_not_compared() -> None:
    assert described(DeltaTrigger.of(0.5, max)) == described(DeltaTrigger.of(0.5, lambda old, new: 1.0))
