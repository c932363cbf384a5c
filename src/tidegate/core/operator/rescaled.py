"""An operator with another parallelism: what its subtasks have saved, shared out among another number of them.

A key goes to the subtask that holds its key group now. What all subtasks know alike every new one gets; where they
differ, as in how far time is, it gets the lowest, so that nothing becomes late by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.operator_state import OperatorState
from tidegate.core.state.snapshot import Snapshot
from tidegate.core.state.timers import TimerQueue
from tidegate.core.time.millis import MAX_TIME
from tidegate.core.watermark.records import WatermarkStatus
from tidegate.errors import SnapshotError


class SavedOperator(NamedTuple):
    """One subtask of an operator: its snapshot, and its state where a runtime keeps that apart."""

    snapshot: Snapshot
    state: OperatorState


def share_out(
    spec: OperatorSpec, saved: Sequence[SavedOperator], states: Sequence[OperatorState], groups: KeyGroups
) -> list[Snapshot]:
    """The snapshots of new subtasks; `states` are theirs, still empty, and are filled."""
    count = len(states)
    snapshots = [one.snapshot for one in saved]
    bases = [_base(snapshot) for snapshot in snapshots]
    lowest = snapshots[min(range(len(bases)), key=lambda index: _by_progress(bases[index]["output"]))]
    if _base(lowest)["kind"] == "task_operator":
        shared = _share_task(spec, saved, lowest, states, groups)
    else:
        shared = spec.share_chain(snapshots, lowest, count)
    counters = _shared_counters([base["counters"] for base in bases], count)
    return [_with_base(one, counters=counts) for one, counts in zip(shared, counters, strict=True)]


def shared_counts(counts: Sequence[int], count: int) -> list[int]:
    """Numbers whose sum stays: each subtask goes on with its own, the first with those of subtasks that are no more."""
    kept = [*counts[:count], *[0] * (count - len(counts))]
    return [kept[0] + sum(counts[count:]), *kept[1:]]


def _share_task(
    spec: OperatorSpec,
    saved: Sequence[SavedOperator],
    lowest: Snapshot,
    states: Sequence[OperatorState],
    groups: KeyGroups,
) -> list[Snapshot]:
    for one in saved:
        one.state.load(one.snapshot)
        _share_keys(one.state, states, groups)
        _share_timers(one.state, states, groups, lambda state: state.event_timers)
        _share_timers(one.state, states, groups, lambda state: state.processing_timers)
    into = [state.blobs for state in states]
    owns = spec.share_own([one.snapshot["own"] for one in saved], [one.state.blobs for one in saved], into, groups)
    fired = shared_counts([one.snapshot["num_fired_timers"] for one in saved], len(states))
    formats = _common_formats(saved)
    return [
        {**lowest, "state_formats": formats, "num_fired_timers": number, "own": own, **state.save()}
        for state, own, number in zip(states, owns, fired, strict=True)
    ]


def _common_formats(saved: Sequence[SavedOperator]) -> dict[str, Any]:
    """What the states of a function mean. Where it declares one late, some subtasks may not have migrated it yet."""
    formats: dict[str, Any] = {}
    for one in saved:
        for name, declared in one.snapshot["state_formats"].items():
            if formats.setdefault(name, declared) != declared:
                raise SnapshotError(
                    f"the state {name!r} has another type in some subtasks than in others, because its function "
                    "declares it when it is first needed and not in open(); declare it in open(), and run the job once "
                    "with the parallelism that it had"
                )
    return formats


def _share_keys(old: OperatorState, states: Sequence[OperatorState], groups: KeyGroups) -> None:
    for key in old.store.keys():  # noqa: SIM118 (a store is no dict)
        states[groups.subtask_of(key)].store.load(key).update(old.store.load(key))


def _share_timers(
    old: OperatorState,
    states: Sequence[OperatorState],
    groups: KeyGroups,
    queue_of: Callable[[OperatorState], TimerQueue],
) -> None:
    while (timer := queue_of(old).pop_until(MAX_TIME)) is not None:
        queue_of(states[groups.subtask_of(timer.key)]).add(*timer)


def _base(snapshot: Snapshot) -> Snapshot:
    """What every operator saves, inside of what it saves itself."""
    return _base(snapshot["base"]) if "base" in snapshot else snapshot


def _with_base(snapshot: Snapshot, **fields: Any) -> Snapshot:
    if "base" in snapshot:
        return {**snapshot, "base": _with_base(snapshot["base"], **fields)}
    return {**snapshot, **fields}


def _by_progress(output: Snapshot) -> tuple[bool, int]:
    """Those that count first, then by how far time is."""
    return output["status"] == WatermarkStatus.IDLE.value, output["last_sent"]


def _shared_counters(counters: Sequence[dict[str, int]], count: int) -> list[dict[str, int]]:
    names = dict.fromkeys(name for one in counters for name in one)
    columns = {name: shared_counts([one.get(name, 0) for one in counters], count) for name in names}
    return [{name: column[index] for name, column in columns.items()} for index in range(count)]
