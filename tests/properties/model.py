"""What a program must give, worked out from the whole history without any of the library's code.

Everything is looked at each time: every channel, every window, every element. It follows the text of the semantics,
sections 6, 7, 9, 10 and 13.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.properties.cases import (
    MAX,
    MIN,
    Continuous,
    Count,
    Counts,
    CountSliding,
    CountTumbling,
    Delta,
    Element,
    EventTime,
    Evictor,
    Feed,
    Late,
    Mark,
    Outcome,
    Program,
    Purging,
    Result,
    Run,
    Script,
    Session,
    Sliding,
    Stage,
    Status,
    Step,
    Trigger,
    Tumbling,
    result_element,
)

# Time


@dataclass
class Channel:
    watermark: int = MIN
    is_active: bool = True
    is_aligned: bool = True

    @property
    def has_ended(self) -> bool:
        return self.watermark == MAX


class Valve:
    """Section 6. Both methods return the watermark that is emitted, None if none is."""

    def __init__(self, channels: int) -> None:
        self.channels = [Channel() for _ in range(channels)]
        self.output = MIN

    @property
    def is_idle(self) -> bool:
        return bool(self._living()) and not any(channel.is_active for channel in self._living())

    def mark(self, index: int, timestamp: int) -> int | None:
        channel = self.channels[index]
        if channel.has_ended:
            return None
        if timestamp == MAX:
            was_active = channel.is_active
            channel.watermark = MAX
            if all(c.has_ended for c in self.channels):
                return self._emit(MAX)
            return self._settle() if was_active else None
        if not channel.is_active or timestamp <= channel.watermark:
            return None
        channel.watermark = timestamp
        channel.is_aligned = channel.is_aligned or timestamp >= self.output
        return self._minimum()

    def status(self, index: int, *, is_idle: bool) -> int | None:
        channel = self.channels[index]
        if channel.has_ended or channel.is_active != is_idle:
            return None
        channel.is_active = not is_idle
        channel.is_aligned = not is_idle and channel.watermark >= self.output
        return self._settle()

    def _living(self) -> list[Channel]:
        return [channel for channel in self.channels if not channel.has_ended]

    def _settle(self) -> int | None:
        if self.is_idle:
            return self._emit(max(channel.watermark for channel in self._living()))
        return self._minimum()

    def _minimum(self) -> int | None:
        aligned = [channel.watermark for channel in self._living() if channel.is_active and channel.is_aligned]
        return self._emit(min(aligned)) if aligned else None

    def _emit(self, timestamp: int) -> int | None:
        if timestamp <= self.output:
            return None
        self.output = timestamp
        return timestamp


# Windows


@dataclass
class Pane:
    """One window of one key, and what its trigger remembers."""

    key: int
    start: int
    end: int
    elements: list[tuple[Element, int]] = field(default_factory=list)
    count: int = 0
    last_number: int | None = None
    next_firing: int | None = None
    is_scheduled: bool = False

    @property
    def max_timestamp(self) -> int:
        return self.end if self.end == MAX else self.end - 1

    @property
    def span(self) -> tuple[int, ...]:
        return () if self.end == MAX else (self.start, self.end)


class StageModel:
    """Section 9 for one stage, over all keys."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.windows = stage.windows
        self.is_event_time = isinstance(self.windows, Tumbling | Sliding | Session)
        self.trigger, self.is_purging = _trigger_of(stage)
        self.evictor = stage.evictor
        if isinstance(self.windows, CountSliding):
            self.evictor = Evictor("count", self.windows.length)
        self.panes: list[Pane] = []
        self.watermark = MIN
        self.fired: list[Result] = []
        self.counts = [0, 0, 0]

    def element(self, element: Element, timestamp: int) -> Late | None:
        """An element comes. Returns it if it is late and there is an output for that."""
        panes = [pane for start, end in self._spans(timestamp) if (pane := self._pane(element.key, start, end))]
        for pane in panes:
            pane.elements.append((element, timestamp))
            if self._fires_at(pane, element, timestamp):
                self._fire(pane)
        if panes:
            return None
        if not self.is_event_time or timestamp + self.stage.lateness > self.watermark:
            self.counts[2] += 1
            return None
        self.counts[0 if self.stage.has_late_output else 1] += 1
        return Late(0, element.name, timestamp) if self.stage.has_late_output else None

    def advance(self, watermark: int) -> None:
        before, self.watermark = self.watermark, watermark
        for pane in self.panes:
            for _ in range(self._firings(pane, before)):
                self._fire(pane)
        if self.is_event_time:
            self.panes = [pane for pane in self.panes if not self._is_late(pane)]

    def take(self) -> list[Result]:
        fired, self.fired = self.fired, []
        return fired

    def _spans(self, timestamp: int) -> list[tuple[int, int]]:
        windows = self.windows
        if isinstance(windows, Session):
            return [(timestamp, timestamp + windows.gap)]
        if isinstance(windows, Tumbling):
            windows = Sliding(windows.size, windows.size, windows.offset)
        if isinstance(windows, Sliding):
            size, slide, offset = windows
            starts = range(timestamp - size + 1, timestamp + 1)
            return [(start, start + size) for start in starts if (start - offset) % slide == 0]
        return [(MIN, MAX)]

    def _pane(self, key: int, start: int, end: int) -> Pane | None:
        """The live window that the span belongs to, None if that would be late."""
        merges = isinstance(self.windows, Session)
        same = [
            pane
            for pane in self.panes
            if pane.key == key
            and ((pane.start <= end and start <= pane.end) if merges else (pane.start, pane.end) == (start, end))
        ]
        if same and not merges:
            return same[0]
        merged = Pane(key, min([start, *(p.start for p in same)]), max([end, *(p.end for p in same)]))
        if self.is_event_time and self._is_late(merged):
            return None
        if len(same) == 1 and same[0].span == merged.span:
            return same[0]
        merged.elements = [element for pane in same for element in pane.elements]
        merged.count = sum(pane.count for pane in same)
        merged.next_firing = min((p.next_firing for p in same if p.next_firing is not None), default=None)
        # The timer follows the merged window, also one whose time has come already.
        merged.is_scheduled = merged.next_firing is not None
        self.panes = [pane for pane in self.panes if pane not in same] + [merged]
        return merged

    def _is_late(self, pane: Pane) -> bool:
        return pane.max_timestamp + self.stage.lateness <= self.watermark

    def _fires_at(self, pane: Pane, element: Element, timestamp: int) -> bool:
        trigger = self.trigger
        is_over = pane.max_timestamp <= self.watermark
        if isinstance(trigger, EventTime):
            return is_over
        if isinstance(trigger, Continuous):
            if not is_over and pane.next_firing is None:
                # Flink's remainder truncates towards zero.
                aligned = int(timestamp / trigger.interval) * trigger.interval
                pane.next_firing = min(aligned + trigger.interval, pane.max_timestamp)
                pane.is_scheduled = True
            return is_over
        if isinstance(trigger, Count):
            pane.count += 1
            fires = pane.count >= trigger.every
            if fires:
                pane.count = 0
            return fires
        if isinstance(trigger, Delta):
            fires = pane.last_number is not None and abs(element.number - pane.last_number) > trigger.threshold
            if fires or pane.last_number is None:
                pane.last_number = element.number
            return fires
        return False

    def _firings(self, pane: Pane, before: int) -> int:
        """How often the window fires because the watermark grew: once for each time that it passed."""
        times = set()
        if isinstance(self.trigger, Continuous) and pane.next_firing is not None:
            if pane.max_timestamp == self.watermark == MAX:
                # A window without end fires once at the end of input, whatever the interval.
                pane.is_scheduled = False
            while pane.is_scheduled and pane.next_firing <= self.watermark:
                times.add(pane.next_firing)
                pane.is_scheduled = pane.next_firing < pane.max_timestamp
                pane.next_firing = min(pane.next_firing + self.trigger.interval, pane.max_timestamp)
        if isinstance(self.trigger, EventTime | Continuous) and before < pane.max_timestamp <= self.watermark:
            times.add(pane.max_timestamp)
        return len(times)

    def _fire(self, pane: Pane) -> None:
        if not pane.elements:
            return
        if self.evictor is not None and not self.evictor.is_after:
            pane.elements = _kept(self.evictor, pane.elements)
        names = tuple(sorted(element.name for element, _ in pane.elements))
        self.fired.append(Result(pane.key, pane.span, names, pane.max_timestamp))
        if self.evictor is not None and self.evictor.is_after:
            pane.elements = _kept(self.evictor, pane.elements)
        if self.is_purging:
            pane.elements = []


def _trigger_of(stage: Stage) -> tuple[Trigger | None, bool]:
    """The trigger, and whether it empties the window."""
    if isinstance(stage.trigger, Purging):
        return stage.trigger.nested, True
    if stage.trigger is not None:
        return stage.trigger, False
    if isinstance(stage.windows, CountTumbling):
        return Count(stage.windows.length), True
    if isinstance(stage.windows, CountSliding):
        return Count(stage.windows.every), False
    return (EventTime(), False) if isinstance(stage.windows, Tumbling | Sliding | Session) else (None, False)


def _kept(evictor: Evictor, elements: list[tuple[Element, int]]) -> list[tuple[Element, int]]:
    kind, amount, _ = evictor
    if kind == "count":
        return elements[-amount:]
    if kind == "time":
        newest = max(timestamp for _, timestamp in elements)
        return [entry for entry in elements if entry[1] > newest - amount]
    last = elements[-1][0].number
    return [entry for entry in elements if abs(entry[0].number - last) < amount]


# Programs


def expected(program: Program, script: Script) -> Run:
    """What each step must cause, and what was counted in the end."""
    valve = Valve(program.channels)
    stages = [StageModel(stage) for stage in program.stages]
    outcomes = []
    for step in script:
        outcome = Outcome()
        outcomes.append(outcome)
        for part in _parts(program, step):
            if isinstance(part, Feed):
                _flow(program, stages, 0, [(part.element, part.timestamp)], outcome)
                continue
            watermark = (
                valve.mark(part.channel, part.timestamp)
                if isinstance(part, Mark)
                else valve.status(part.channel, is_idle=part.is_idle)
            )
            if watermark is not None:
                for number, stage in enumerate(stages):
                    stage.advance(watermark)
                    _send_on(program, stages, number, outcome)
                outcome.watermarks.append(watermark)
    return Run(outcomes, [Counts(*stage.counts) for stage in stages])


def _parts(program: Program, step: Step) -> list[Step]:
    """What a step is behind the source: records may bring their watermarks, and then others do not count."""
    if not program.stamps_records:
        return [step]
    if isinstance(step, Feed):
        watermark = step.element.watermark
        return [step] if watermark is None else [step, Mark(step.channel, watermark)]
    return [step] if isinstance(step, Mark) and step.timestamp == MAX else []


def _flow(
    program: Program,
    stages: list[StageModel],
    number: int,
    elements: Iterable[tuple[Element, int]],
    outcome: Outcome,
) -> None:
    for element, timestamp in elements:
        stage = stages[number]
        late = stage.element(element._replace(key=element.key % stage.stage.keys), timestamp)
        if late is not None:
            outcome.late.append(late._replace(stage=number))
        _send_on(program, stages, number, outcome)


def _send_on(program: Program, stages: list[StageModel], number: int, outcome: Outcome) -> None:
    results = stages[number].take()
    if number + 1 == len(stages):
        outcome.results.extend(results)
        return
    keys = program.stages[number + 1].keys
    _flow(program, stages, number + 1, [(result_element(r, keys), r.timestamp) for r in results], outcome)


# Several inputs


class Inputs:
    """Section 7 over two inputs: the minimum over those that are not idle, and one that wakes up counts at once."""

    def __init__(self, channels: int) -> None:
        self.valves = [Valve(channels), Valve(channels)]
        self.inputs = [Channel(), Channel()]
        self.watermark = MIN

    def progress(self, index: int, step: Mark | Status) -> None:
        valve = self.valves[index]
        was_idle = valve.is_idle
        watermark = (
            valve.mark(step.channel, step.timestamp)
            if isinstance(step, Mark)
            else valve.status(step.channel, is_idle=step.is_idle)
        )
        if was_idle and not valve.is_idle:
            self._status(index, is_idle=False)
        if watermark is not None:
            self._mark(index, watermark)
        if valve.is_idle and not was_idle:
            self._status(index, is_idle=True)

    def _mark(self, index: int, timestamp: int) -> None:
        one = self.inputs[index]
        one.is_active = True
        one.watermark = max(one.watermark, timestamp)
        self._settle()

    def _status(self, index: int, *, is_idle: bool) -> None:
        self.inputs[index].is_active = not is_idle
        self._settle()

    def _settle(self) -> None:
        living = [one for one in self.inputs if not one.has_ended]
        active = [one.watermark for one in living if one.is_active]
        combined = min(active) if active else max((one.watermark for one in living), default=MAX)
        self.watermark = max(self.watermark, combined)


class Pair(NamedTuple):
    left: Any
    right: Any
    timestamp: int


def expected_pairs(
    script: Iterable[tuple[int, Step]], channels: int, lower: int, upper: int
) -> tuple[list[list[Pair]], list[list[Late]]]:
    """What an interval join must give for each step: its pairs, and its late records by side.

    Every pair of elements that were not late when they came, with the same key and close enough, at the later one.
    """
    inputs = Inputs(channels)
    seen: list[tuple[int, Feed]] = []
    pairs: list[list[Pair]] = []
    late: list[list[Late]] = []
    for side, step in script:
        pairs.append([])
        late.append([])
        if not isinstance(step, Feed):
            inputs.progress(side, step)
        elif step.timestamp < inputs.watermark:
            late[-1].append(Late(side, step.element.name, step.timestamp))
        else:
            for other_side, other in seen:
                left, right = (step, other) if side == 0 else (other, step)
                is_close = left.timestamp + lower <= right.timestamp <= left.timestamp + upper
                if other_side != side and left.element.key == right.element.key and is_close:
                    times = (left.timestamp, right.timestamp)
                    pairs[-1].append(Pair(left.element.name, right.element.name, max(times)))
            seen.append((side, step))
    return pairs, late
