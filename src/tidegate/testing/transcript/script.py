"""The steps of a pipeline case, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.watermark.records import Progress, Watermark, WatermarkStatus
from tidegate.testing.transcript.case import Case

_ACTIONS: Final = {
    "el",
    "wm",
    "idle",
    "active",
    "time",
    "restart",
    "end",
    "complete",
    "fail",
    "expect",
    "expect_late",
    "expect_dropped",
    "expect_wm",
    "expect_error",
}
_EXPECTED_FIELDS: Final = {"k", "v", "ts", "w", "wm", "left", "right", "in"}


@dataclass(frozen=True, slots=True)
class Feed:
    """An element, a watermark or a status on one channel of one input (0 or 1)."""

    number: int
    input_index: int
    channel: int
    value: Any = None
    timestamp: int | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """`time`, `restart`, `end`, `complete` or `fail`."""

    number: int
    action: str
    argument: Any


@dataclass(frozen=True, slots=True)
class Expect:
    """What must have come out since the last step of the same kind."""

    number: int
    action: str
    expected: Any


Step = Feed | Act | Expect


def read_script(case: Case, inputs: int, channels: int) -> list[Step]:
    """The steps of the case; a step that says something unknown is an error."""
    return [_read(case, number, step, inputs, channels) for number, step in enumerate(case.steps, start=1)]


def _read(case: Case, number: int, step: Mapping[str, Any], inputs: int, channels: int) -> Step:
    where = f"step {number}"
    actions = _ACTIONS & set(step)
    if len(actions) != 1:
        case.check_fields(step, _ACTIONS | {"ch", "in"}, where)
        raise case.error(f"{where}: expected one action, got {', '.join(map(str, step)) or 'none'}")
    action = actions.pop()
    case.check_fields(step, {action, "ch", "in"} if action == "wm" else {action}, where)
    value = step[action]
    if action == "el":
        fields = case.check_fields(value, {"k", "v", "ts", "ch", "in", "id"}, f"{where}: el")
        channel, input_index = _place(case, fields, where, inputs, channels)
        timestamp = fields.get("ts")
        stamp = None if timestamp is None else case.time(timestamp, f"{where}: ts")
        element = {name: item for name, item in fields.items() if name in ("k", "v", "id")}
        return Feed(number, input_index, channel, element, stamp)
    if action == "wm":
        channel, input_index = _place(case, step, where, inputs, channels)
        return Feed(number, input_index, channel, progress=Watermark(case.time(value, f"{where}: wm")))
    if action in ("idle", "active"):
        fields = case.check_fields({} if value is True else value, {"ch", "in"}, f"{where}: {action}")
        channel, input_index = _place(case, fields, where, inputs, channels)
        return Feed(number, input_index, channel, progress=WatermarkStatus(action))
    if action.startswith("expect"):
        return Expect(number, action, _check_expected(case, action, value, where))
    if action == "time":
        case.whole(value, f"{where}: time")
    if action == "complete":
        case.check_fields(value, {"id", "v"}, f"{where}: complete")
    return Act(number, action, value)


def _place(case: Case, fields: Mapping[str, Any], where: str, inputs: int, channels: int) -> tuple[int, int]:
    channel = case.whole(fields.get("ch", 0), f"{where}: ch")
    input_number = case.whole(fields.get("in", 1), f"{where}: in")
    if not 0 <= channel < channels:
        raise case.error(f"{where}: ch: there is no channel {channel}; channels are 0 to {channels - 1}")
    if not 1 <= input_number <= inputs:
        raise case.error(f"{where}: in: there is no input {input_number}; inputs are 1 to {inputs}")
    return channel, input_number - 1


def _check_expected(case: Case, action: str, value: Any, where: str) -> Any:
    if action == "expect_wm":
        return case.time(value, f"{where}: {action}")
    if action == "expect_dropped":
        return case.whole(value, f"{where}: {action}")
    if action == "expect_error":
        return bool(value)
    if not isinstance(value, list):
        raise case.error(f"{where}: {action}: expected a list, got {value!r}")
    items = []
    for item in value:
        fields = dict(case.check_fields(item, _EXPECTED_FIELDS, f"{where}: {action}"))
        for name in ("ts", "wm"):
            if fields.get(name) is not None:
                fields[name] = case.time(fields[name], f"{where}: {name}")
        items.append(fields)
    return items
