"""Strategies for random programs and inputs, and the programs built with the public API.

Any runtime can run them: `build` takes the stream that the runtime feeds, and gives the streams to collect.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.properties.cases import (
    MAX,
    Continuous,
    Count,
    CountSliding,
    CountTumbling,
    Delta,
    Element,
    EventTime,
    Evictor,
    Feed,
    Global,
    Late,
    Mark,
    Program,
    Purging,
    Result,
    Script,
    Session,
    Sliding,
    Stage,
    Status,
    Trigger,
    Tumbling,
    Windows,
    result_element,
)

from tidegate.common import Time, WatermarkStrategy
from tidegate.common.watermark_strategy import Watermark, WatermarkGenerator
from tidegate.datastream import AggregateFunction, DataStream, OutputTag, ProcessFunction, ProcessWindowFunction, window
from tidegate.datastream.window import TimeWindow

# Drawing programs


@st.composite
def _offset_windows(draw: st.DrawFn) -> Windows:
    size = draw(st.integers(1, 14))
    if draw(st.booleans()):
        return Tumbling(size, draw(st.integers(1 - size, size - 1)))
    slide = draw(st.integers(max(1, size // 4), 18))
    return Sliding(size, slide, draw(st.integers(1 - slide, slide - 1)))


_TIME_WINDOWS = st.one_of(_offset_windows(), st.builds(Session, st.integers(1, 8)))


def time_windows() -> st.SearchStrategy[Windows]:
    return _TIME_WINDOWS


_COUNT_WINDOWS = st.one_of(
    st.builds(CountTumbling, st.integers(1, 4)), st.builds(CountSliding, st.integers(1, 4), st.integers(1, 4))
)
_WINDOWS = st.one_of(_TIME_WINDOWS, _TIME_WINDOWS, st.just(Global()), _COUNT_WINDOWS)
_MERGING_TRIGGERS = st.one_of(
    st.just(EventTime()), st.builds(Count, st.integers(1, 4)), st.builds(Continuous, st.integers(2, 9))
)
_TRIGGERS = st.one_of(_MERGING_TRIGGERS, st.builds(Delta, st.integers(0, 6)))


def _trigger(windows: Windows) -> st.SearchStrategy[Trigger | None]:
    if isinstance(windows, CountTumbling | CountSliding):
        return st.none()
    plain = _MERGING_TRIGGERS if isinstance(windows, Session) else _TRIGGERS
    return st.one_of(st.none(), plain, st.builds(Purging, plain))


def _evictor(windows: Windows) -> st.SearchStrategy[Evictor | None]:
    if isinstance(windows, CountSliding):
        return st.none()
    # What came last is not defined where two sessions become one.
    kinds = ["time", "delta"] if isinstance(windows, Session) else ["count", "time", "delta"]
    evictors = st.builds(Evictor, st.sampled_from(kinds), st.integers(1, 8), st.booleans())
    return st.one_of(st.none(), st.none(), st.none(), evictors)


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    windows = draw(_WINDOWS)
    return Stage(
        windows,
        draw(_trigger(windows)),
        draw(_evictor(windows)),
        draw(st.sampled_from([0, 0, 1, 4, 10])),
        draw(st.booleans()),
        draw(st.sampled_from(["process", "aggregate", "reduce"])),
        draw(st.integers(1, 4)),
    )


@st.composite
def _second_stages(draw: st.DrawFn, first: Stage) -> Stage:
    """A window behind a window.

    Several results at once come in any order, so they must not meet a window that cares: where one late element can
    give several results, the second windows neither merge nor fire again.
    """
    keys = draw(st.integers(1, 2))
    if isinstance(first.windows, Sliding):
        return Stage(Tumbling(draw(st.integers(1, 40))), keys=keys, has_late_output=draw(st.booleans()))
    return Stage(draw(_TIME_WINDOWS), lateness=draw(st.sampled_from([0, 15])), keys=keys)


@st.composite
def programs(draw: st.DrawFn, first: st.SearchStrategy[Stage] | None = None, max_parallelism: int = 3) -> Program:
    stage = draw(stages() if first is None else first)
    line = [stage]
    if isinstance(stage.windows, Tumbling | Sliding | Session) and draw(st.integers(0, 3)) == 0:
        line.append(draw(_second_stages(stage)))
    return Program(
        tuple(line),
        channels=draw(st.integers(1, 3)),
        parallelism=draw(st.integers(1, max_parallelism)),
        stamps_records=draw(st.integers(0, 3)) == 0,
    )


def closing_programs() -> st.SearchStrategy[Program]:
    """Programs whose windows all fire with everything they hold when the input ends."""
    plain = st.builds(
        Stage,
        _TIME_WINDOWS,
        st.sampled_from([None, EventTime(), Continuous(7)]),
        lateness=st.sampled_from([0, 4, 10]),
        has_late_output=st.booleans(),
    )
    return programs(plain).map(lambda program: replace(program, stages=program.stages[:1]))


def event_time_stages() -> st.SearchStrategy[Stage]:
    """What the window operator has a short way for: the event-time trigger, and no evictor."""
    return st.builds(
        Stage,
        _TIME_WINDOWS,
        lateness=st.sampled_from([0, 0, 1, 4, 10]),
        has_late_output=st.booleans(),
        function=st.sampled_from(["process", "aggregate", "reduce"]),
    )


# Drawing inputs


_VERBS = ["feed"] * 8 + ["mark"] * 3 + ["mark all"] * 3 + ["idle", "active", "end"]
_BYTES_PER_STEP = 4
_PACE = 2


def scripts(channels: int, *, ends: bool | None = None) -> st.SearchStrategy[Script]:
    """Inputs for so many channels. They end for all of them, or not, or perhaps.

    The further the script, the higher its times. It is read from bytes, because lists of tuples are slow to draw.
    """
    endings = st.booleans() if ends is None else st.just(ends)
    data = st.binary(min_size=20 * _BYTES_PER_STEP, max_size=45 * _BYTES_PER_STEP)
    return st.builds(lambda drawn, ending: _script(drawn, channels, ends=ending), data, endings)


def _script(data: bytes, channels: int, *, ends: bool) -> Script:
    script: Script = []
    ended: set[int] = set()
    for index in range(len(data) // _BYTES_PER_STEP):
        verb_byte, place, shift_byte, number = data[index * _BYTES_PER_STEP :][:_BYTES_PER_STEP]
        verb = _VERBS[verb_byte % len(_VERBS)]
        channel, key = place % channels, place // 4 % 4
        now = index * _PACE
        shift = shift_byte % 22 - 14
        if verb == "feed":
            if channel in ended:
                continue
            if number % 7 == 3:
                shift -= 20
            watermark = now + shift - 4 if number % 2 else None
            script.append(Feed(channel, Element(key, index, number // 2 % 10, watermark), now + shift))
        elif verb == "mark":
            script.append(Mark(channel, now + shift))
        elif verb == "mark all":
            script.extend(Mark(each, now + shift) for each in range(channels))
        elif verb != "end":
            script.append(Status(channel, verb == "idle"))
        elif number % 8 == 0:
            ended.add(channel)
            script.append(Mark(channel, MAX))
    if ends:
        script.extend(Mark(channel, MAX) for channel in range(channels))
    return script


@st.composite
def programs_with_scripts(
    draw: st.DrawFn, which: st.SearchStrategy[Program] | None = None, *, ends: bool | None = None
) -> tuple[Program, Script]:
    program = draw(programs() if which is None else which)
    return program, draw(scripts(program.channels, ends=ends))


# Building


class Built(NamedTuple):
    """A program: its results, and the late records of each stage that has an output for them."""

    results: DataStream
    late: dict[int, DataStream]


def stage_uid(number: int) -> str:
    return f"stage-{number}"


def build(program: Program, stream: DataStream, trigger: window.Trigger | None = None) -> Built:
    """The program on a stream of `Element`s; `trigger` replaces that of the first stage."""
    if program.stamps_records:
        stream = stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_generator(FromRecords))
    late = {}
    for number, stage in enumerate(program.stages):
        if number:
            stream = stream.map(Onward(stage.keys))
        results = _windowed(stage, stream, trigger if number == 0 else None).uid(stage_uid(number))
        if stage.has_late_output:
            late[number] = results.get_side_output(LATE).process(AsLate(number))
        stream = results
    return Built(stream, late)


LATE = OutputTag("late")


class FromRecords(WatermarkGenerator):
    """The watermark that a record carries follows it."""

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        if event.watermark is not None:
            output.emit_watermark(Watermark(event.watermark))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class KeyModulo:
    def __init__(self, keys: int) -> None:
        self._keys = keys

    def __call__(self, element: Element) -> int:
        return element.key % self._keys


class Onward:
    def __init__(self, keys: int) -> None:
        self._keys = keys

    def __call__(self, result: Result) -> Element:
        return result_element(result, self._keys)


class AsLate(ProcessFunction):
    def __init__(self, stage: int) -> None:
        self._stage = stage

    def process_element(self, value: Element, ctx: Any) -> Iterable[Late]:
        yield Late(self._stage, value.name, ctx.timestamp())


class AsResult(ProcessWindowFunction):
    """The window's elements, or one list of them, as a result."""

    def __init__(self, *, is_collected: bool) -> None:
        self._is_collected = is_collected

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Result]:
        names = [name for part in elements for name in part] if self._is_collected else [e.name for e in elements]
        span = context.window()
        yield Result(
            key, tuple(span) if isinstance(span, TimeWindow) else (), tuple(sorted(names)), span.max_timestamp()
        )


class Collect(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Element, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value.name)
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return list(accumulator)


class AsReduced(ProcessWindowFunction):
    """The one element that the others were reduced into."""

    def process(self, key: Any, context: Any, elements: Iterable[Element]) -> Iterable[Result]:
        (reduced,) = elements
        names = reduced.name if isinstance(reduced.name, Joined) else (reduced.name,)
        span = context.window()
        yield Result(
            key, tuple(span) if isinstance(span, TimeWindow) else (), tuple(sorted(names)), span.max_timestamp()
        )


class Joined(tuple[Any, ...]):
    """The names of several elements."""

    __slots__ = ()


def join_names(left: Element, right: Element) -> Element:
    names = [name if isinstance(name, Joined) else (name,) for name in (left.name, right.name)]
    return left._replace(name=Joined((*names[0], *names[1])))


def distance(old: Element, new: Element) -> float:
    return abs(old.number - new.number)


def _windowed(stage: Stage, stream: DataStream, trigger: window.Trigger | None) -> DataStream:
    keyed = stream.key_by(KeyModulo(stage.keys))
    with gaps_allowed():
        windows = keyed.window(assigner(stage.windows))
    if trigger is not None or stage.trigger is not None:
        windows = windows.trigger(trigger or as_trigger(stage.trigger))
    if stage.evictor is not None:
        windows = windows.evictor(as_evictor(stage.evictor))
    if stage.lateness:
        windows = windows.allowed_lateness(stage.lateness)
    if stage.has_late_output:
        windows = windows.side_output_late_data(LATE)
    if stage.function == "aggregate":
        return windows.aggregate(Collect(), AsResult(is_collected=True))
    if stage.function == "reduce":
        return windows.reduce(join_names, AsReduced())
    return windows.process(AsResult(is_collected=False))


@contextmanager
def gaps_allowed() -> Iterator[None]:
    """Windows that slide further than they are long are meant here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "windows of .* leave gaps")
        yield


def assigner(windows: Windows) -> window.WindowAssigner:
    ms = Time.milliseconds
    match windows:
        case Tumbling(size, offset):
            return window.TumblingEventTimeWindows.of(ms(size), ms(offset))
        case Sliding(size, slide, offset):
            return window.SlidingEventTimeWindows.of(ms(size), ms(slide), ms(offset))
        case Session(gap):
            return window.EventTimeSessionWindows.with_gap(ms(gap))
        case Global():
            return window.GlobalWindows.create()
        case CountTumbling(length):
            return window.CountTumblingWindowAssigner.of(length)
        case CountSliding(length, every):
            return window.CountSlidingWindowAssigner.of(length, every)


def as_trigger(trigger: Trigger | None) -> window.Trigger:
    match trigger:
        case Count(every):
            return window.CountTrigger.of(every)
        case Continuous(interval):
            return window.ContinuousEventTimeTrigger.of(Time.milliseconds(interval))
        case Delta(threshold):
            return window.DeltaTrigger.of(threshold, distance)
        case Purging(nested):
            return window.PurgingTrigger.of(as_trigger(nested))
        case _:
            return window.EventTimeTrigger.create()


def as_evictor(evictor: Evictor) -> window.Evictor:
    kind, amount, is_after = evictor
    if kind == "count":
        return window.CountEvictor.of(amount, is_after)
    if kind == "time":
        return window.TimeEvictor.of(Time.milliseconds(amount), is_after)
    return window.DeltaEvictor.of(amount, distance, is_after)
