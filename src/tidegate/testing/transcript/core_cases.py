"""Valve, combine and generator cases: they need the core only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.core.operator.outputs import ChainedOutput
from tidegate.core.source.source_context import IngestionTimeContext
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.watermark.assign_watermarks import TimestampsAndWatermarksOperator
from tidegate.core.watermark.combine import CombinedWatermark
from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.core.watermark.strategy import Ascending, Bounded, NoWatermarks, PerEvent, WatermarkStrategy
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.errors import TidegateError
from tidegate.testing.clock import ManualClock
from tidegate.testing.transcript.case import Case, Failure, TranscriptError

CORE_KINDS = frozenset({"valve", "combine", "generator"})

_GENERATOR_FIELDS = {"bounded", "ascending", "none", "punctuated", "ingestion"}


def run_core_case(case: Case) -> Failure | None:
    """Run a case of a core kind; None if all its expectations hold."""
    if case.kind == "generator":
        return _run_generator(case)
    return _run_channels(case)


def _run_channels(case: Case) -> Failure | None:
    """Valve and combine: the same steps against two machines."""
    count_field = "channels" if case.kind == "valve" else "inputs"
    if count_field not in case.fields:
        raise case.error(f"has no {count_field}")
    count = case.whole(case.fields[count_field], count_field)
    rules = case.fields.get("rules", "fixed")
    machine: StatusWatermarkValve | CombinedWatermark
    try:
        machine = (
            StatusWatermarkValve(count, rules=rules) if case.kind == "valve" else CombinedWatermark(count, rules=rules)
        )
    except TidegateError as error:
        raise case.error(str(error)) from error
    emitted: list[Progress] = []
    for number, step in enumerate(case.steps, start=1):
        action, value = case.single(step, number, {"wm", "idle", "active", "expect"})
        if action == "expect":
            if failure := _compare(case, number, value, emitted):
                return failure
            emitted.clear()
            continue
        try:
            if action == "wm":
                if not isinstance(value, list) or len(value) != 2:
                    raise case.error(f"step {number}: wm: expected [channel, watermark], got {value!r}")
                emitted += machine.input_watermark(case.time(value[1], f"step {number}: wm"), value[0])
            else:
                emitted += machine.input_status(WatermarkStatus(action), value)
        except TranscriptError:
            raise
        except TidegateError as error:
            raise case.error(f"step {number}: {error}") from error
    return None


class _Sink:
    """Remembers what came out."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []
        self.timestamps: list[int | None] = []

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.timestamps.append(timestamp)

    def process_watermark(self, watermark: Watermark) -> None:
        self.progress.append(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.progress.append(status)


def _run_generator(case: Case) -> Failure | None:
    sink = _Sink()
    clock = ManualClock()
    machine = _create_generator(case, sink, clock)
    for number, step in enumerate(case.steps, start=1):
        action, value = case.single(step, number, {"event", "tick", "upstream", "expect", "expect_ts"})
        where = f"step {number}: {action}"
        if action == "expect":
            if failure := _compare(case, number, value, sink.progress):
                return failure
            sink.progress.clear()
        elif action == "expect_ts":
            expected = [case.time(item, where) for item in _items(case, value, where)]
            if expected != sink.timestamps:
                return Failure(number, expected, list(sink.timestamps))
            sink.timestamps.clear()
        elif action == "event":
            timestamp = case.time(value, where)
            if isinstance(machine, IngestionTimeContext):
                machine.collect_with_timestamp(timestamp, timestamp)
            else:
                machine.process_element(timestamp, timestamp)
        elif action == "tick":
            try:
                clock.advance_to(case.whole(value, where))
            except TidegateError as error:
                raise case.error(f"{where}: {error}") from error
            machine.on_periodic_emit()
        else:
            _upstream(case, machine, value, where)
    return None


def _create_generator(
    case: Case, sink: _Sink, clock: ManualClock
) -> IngestionTimeContext | TimestampsAndWatermarksOperator:
    fields = case.check_fields(case.fields.get("strategy"), _GENERATOR_FIELDS | {"idleness"}, "strategy")
    kinds = _GENERATOR_FIELDS & set(fields)
    if len(kinds) != 1:
        raise case.error(f"strategy: expected one of {', '.join(sorted(_GENERATOR_FIELDS))}, got {dict(fields)}")
    kind = kinds.pop()
    idle_timeout = None if "idleness" not in fields else case.whole(fields["idleness"], "strategy: idleness")
    output = ChainedOutput(sink)
    try:
        if kind == "ingestion":
            interval = case.whole(fields["ingestion"], "strategy: ingestion")
            return IngestionTimeContext(output, clock, interval, idle_timeout)
        specs: dict[str, Callable[[], Any]] = {
            "bounded": lambda: Bounded(case.whole(fields["bounded"], "strategy: bounded")),
            "ascending": Ascending,
            "none": NoWatermarks,
            "punctuated": PerEvent,
        }
        strategy = WatermarkStrategy(specs[kind](), idle_timeout=idle_timeout)
        return TimestampsAndWatermarksOperator(strategy, output, clock)
    except TranscriptError:
        raise
    except TidegateError as error:
        raise case.error(f"strategy: {error}") from error


def _upstream(
    case: Case, machine: IngestionTimeContext | TimestampsAndWatermarksOperator, value: Any, where: str
) -> None:
    fields = case.check_fields(value, {"wm", "idle", "active"}, where)
    if len(fields) != 1:
        raise case.error(f"{where}: expected one of wm, idle, active, got {dict(fields)}")
    if "wm" in fields:
        watermark = Watermark(case.time(fields["wm"], where))
        if isinstance(machine, IngestionTimeContext):
            machine.emit_watermark(watermark)
        else:
            machine.process_watermark(watermark)
    elif isinstance(machine, TimestampsAndWatermarksOperator):
        machine.process_status(WatermarkStatus.IDLE if "idle" in fields else WatermarkStatus.ACTIVE)
    elif "idle" in fields:
        machine.mark_as_temporarily_idle()


def _compare(case: Case, number: int, expected: Any, emitted: list[Progress]) -> Failure | None:
    where = f"step {number}: expect"
    wanted = [item if item in ("idle", "active") else case.time(item, where) for item in _items(case, expected, where)]
    got = [item.timestamp if isinstance(item, Watermark) else item.value for item in emitted]
    if wanted == got:
        return None
    return Failure(number, expected, ["max" if item == MAX_TIME else item for item in got])


def _items(case: Case, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise case.error(f"{where}: expected a list, got {value!r}")
    return value
