"""Laws of the combination of inputs, and the combination against a model that works it out from scratch each time."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.time.millis import MAX_TIME, MIN_TIME, saturate
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import Rules

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Step(NamedTuple):
    """A watermark is `ahead` of the last output, so that the script stays close to where the decisions are."""

    verb: str
    pick: int
    ahead: int = 0

    def watermark(self, last_output: int) -> int:
        return saturate(max(last_output, 0) + self.ahead)


class ModelCombination:
    """Section 7: what the inputs are now says what the output must be."""

    def __init__(self, inputs: int, *, rules: Rules) -> None:
        self.watermarks = [MIN_TIME] * inputs
        self.idle = [False] * inputs
        self.is_corrected = rules == "fixed"
        self.last_output = MIN_TIME
        self.is_idle = False

    def feed(self, step: Step) -> list[Progress]:
        index = step.pick % len(self.watermarks)
        if self.has_ended(index):
            return []
        if step.verb == "wm":
            # "A watermark on an idle input makes it active first."
            self.idle[index] = False
            self.watermarks[index] = max(self.watermarks[index], step.watermark(self.last_output))
        else:
            self.idle[index] = step.verb == "idle"
        return self.news()

    def has_ended(self, index: int) -> bool:
        return self.is_corrected and self.watermarks[index] == MAX_TIME

    def news(self) -> list[Progress]:
        going_on = [index for index in range(len(self.watermarks)) if not self.has_ended(index)]
        awake = [self.watermarks[index] for index in going_on if not self.idle[index]]
        if not going_on:
            target, is_idle = MAX_TIME, False
        elif awake:
            target, is_idle = min(awake), False
        else:
            target, is_idle = max(self.watermarks[index] for index in going_on), True
        emitted: list[Progress] = []
        if self.is_idle and not is_idle:
            emitted.append(ACTIVE)
        if target > self.last_output:
            emitted.append(Watermark(target))
            self.last_output = target
        if is_idle and not self.is_idle:
            emitted.append(IDLE)
        self.is_idle = is_idle
        return emitted


def input_watermarks(combined: CombinedWatermark) -> list[int]:
    return [watermark for watermark, _ in combined.snapshot()["inputs"]]


def feed(combined: CombinedWatermark, step: Step) -> list[Progress]:
    index = step.pick % len(input_watermarks(combined))
    if step.verb == "wm":
        return combined.input_watermark(step.watermark(combined.last_output), index)
    return combined.input_status(WatermarkStatus(step.verb), index)


INPUTS = range(3)
STEPS = [
    *(Step("active", pick) for pick in INPUTS),
    *(Step("idle", pick) for pick in INPUTS),
    *(Step("wm", pick, ahead) for pick in INPUTS for ahead in (-2, -1, 0, 0, 1, 1, 2, 3)),
    Step("wm", 0, MAX_TIME),
    Step("wm", 1, MAX_TIME),
]

counts = st.integers(1, 3)
# Many steps by one draw: each byte chooses one.
scripts = st.binary(min_size=60, max_size=100).map(lambda data: [STEPS[byte % len(STEPS)] for byte in data])
both_rules = pytest.mark.parametrize("rules", ["fixed", "flink-2.3"])


@both_rules
@given(inputs=counts, steps=scripts)
@settings(max_examples=200, deadline=None)
def test_the_combination_is_what_its_inputs_say(rules: Rules, inputs: int, steps: list[Step]) -> None:
    combined, model = CombinedWatermark(inputs, rules=rules), ModelCombination(inputs, rules=rules)
    for step in steps:
        assert feed(combined, step) == model.feed(step)
        assert input_watermarks(combined) == model.watermarks


@both_rules
@given(inputs=counts, steps=scripts)
@settings(max_examples=60, deadline=None)
def test_the_output_never_goes_back_and_statuses_alternate(rules: Rules, inputs: int, steps: list[Step]) -> None:
    combined = CombinedWatermark(inputs, rules=rules)
    last, status = MIN_TIME, ACTIVE
    for item in (item for step in steps for item in feed(combined, step)):
        if isinstance(item, Watermark):
            assert item.timestamp > last
            assert status is ACTIVE
            last = item.timestamp
        else:
            assert item is not status
            status = item


@both_rules
@given(inputs=counts, steps=scripts, data=st.data())
@settings(max_examples=60, deadline=None)
def test_permuting_inputs_changes_nothing(rules: Rules, inputs: int, steps: list[Step], data: st.DataObject) -> None:
    other_name = data.draw(st.permutations(range(inputs)))
    combined, permuted = CombinedWatermark(inputs, rules=rules), CombinedWatermark(inputs, rules=rules)
    for step in steps:
        assert feed(combined, step) == feed(permuted, step._replace(pick=other_name[step.pick % inputs]))


@both_rules
@given(inputs=counts, steps=scripts, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_restart_at_any_step_changes_nothing(
    rules: Rules, inputs: int, steps: list[Step], data: st.DataObject
) -> None:
    restart_before = data.draw(st.sets(st.integers(0, 99), min_size=1, max_size=4))
    combined, restarted = CombinedWatermark(inputs, rules=rules), CombinedWatermark(inputs, rules=rules)
    for number, step in enumerate(steps):
        if number in restart_before:
            restarted = CombinedWatermark.restore(json.loads(json.dumps(restarted.snapshot())))
        assert feed(restarted, step) == feed(combined, step)
    assert restarted.snapshot() == combined.snapshot()
