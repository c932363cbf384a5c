"""Laws of the emitter, of the minimum, and of alignment."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core.time.millis import MAX_TIME, MIN_TIME, add
from tidegate.core.watermark.alignment import AlignmentGroup, AlignmentParameters
from tidegate.core.watermark.emitter import WatermarkEmitter
from tidegate.core.watermark.lowest import LowestWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus

times = st.one_of(st.integers(-5, 30), st.sampled_from([MIN_TIME, MIN_TIME + 1, MAX_TIME - 1, MAX_TIME]))
emissions = st.lists(st.one_of(times, st.sampled_from(["idle", "active"])), min_size=10, max_size=30)


def emit(emitter: WatermarkEmitter, emission: int | str) -> None:
    if emission == "idle":
        emitter.mark_idle()
    elif emission == "active":
        emitter.mark_active()
    else:
        emitter.emit_watermark(Watermark(int(emission)))


@given(script=emissions)
@settings(max_examples=60, deadline=None)
def test_an_emitter_never_goes_back_and_never_repeats_itself(script: list[int | str]) -> None:
    sent: list[Progress] = []
    emitter = WatermarkEmitter(sent.append)
    for emission in script:
        emit(emitter, emission)
    last, status = MIN_TIME, WatermarkStatus.ACTIVE
    for item in sent:
        assert last < MAX_TIME
        if isinstance(item, Watermark):
            assert item.timestamp > last
            assert status is WatermarkStatus.ACTIVE
            last = item.timestamp
        else:
            assert item is not status
            status = item
    assert (emitter.current_watermark, emitter.is_idle) == (last, status is WatermarkStatus.IDLE)
    assert last == max([MIN_TIME, *(emission for emission in script if isinstance(emission, int))])


@given(script=emissions, data=st.data())
@settings(max_examples=60, deadline=None)
def test_an_emitter_restarted_at_any_step_sends_the_same(script: list[int | str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(script)))
    expected: list[Progress] = []
    sent: list[Progress] = []
    whole, before, after = (
        WatermarkEmitter(expected.append),
        WatermarkEmitter(sent.append),
        WatermarkEmitter(sent.append),
    )
    for emission in script:
        emit(whole, emission)
    for emission in script[:cut]:
        emit(before, emission)
    after.restore(json.loads(json.dumps(before.snapshot())))
    for emission in script[cut:]:
        emit(after, emission)
    assert sent == expected


MOVES = [*((channel, None) for channel in range(3)), *((channel, time) for channel in range(3) for time in range(9))]


@given(moves=st.binary(min_size=100, max_size=200).map(lambda data: [MOVES[byte % len(MOVES)] for byte in data]))
@settings(max_examples=150, deadline=None)
def test_the_lowest_watermark_is_the_minimum(moves: list[tuple[int, int | None]]) -> None:
    lowest, watermarks = LowestWatermark(), dict[int, int]()
    for channel, watermark in moves:
        if watermark is None:
            lowest.discard(channel)
            watermarks.pop(channel, None)
        else:
            lowest.put(channel, watermark)
            watermarks[channel] = watermark
        assert lowest.get() == min(watermarks.values(), default=None)
        assert len(lowest) == len(watermarks)


ALIGNMENT_STEPS = [
    *((verb, pick, 0) for verb in ("update", "join", "active", "idle", "leave") for pick in range(2)),
    *(("report", pick, time) for pick in range(4) for time in (MIN_TIME, 0, 5, 7, 12, MAX_TIME)),
]
alignment_steps = st.binary(min_size=40, max_size=80).map(
    lambda data: [ALIGNMENT_STEPS[byte % len(ALIGNMENT_STEPS)] for byte in data]
)


class Alignment:
    """A group under a script, beside what its definition says. Each update comes one interval after the last."""

    def __init__(self, drift: int) -> None:
        self.parameters = AlignmentParameters("group", drift, update_interval=100)
        self.group = AlignmentGroup(self.parameters)
        self.now = 0
        self.watermarks: dict[int, int] = {}
        self.idle: set[int] = set()
        self.limit = MAX_TIME

    def restart(self) -> None:
        snapshot = json.loads(json.dumps(self.group.snapshot()))
        self.group = AlignmentGroup(self.parameters)
        self.group.restore(snapshot)

    def feed(self, verb: str, pick: int, time: int) -> None:
        channel = sorted(self.watermarks)[pick % len(self.watermarks)] if self.watermarks else None
        if verb == "join":
            self.watermarks[self.group.add_channel()] = MIN_TIME
        elif verb == "update":
            self.now += 100
            self.group.update(self.now)
            holding = [w for c, w in self.watermarks.items() if c not in self.idle and w != MAX_TIME]
            self.limit = add(min(holding), self.parameters.max_drift) if holding else MAX_TIME
        elif channel is None:
            return
        elif verb == "report":
            self.group.report(channel, time)
            self.watermarks[channel] = time
        elif verb == "leave":
            self.group.remove_channel(channel)
            del self.watermarks[channel]
            self.idle.discard(channel)
        else:
            self.group.set_idle(channel, is_idle=verb == "idle")
            self.idle = self.idle | {channel} if verb == "idle" else self.idle - {channel}

    def check(self) -> None:
        assert self.group.limit == self.limit
        for channel, watermark in self.watermarks.items():
            assert self.group.may_read(channel) == (watermark <= self.limit)


@given(
    drift=st.sampled_from([0, 7, MAX_TIME]),
    steps=alignment_steps,
    restart_before=st.sets(st.integers(0, 79), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_alignment_follows_its_definition_across_restarts(
    drift: int, steps: list[tuple[str, int, int]], restart_before: set[int]
) -> None:
    alignment = Alignment(drift)
    for number, (verb, pick, time) in enumerate(steps):
        if number in restart_before:
            alignment.restart()
        alignment.feed(verb, pick, time)
        alignment.check()
