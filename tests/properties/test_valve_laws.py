"""Laws of the valve, and the valve against a model that follows the text of the semantics word for word."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.time.millis import MAX_TIME, MIN_TIME, saturate
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.valve import Rules, StatusWatermarkValve

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Step(NamedTuple):
    """`pick` chooses among the channels that exist at that time; a watermark is `ahead` of the last output.

    So the script stays close to where the decisions are, however far it has gone.
    """

    verb: str
    pick: int = 0
    ahead: int = 0


class Machine(Protocol):
    @property
    def channels(self) -> Collection[int]: ...

    @property
    def last_output(self) -> int: ...

    def input_watermark(self, watermark: int, channel: int, /) -> list[Progress]: ...

    def input_status(self, status: WatermarkStatus, channel: int, /) -> list[Progress]: ...

    def add_channel(self) -> tuple[int, list[Progress]]: ...

    def remove_channel(self, channel: int, /) -> list[Progress]: ...


@dataclass
class ModelChannel:
    watermark: int = MIN_TIME
    is_active: bool = True
    is_aligned: bool = True


class ModelValve:
    """Section 6, sentence by sentence, looking at every channel each time."""

    def __init__(self, channels: int, *, rules: Rules) -> None:
        self.channels = {index: ModelChannel() for index in range(channels)}
        self.joined = channels
        self.is_corrected = rules == "fixed"
        self.last_output = MIN_TIME
        self.is_idle = False

    def input_watermark(self, watermark: int, channel: int) -> list[Progress]:
        c = self.channels[channel]
        if self.is_corrected and watermark == MAX_TIME:
            # "MAX is never ignored: it ends an idle channel too."
            if self.has_ended(c):
                return []
            was_active = c.is_active
            c.watermark = MAX_TIME
            return self.without_one(was_active)
        # "Ignored if the valve or c is idle, or if it is not greater than c's."
        if self.is_idle or not c.is_active or watermark <= c.watermark:
            return []
        # "Otherwise stored; if c was unaligned and it is >= the last output, c is aligned again."
        c.watermark = watermark
        if not c.is_aligned and watermark >= self.last_output:
            c.is_aligned = True
        return self.new_minimum()

    def input_status(self, status: WatermarkStatus, channel: int) -> list[Progress]:
        c = self.channels[channel]
        # "The same status again does nothing." "Statuses of ended channels are ignored."
        if self.has_ended(c) or c.is_active == (status is ACTIVE):
            return []
        if status is IDLE:
            c.is_active = False
            c.is_aligned = False
            if not self.active():
                if self.is_corrected or c.watermark == self.last_output:
                    return self.flush() + self.announce(IDLE)
                return self.announce(IDLE)
            # A channel that joined may hold the output from below: section 4 says that going idle releases it.
            held = c.watermark <= self.last_output if self.is_corrected else c.watermark == self.last_output
            return self.new_minimum() if held else []
        c.is_active = True
        c.is_aligned = c.watermark >= self.last_output
        emitted = self.announce(ACTIVE)
        return emitted + self.new_minimum() if self.is_corrected else emitted

    def add_channel(self) -> tuple[int, list[Progress]]:
        # "A channel that joins later starts active and aligned at MIN."
        self.channels[self.joined] = ModelChannel()
        self.joined += 1
        return self.joined - 1, self.announce(ACTIVE)

    def remove_channel(self, channel: int) -> list[Progress]:
        # "A channel that leaves is removed and the minimum looked for again."
        c = self.channels.pop(channel)
        if self.has_ended(c) or not self.channels:
            return []
        return self.without_one(c.is_active)

    def without_one(self, was_active: bool) -> list[Progress]:
        # "MAX is emitted when, and only when, every channel has ended (after the status active, if it was idle)."
        if all(self.has_ended(c) for c in self.channels.values()):
            if self.last_output == MAX_TIME:
                return []
            emitted = self.announce(ACTIVE)
            self.last_output = MAX_TIME
            return [*emitted, Watermark.MAX]
        if was_active and not self.active():
            return self.flush() + self.announce(IDLE)
        return self.new_minimum()

    def has_ended(self, c: ModelChannel) -> bool:
        return self.is_corrected and c.watermark == MAX_TIME

    def active(self) -> list[ModelChannel]:
        return [c for c in self.channels.values() if c.is_active and not self.has_ended(c)]

    def new_minimum(self) -> list[Progress]:
        return self.advance(min((c.watermark for c in self.active() if c.is_aligned), default=MIN_TIME))

    def flush(self) -> list[Progress]:
        return self.advance(max(c.watermark for c in self.channels.values() if not self.has_ended(c)))

    def advance(self, watermark: int) -> list[Progress]:
        if watermark <= self.last_output:
            return []
        self.last_output = watermark
        return [Watermark(watermark)]

    def announce(self, status: WatermarkStatus) -> list[Progress]:
        if self.is_idle == (status is IDLE):
            return []
        self.is_idle = status is IDLE
        return [status]


def feed(machine: Machine, step: Step) -> list[Progress]:
    if step.verb == "join":
        return machine.add_channel()[1]
    known = sorted(machine.channels)
    if not known:
        return []
    return act(machine, step, known[step.pick % len(known)])


def act(machine: Machine, step: Step, channel: int) -> list[Progress]:
    if step.verb == "leave":
        return machine.remove_channel(channel)
    if step.verb == "wm":
        return machine.input_watermark(saturate(max(machine.last_output, 0) + step.ahead), channel)
    return machine.input_status(WatermarkStatus(step.verb), channel)


def script(choices: list[Step]) -> st.SearchStrategy[list[Step]]:
    """Many steps by one draw: each byte chooses one."""
    return st.binary(min_size=60, max_size=100).map(lambda data: [choices[byte % len(choices)] for byte in data])


CHANNELS = range(4)
STEPS = [
    *(Step(status, pick) for status in ("active", "idle") for pick in CHANNELS for _ in range(3)),
    *(Step("wm", pick, ahead) for pick in CHANNELS for ahead in (-1, 0, 1, 2, 4)),
    Step("wm", 0, MAX_TIME),
]
CHANGES = [Step("join"), *(Step("leave", pick) for pick in CHANNELS[:2])]

counts = st.integers(1, 4)
fixed_channels = script(STEPS)
changing_channels = script(STEPS + CHANGES)
both_rules = pytest.mark.parametrize("rules", ["fixed", "flink-2.3"])


@both_rules
@given(channels=counts, steps=fixed_channels)
@settings(max_examples=200, deadline=None)
def test_the_valve_does_what_the_text_says(rules: Rules, channels: int, steps: list[Step]) -> None:
    valve, model = StatusWatermarkValve(channels, rules=rules), ModelValve(channels, rules=rules)
    for step in steps:
        assert feed(valve, step) == feed(model, step)
        assert (valve.last_output, valve.is_idle) == (model.last_output, model.is_idle)


@given(channels=st.integers(0, 4), steps=changing_channels)
@settings(max_examples=200, deadline=None)
def test_the_valve_does_what_the_text_says_when_channels_join_and_leave(channels: int, steps: list[Step]) -> None:
    valve, model = StatusWatermarkValve(channels), ModelValve(channels, rules="fixed")
    for step in steps:
        assert feed(valve, step) == feed(model, step)
        assert (valve.last_output, valve.is_idle) == (model.last_output, model.is_idle)


@both_rules
@given(channels=st.integers(0, 4), steps=changing_channels)
@settings(max_examples=60, deadline=None)
def test_the_output_never_goes_back_and_statuses_alternate(rules: Rules, channels: int, steps: list[Step]) -> None:
    valve = StatusWatermarkValve(channels, rules=rules)
    last, status = MIN_TIME, ACTIVE
    for item in (item for step in steps for item in feed(valve, step)):
        if isinstance(item, Watermark):
            assert item.timestamp > last
            assert status is ACTIVE
            last = item.timestamp
        else:
            assert item is not status
            status = item


@given(channels=counts, steps=fixed_channels)
@settings(max_examples=60, deadline=None)
def test_nothing_follows_the_end(channels: int, steps: list[Step]) -> None:
    valve = StatusWatermarkValve(channels)
    emitted = [item for step in steps for item in feed(valve, step)]
    assert Watermark.MAX not in emitted[:-1]


@both_rules
@given(channels=counts, steps=changing_channels, data=st.data())
@settings(max_examples=60, deadline=None)
def test_permuting_channels_changes_nothing(
    rules: Rules, channels: int, steps: list[Step], data: st.DataObject
) -> None:
    other_name = dict(enumerate(data.draw(st.permutations(range(channels)))))
    valve, permuted = StatusWatermarkValve(channels, rules=rules), StatusWatermarkValve(channels, rules=rules)
    for step in steps:
        if step.verb == "join":
            index, emitted = valve.add_channel()
            other_name[index], others = permuted.add_channel()
            assert emitted == others
        elif known := sorted(valve.channels):
            channel = known[step.pick % len(known)]
            assert act(valve, step, channel) == act(permuted, step, other_name[channel])


@both_rules
@given(channels=st.integers(0, 4), steps=changing_channels, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_restart_at_any_step_changes_nothing(
    rules: Rules, channels: int, steps: list[Step], data: st.DataObject
) -> None:
    restart_before = data.draw(st.sets(st.integers(0, 99), min_size=1, max_size=4))
    valve, restarted = StatusWatermarkValve(channels, rules=rules), StatusWatermarkValve(channels, rules=rules)
    for number, step in enumerate(steps):
        if number in restart_before:
            restarted = StatusWatermarkValve.restore(json.loads(json.dumps(restarted.snapshot())))
        assert feed(restarted, step) == feed(valve, step)
    assert restarted.snapshot() == valve.snapshot()
