"""Laws of the joins: against every pair of the whole history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.cases import MAX, Feed, Late, Mark, Program, Script, Stage, Step
from tests.properties.local_run import LocalProgram, Tape, do
from tests.properties.model import Pair, expected, expected_pairs
from tests.properties.programs import AsLate, assigner, gaps_allowed, scripts, time_windows

from tidegate.common import Time
from tidegate.datastream import DataStream, OutputTag
from tidegate.datastream.functions import ProcessJoinFunction
from tidegate.testing import Watermark

LATE_TAGS = (OutputTag("late left"), OutputTag("late right"))
TwoSided = list[tuple[int, Step]]


def sides(script: Script, choices: bytes) -> TwoSided:
    """Every step on one of two inputs; many watermarks on both."""
    placed: TwoSided = []
    for index, step in enumerate(script):
        choice = choices[index % len(choices)]
        is_on_both = isinstance(step, Mark) and step.timestamp < MAX and choice % 4 < 3
        placed.extend((side, step) for side in ((0, 1) if is_on_both else (choice // 4 % 2,)))
    return placed


def two_sided(channels: int) -> st.SearchStrategy[TwoSided]:
    """Inputs for two sides; a channel that ended stays so on its side."""

    def cleaned(script: TwoSided) -> TwoSided:
        ended: set[tuple[int, int]] = set()
        kept: TwoSided = []
        for side, step in script:
            if isinstance(step, Feed) and (side, step.channel) in ended:
                continue
            if isinstance(step, Mark) and step.timestamp == MAX:
                ended.add((side, step.channel))
            kept.append((side, step))
        return kept

    return st.builds(sides, scripts(channels), st.binary(min_size=7, max_size=7)).map(cleaned)


def drain(tape: Tape) -> list[tuple[object, int | None]]:
    return [item for item in tape.take() if not isinstance(item, Watermark)]


# By interval


class IntervalCase(NamedTuple):
    channels: int
    lower: int
    width: int
    is_lower_open: bool
    is_upper_open: bool
    script: TwoSided

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and highest distance that still pairs."""
        return self.lower + self.is_lower_open, self.lower + self.width - self.is_upper_open


@st.composite
def interval_cases(draw: st.DrawFn) -> IntervalCase:
    channels = draw(st.integers(1, 2))
    return IntervalCase(
        channels,
        draw(st.integers(-10, 10)),
        draw(st.integers(2, 12)),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(two_sided(channels)),
    )


class AsPair(ProcessJoinFunction):
    def process_element(self, left: object, right: object, ctx: ProcessJoinFunction.Context) -> list[Pair]:
        return [Pair(left.name, right.name, ctx.get_timestamp())]  # type: ignore[attr-defined]


def interval_join(case: IntervalCase, cuts: Collection[int] = ()) -> tuple[list[list[Pair]], list[list[Late]]]:
    def describe(inputs: list[DataStream]) -> dict[str, DataStream]:
        left, right = (stream.key_by(lambda element: element.key) for stream in inputs)
        lower, upper = Time.milliseconds(case.lower), Time.milliseconds(case.lower + case.width)
        joined = left.interval_join(right).between(lower, upper)
        if case.is_lower_open:
            joined = joined.lower_bound_exclusive()
        if case.is_upper_open:
            joined = joined.upper_bound_exclusive()
        joined = joined.side_output_left_late_data(LATE_TAGS[0]).side_output_right_late_data(LATE_TAGS[1])
        results = joined.process(AsPair()).uid("join")
        late = {
            f"late {side}": results.get_side_output(tag).process(AsLate(side)) for side, tag in enumerate(LATE_TAGS)
        }
        return {"pairs": results, **late}

    live = LocalProgram(describe, inputs=2, channels=case.channels, parallelism=2)
    pairs: list[list[Pair]] = []
    late: list[list[Late]] = []
    for number, (side, step) in enumerate(case.script):
        if number in cuts:
            live.restart()
        do(live, step, side)
        found = drain(live.tapes["pairs"])
        assert all(pair.timestamp == timestamp for pair, timestamp in found)  # type: ignore[attr-defined]
        pairs.append([pair for pair, _ in found])  # type: ignore[misc]
        late.append([record for s in (0, 1) for record, _ in drain(live.tapes[f"late {s}"])])  # type: ignore[misc]
    live.close()
    return pairs, late


@given(interval_cases())
@settings(max_examples=200, deadline=None)
def test_an_interval_join_pairs_every_two_elements_that_are_close_and_were_not_late(case: IntervalCase) -> None:
    pairs, late = interval_join(case)
    must_pairs, must_late = expected_pairs(case.script, case.channels, *case.bounds)
    assert [Counter(step) for step in pairs] == [Counter(step) for step in must_pairs]
    assert late == must_late


@given(interval_cases(), st.sets(st.integers(0, 45), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_an_interval_join_restarted_at_any_step_gives_the_same(case: IntervalCase, cuts: set[int]) -> None:
    assert interval_join(case, cuts) == interval_join(case)


# By window


class WindowCase(NamedTuple):
    stage: Stage
    channels: int
    script: TwoSided


@st.composite
def window_cases(draw: st.DrawFn) -> WindowCase:
    stage = Stage(draw(time_windows()), lateness=draw(st.sampled_from([0, 10])))
    channels = draw(st.integers(1, 2))
    return WindowCase(stage, channels, draw(two_sided(channels)))


def window_pairs(case: WindowCase, cuts: Collection[int] = ()) -> list[Counter[tuple[object, int | None]]]:
    def describe(inputs: list[DataStream]) -> dict[str, DataStream]:
        streams = inputs[0].join(inputs[1]).where(lambda element: element.key).equal_to(lambda element: element.key)
        with gaps_allowed():
            windows = streams.window(assigner(case.stage.windows)).allowed_lateness(case.stage.lateness)
        return {"pairs": windows.apply(lambda left, right: (left.name, right.name))}

    live = LocalProgram(describe, inputs=2, channels=case.channels, parallelism=2)
    pairs = []
    for number, (side, step) in enumerate(case.script):
        if number in cuts:
            live.restart()
        do(live, step, side)
        pairs.append(Counter(drain(live.tapes["pairs"])))
    live.close()
    return pairs


@given(window_cases())
@settings(max_examples=80, deadline=None)
def test_a_window_join_gives_the_pairs_of_every_firing_of_a_window_over_both_inputs(case: WindowCase) -> None:
    # Both inputs are one stream under the window: their channels meet in one valve.
    united = [step._replace(channel=side * case.channels + step.channel) for side, step in case.script]
    side_of = {step.element.name: side for side, step in case.script if isinstance(step, Feed)}
    model = expected(Program((case.stage,), channels=2 * case.channels), united)
    must = [
        Counter(
            ((left, right), result.timestamp)
            for result in outcome.results
            for left in result.names
            for right in result.names
            if (side_of[left], side_of[right]) == (0, 1)
        )
        for outcome in model.outcomes
    ]
    assert window_pairs(case) == must


@given(window_cases(), st.sets(st.integers(0, 45), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_a_window_join_restarted_at_any_step_gives_the_same(case: WindowCase, cuts: set[int]) -> None:
    assert window_pairs(case, cuts) == window_pairs(case)
