"""Pipeline cases as programs of the public API, so that every runtime runs the same thing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.core.operator.output_tag import OutputTag
from tidegate.core.time.duration import Time
from tidegate.datastream.async_data_stream import AsyncDataStream
from tidegate.datastream.data_stream import DataStream
from tidegate.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tidegate.testing.transcript import functions
from tidegate.testing.transcript.case import Case

LATE: Final = OutputTag("late")
LATE_LEFT: Final = OutputTag("late-left")
LATE_RIGHT: Final = OutputTag("late-right")

_KINDS = {"window", "process", "interval_join", "window_join", "connect", "broadcast", "async"}
_TWO_INPUTS = {"interval_join", "window_join", "connect", "broadcast"}


@dataclass(slots=True)
class Program:
    """A built case: its results, its late outputs by input, and its requests if it is asynchronous."""

    results: DataStream
    late: dict[int, DataStream] = field(default_factory=dict)
    answers: functions.Answers | None = None


def inputs_of(case: Case) -> int:
    operator = case.check_fields(case.fields.get("operator"), _OPERATOR_FIELDS, "operator")
    return 2 if _TWO_INPUTS & set(operator) else 1


def kind_of(case: Case, operator: Mapping[str, Any]) -> str:
    kinds = _KINDS & set(operator)
    if len(kinds) != 1:
        raise case.error(f"operator: expected one of {', '.join(sorted(_KINDS))}, got {', '.join(map(str, operator))}")
    return kinds.pop()


_OPERATOR_FIELDS: Final = _KINDS | {"trigger", "evictor", "allowed_lateness", "late_output", "function", "then"}
_FIELDS_OF: Final[Mapping[str, set[str]]] = {
    "window": {"window", "trigger", "evictor", "allowed_lateness", "late_output", "function"},
    "window_join": {"window_join", "allowed_lateness", "trigger"},
}


def build(case: Case, inputs: list[DataStream]) -> Program:
    """The program of a case on its input streams."""
    operator = case.fields["operator"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _build(case, operator, inputs)


def _build(case: Case, operator: Mapping[str, Any], inputs: list[DataStream]) -> Program:
    program = _operator(case, operator, inputs)
    while "then" in operator:
        operator = case.check_fields(operator["then"], _OPERATOR_FIELDS, "then")
        then = _operator(case, operator, [program.results])
        program = Program(then.results, {**program.late, **then.late}, program.answers)
    return program


def _operator(case: Case, operator: Mapping[str, Any], inputs: list[DataStream]) -> Program:
    kind = kind_of(case, operator)
    case.check_fields(operator, _FIELDS_OF.get(kind, {kind}) | {"then"}, f"operator {kind}")
    if kind == "window":
        return _window(case, operator, inputs[0])
    if kind == "process":
        return Program(inputs[0].key_by("k").process(_process_function(case, operator["process"])))
    if kind == "interval_join":
        return _interval_join(case, operator["interval_join"], inputs)
    if kind == "window_join":
        return _window_join(case, operator, inputs)
    if kind == "connect":
        case.check_fields(operator["connect"], {"sum_both"}, "connect")
        connected: Any = inputs[0].key_by("k").connect(inputs[1].key_by("k"))
        return Program(connected.process(functions.SumBoth()))
    if kind == "broadcast":
        case.check_fields(operator["broadcast"], {"threshold"}, "broadcast")
        rules = inputs[1].broadcast(functions.THRESHOLDS)
        joined: Any = inputs[0].key_by("k").connect(rules)
        return Program(joined.process(functions.Threshold()))
    return _async(case, operator["async"], inputs[0])


def _window(case: Case, operator: Mapping[str, Any], stream: DataStream) -> Program:
    windows = stream.key_by("k").window(_assigner(case, operator["window"]))
    if "trigger" in operator:
        windows = windows.trigger(_trigger(case, operator["trigger"]))
    if "evictor" in operator:
        windows = windows.evictor(_evictor(case, operator["evictor"]))
    if "allowed_lateness" in operator:
        windows = windows.allowed_lateness(case.whole(operator["allowed_lateness"], "allowed_lateness"))
    if operator.get("late_output"):
        windows = windows.side_output_late_data(LATE)
    how = operator.get("function")
    if how not in ("sum", "count", "min", "max", "list"):
        raise case.error(f"function: expected sum, count, min, max or list, got {how!r}")
    results = windows.aggregate(functions.Fold(how), functions.WindowResult())
    late = {1: results.get_side_output(LATE)} if operator.get("late_output") else {}
    return Program(results, late)


def _assigner(case: Case, window: Any) -> WindowAssigner:
    if window == "global":
        return GlobalWindows.create()
    fields = case.check_fields(
        window,
        {
            "tumbling",
            "sliding",
            "offset",
            "session",
            "session_by_value",
            "count",
            "tumbling_processing",
            "sliding_processing",
            "session_processing",
        },
        "window",
    )
    offset = _time(case, fields["offset"], "window: offset") if "offset" in fields else None
    kinds = set(fields) - {"offset"}
    if len(kinds) != 1:
        raise case.error(f"window: expected one kind of window, got {', '.join(sorted(kinds))}")
    kind = kinds.pop()
    value = fields[kind]
    where = f"window: {kind}"
    if kind in ("tumbling", "tumbling_processing"):
        tumbling = TumblingEventTimeWindows if kind == "tumbling" else TumblingProcessingTimeWindows
        return tumbling.of(_time(case, value, where), offset)
    if kind in ("sliding", "sliding_processing"):
        size, slide = _pair(case, value, where)
        sliding = SlidingEventTimeWindows if kind == "sliding" else SlidingProcessingTimeWindows
        return sliding.of(Time.milliseconds(size), Time.milliseconds(slide), offset)
    if kind == "session":
        return EventTimeSessionWindows.with_gap(_time(case, value, where))
    if kind == "session_processing":
        return ProcessingTimeSessionWindows.with_gap(_time(case, value, where))
    if kind == "session_by_value":
        if not isinstance(value, Mapping) or "default" not in value:
            raise case.error(f"{where}: expected gaps by value with a default, got {value!r}")
        return EventTimeSessionWindows.with_dynamic_gap(functions.GapByValue(dict(value)))
    if isinstance(value, list):
        return CountSlidingWindowAssigner.of(*_pair(case, value, where))
    return CountTumblingWindowAssigner.of(case.whole(value, where))


def _trigger(case: Case, trigger: Any) -> Trigger:
    plain: Mapping[str, Callable[[], Trigger]] = {
        "event_time": EventTimeTrigger,
        "processing_time": ProcessingTimeTrigger,
        "end_of_stream": EndOfStreamTrigger,
        "never": NeverTrigger,
    }
    if isinstance(trigger, str):
        if trigger not in plain:
            raise case.error(f"trigger: unknown trigger {trigger!r}")
        return plain[trigger]()
    known = {"count", "continuous_event_time", "continuous_processing_time", "delta", "purging"}
    fields = case.check_fields(trigger, known, "trigger")
    if len(fields) != 1:
        raise case.error(f"trigger: expected one trigger, got {dict(fields)}")
    kind, value = next(iter(fields.items()))
    where = f"trigger: {kind}"
    if kind == "count":
        return CountTrigger.of(case.whole(value, where))
    if kind == "continuous_event_time":
        return ContinuousEventTimeTrigger.of(_time(case, value, where))
    if kind == "continuous_processing_time":
        return ContinuousProcessingTimeTrigger.of(_time(case, value, where))
    if kind == "delta":
        return DeltaTrigger.of(value, functions.distance)
    return PurgingTrigger.of(_trigger(case, value))


def _evictor(case: Case, evictor: Any) -> Evictor:
    fields = case.check_fields(evictor, {"count", "time", "delta", "after"}, "evictor")
    after = bool(fields.get("after", False))
    kinds = set(fields) - {"after"}
    if len(kinds) != 1:
        raise case.error(f"evictor: expected one evictor, got {dict(fields)}")
    kind = kinds.pop()
    if kind == "count":
        return CountEvictor.of(case.whole(fields["count"], "evictor: count"), after)
    if kind == "time":
        return TimeEvictor.of(_time(case, fields["time"], "evictor: time"), after)
    return DeltaEvictor.of(fields["delta"], functions.distance, after)


def _process_function(case: Case, process: Any) -> Any:
    known = {"timer_after", "processing_timer_after", "count_until", "passthrough"}
    fields = case.check_fields(process, known, "process")
    if len(fields) != 1:
        raise case.error(f"process: expected one function, got {dict(fields)}")
    kind, value = next(iter(fields.items()))
    if kind == "timer_after":
        return functions.TimerAfter(case.whole(value, "timer_after"), by_clock=False)
    if kind == "processing_timer_after":
        return functions.TimerAfter(case.whole(value, "processing_timer_after"), by_clock=True)
    if kind == "count_until":
        gap = case.check_fields(value, {"gap"}, "count_until").get("gap")
        return functions.CountUntil(case.whole(gap, "count_until: gap"))
    return functions.Passthrough()


def _interval_join(case: Case, join: Any, inputs: list[DataStream]) -> Program:
    known = {"lower", "upper", "lower_exclusive", "upper_exclusive", "late_left", "late_right"}
    fields = case.check_fields(join, known, "interval_join")
    lower = _time(case, fields.get("lower"), "interval_join: lower")
    upper = _time(case, fields.get("upper"), "interval_join: upper")
    joined = inputs[0].key_by("k").interval_join(inputs[1].key_by("k")).between(lower, upper)
    if fields.get("lower_exclusive"):
        joined = joined.lower_bound_exclusive()
    if fields.get("upper_exclusive"):
        joined = joined.upper_bound_exclusive()
    if fields.get("late_left"):
        joined = joined.side_output_left_late_data(LATE_LEFT)
    if fields.get("late_right"):
        joined = joined.side_output_right_late_data(LATE_RIGHT)
    results = joined.process(functions.join_pair)
    late = {}
    if fields.get("late_left"):
        late[1] = results.get_side_output(LATE_LEFT)
    if fields.get("late_right"):
        late[2] = results.get_side_output(LATE_RIGHT)
    return Program(results, late)


def _window_join(case: Case, operator: Mapping[str, Any], inputs: list[DataStream]) -> Program:
    windows = inputs[0].join(inputs[1]).where("k").equal_to("k").window(_assigner(case, operator["window_join"]))
    if "trigger" in operator:
        windows = windows.trigger(_trigger(case, operator["trigger"]))
    if "allowed_lateness" in operator:
        windows = windows.allowed_lateness(case.whole(operator["allowed_lateness"], "allowed_lateness"))
    return Program(windows.apply(functions.join_pair))


def _async(case: Case, options: Any, stream: DataStream) -> Program:
    fields = case.check_fields(options, {"mode", "capacity", "timeout"}, "async")
    waits = {"ordered": AsyncDataStream.ordered_wait, "unordered": AsyncDataStream.unordered_wait}
    if fields.get("mode") not in waits:
        raise case.error(f"async: mode: expected ordered or unordered, got {fields.get('mode')!r}")
    answers = functions.Answers()
    timeout = _time(case, fields.get("timeout", 0), "async: timeout")
    capacity = case.whole(fields.get("capacity", 100), "async: capacity")
    return Program(waits[fields["mode"]](stream, answers, timeout, capacity), answers=answers)


def _time(case: Case, value: Any, where: str) -> Time:
    return Time.milliseconds(case.whole(value, where))


def _pair(case: Case, value: Any, where: str) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise case.error(f"{where}: expected [size, slide], got {value!r}")
    return case.whole(value[0], where), case.whole(value[1], where)
