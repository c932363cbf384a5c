"""Another parallelism: what the subtasks of a job have saved, shared out among another number of them.

Keys go to the subtasks that hold their key groups now, channels of sources to those that hold the channels. How far
time is in the subtasks of an operator is said again when the job goes on, so readers learn of those that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.core.key.key_groups import KeyGroups
from tidegate.core.operator.rescaled import SavedOperator, share_out, shared_counts
from tidegate.core.source.function_source import FunctionSource
from tidegate.core.state.operator_state import OperatorState
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.engine.channels import (
    rescaled_channels,
    source_channel,
    sources_of,
    subtask_channel,
    subtask_of_channel,
    tasks_of,
)
from tidegate.engine.lowering import PlanOptions
from tidegate.engine.plan import PhysicalPlan, PlannedLane, PlannedSource, PlannedTask
from tidegate.engine.program import ProgramRecord
from tidegate.engine.state import MemoryState, StateBackend
from tidegate.errors import InvalidValueError, SnapshotError
from tidegate.graph.nodes import OperatorNode
from tidegate.graph.stream_graph import StreamGraph


@dataclass(frozen=True, slots=True)
class SavedSubtask:
    """One subtask of a stage: its snapshot, and the state that its runtime keeps apart."""

    snapshot: Mapping[str, Any]
    state: StateBackend


CreateState = Callable[[int], StateBackend]
"""Makes the empty state of a new subtask of some number."""


def graph_as_saved(graph: StreamGraph, saved: ProgramRecord) -> StreamGraph:
    """The program with the parallelism of its checkpoint."""
    given = {}
    for node in graph.nodes:
        record = saved.operators.get(graph.uid(node))
        is_given = node.number in graph.given_parallelism
        # One that was given its own before, and is not now, keeps it where nothing else could say it.
        was_given = isinstance(node, OperatorNode) and not node.may_be_chained
        if record is not None and (is_given or (was_given and record.parallelism != saved.default_parallelism)):
            given[node.number] = record.parallelism
    return replace(
        graph, default_parallelism=saved.default_parallelism, given_parallelism={**graph.given_parallelism, **given}
    )


def with_saved_groups(options: PlanOptions, saved: ProgramRecord, parallelism: int = 1) -> PlanOptions:
    """Options with the key groups of a checkpoint, where the program does not say how many there are.

    A parallelism that has not got a group for each subtask is refused.
    """
    groups = options.max_parallelism or saved.max_parallelism
    if parallelism > groups:
        raise InvalidValueError(
            f"the checkpoint has {groups} key groups, so it cannot have {parallelism} subtasks; give at most {groups}, "
            "or begin a new checkpoint with set_max_parallelism"
        )
    return replace(options, max_parallelism=groups)


class Rescaling:
    """A program from one parallelism to another: two plans that differ in nothing else."""

    def __init__(self, before: PhysicalPlan, after: PhysicalPlan) -> None:
        self._before = before
        self._after = after

    def check(self) -> None:
        """Refuse what cannot be shared out, by name."""
        for after in self._after.sources:
            before = self._before.by_uid.get(after.uid)
            if (
                isinstance(after.source, FunctionSource)
                and before is not None
                and before.parallelism != after.parallelism
            ):
                raise SnapshotError(
                    f"the source {after.name!r} (uid {after.uid!r}) reads in as many channels as it has subtasks, so "
                    f"what each has read cannot be shared out; give it set_parallelism({before.parallelism}), which it "
                    "had"
                )

    def stage(self, number: int, saved: Sequence[SavedSubtask], create: CreateState) -> list[SavedSubtask]:
        """The subtasks of a stage with the new parallelism."""
        old = [open_snapshot(one.snapshot, "subtask", 1) for one in saved]
        if any(fields["undelivered"] for fields in old):
            raise _interrupted(self._before.parallelism)
        wirings = [open_snapshot(fields["wiring"], "wiring", 1) for fields in old]
        states = [create(index) for index in range(self._after.parallelism)]
        tasks: list[dict[str, Any]] = [{} for _ in states]
        lanes: list[dict[str, Any]] = [{} for _ in states]
        for node in self._after.stage(number):
            known = self._before.by_uid.get(node.uid)
            if known is None:
                continue
            if isinstance(node, PlannedTask) and isinstance(known, PlannedTask):
                parts = [
                    (wiring["tasks"][node.uid], one.state)
                    for wiring, one in zip(wirings, saved, strict=True)
                    if node.uid in wiring["tasks"]
                ]
                if parts:
                    for index, task in enumerate(self._share_task(node, parts, states)):
                        tasks[index][node.uid] = task
            elif isinstance(node, PlannedSource | PlannedLane):
                channels: dict[str, Any] = {}
                for wiring in wirings:
                    channels |= wiring["lanes"].get(node.uid, {})
                for index, channel, one in self._share_lanes(node, channels):
                    lanes[index].setdefault(node.uid, {})[channel] = one
        metrics = _shared_metrics([wiring["function_metrics"] for wiring in wirings], len(states))
        probed = [fields["probed_at"] for fields in old if fields["probed_at"] is not None]
        return [
            SavedSubtask(
                make_snapshot(
                    "subtask",
                    1,
                    wiring=make_snapshot(
                        "wiring", 1, tasks=tasks[index], lanes=lanes[index], turns={}, function_metrics=metrics[index]
                    ),
                    undelivered=[],
                    probed_at=min(probed, default=None),
                ),
                state,
            )
            for index, state in enumerate(states)
        ]

    def sinks(self, saved: Mapping[str, Any]) -> Snapshot:
        """What the sinks have saved."""
        fields = open_snapshot(saved, "sinks", 2)
        sinks = dict(fields["sinks"])
        for node in self._after.sinks:
            if node.uid not in sinks:
                continue
            count = 1 if node.spec.is_shared else node.parallelism
            lost = [one for one in sinks[node.uid][count:] if one["operator"]["sink"] is not None]
            if lost:
                raise SnapshotError(
                    f"the sink {node.name!r} (uid {node.uid!r}) keeps state in each of its {len(sinks[node.uid])} "
                    f"subtasks, which cannot be shared out among {count}; give it as many as it had"
                )
            sinks[node.uid] = [
                {**one, "channels": rescaled_channels(one["channels"], node.inputs[0], self._before, self._after)}
                for one in sinks[node.uid][:count]
            ]
        return {**fields, "sinks": sinks, "reports": []}

    def runner(self, saved: Mapping[str, Any]) -> Snapshot:
        """What a runner in process has saved, with all that its stages and sinks have."""
        fields = open_snapshot(saved, "runner", 1)
        subtasks = []
        for stage in range(self._after.num_stages):
            here = [
                SavedSubtask(snapshot, MemoryState())
                for number, _, snapshot in sorted(fields["subtasks"], key=lambda subtask: subtask[:2])
                if number == stage
            ]
            shared = self.stage(stage, here, lambda _: MemoryState())
            subtasks += [[stage, index, one.snapshot] for index, one in enumerate(shared)]
        return make_snapshot("runner", 1, subtasks=subtasks, sinks=self.sinks(fields["sinks"]))

    def _share_task(
        self, node: PlannedTask, parts: Sequence[tuple[Mapping[str, Any], StateBackend]], states: Sequence[StateBackend]
    ) -> list[Snapshot]:
        tasks = [open_snapshot(task, "task", 2) for task, _ in parts]
        if any(task["waiting"] or task["operator"].get("advancing") is not None for task in tasks):
            raise _interrupted(self._before.parallelism)
        saved = [
            SavedOperator(task["operator"], state.of_operator(node.uid))
            for task, (_, state) in zip(tasks, parts, strict=True)
        ]
        into = [state.of_operator(node.uid) for state in states[: node.parallelism]]
        operators = share_out(node.spec, saved, into, KeyGroups(self._after.max_parallelism, node.parallelism))
        # Progress goes to every subtask, so the valves of all are alike.
        first = tasks[0]
        valves = [
            rescaled_channels(valve, edges, self._before, self._after)
            for valve, edges in zip(first["valves"], node.inputs, strict=True)
        ]
        return [
            make_snapshot("task", 2, valves=valves, combined=first["combined"], waiting=[], operator=operator)
            for operator in operators
        ]

    def _share_lanes(
        self, node: PlannedSource | PlannedLane, channels: dict[str, Any]
    ) -> Iterator[tuple[int, str, Any]]:
        """What runs for each channel, with the subtask where it runs now."""
        for source, name, channel in self._source_channels(node, channels):
            if node.is_in_every_subtask:
                holders = range(node.parallelism)
            else:
                holder = subtask_of_channel(source, name)
                holders = range(holder, holder + 1)
            for subtask in holders:
                yield subtask, channel, channels[channel]
        if isinstance(node, PlannedLane):
            for uid in dict.fromkeys(task.uid for task in tasks_of(node, self._after)):
                yield from self._share_lanes_of(uid, node, channels)

    def _share_lanes_of(self, uid: str, node: PlannedLane, channels: dict[str, Any]) -> Iterator[tuple[int, str, Any]]:
        """Lanes behind a task: their channels are its subtasks."""
        before, after = self._before.by_uid[uid], self._after.by_uid[uid]
        assert isinstance(before, PlannedTask)
        assert isinstance(after, PlannedTask)
        names = [
            name
            for name in (subtask_channel(before, subtask) for subtask in range(before.parallelism))
            if name in channels
        ]
        if names:
            states = [OperatorState() for _ in range(after.parallelism)]
            saved = [SavedOperator(channels[name], OperatorState()) for name in names]
            groups = KeyGroups(self._after.max_parallelism, after.parallelism)
            for subtask, one in enumerate(share_out(node.spec, saved, states, groups)):
                yield subtask, subtask_channel(after, subtask), one

    def _source_channels(
        self, node: PlannedSource | PlannedLane, channels: Mapping[str, Any]
    ) -> Iterator[tuple[PlannedSource, str, str]]:
        """The channels that are of sources: the source, the name there, and the name here."""
        if isinstance(node, PlannedSource):
            for channel in channels:
                yield node, channel, channel
            return
        for source in sources_of(node, self._after):
            prefix = source_channel(source, "")
            for channel in channels:
                if channel.startswith(prefix):
                    yield source, channel.removeprefix(prefix), channel


def _interrupted(parallelism: int) -> SnapshotError:
    return SnapshotError(
        "the job was stopped in the middle of a batch, while many timers fired; let it end that batch first: start it "
        f"with parallelism {parallelism}, which it had, and stop it again"
    )


def _shared_metrics(saved: Sequence[Mapping[str, Mapping[str, int]]], count: int) -> list[dict[str, dict[str, int]]]:
    """What functions have counted, by uid."""
    found: list[dict[str, dict[str, int]]] = [{} for _ in range(count)]
    for uid in dict.fromkeys(uid for one in saved for uid in one):
        for name in dict.fromkeys(name for one in saved for name in one.get(uid, {})):
            counts = shared_counts([one.get(uid, {}).get(name, 0) for one in saved], count)
            for index, number in enumerate(counts):
                found[index].setdefault(uid, {})[name] = number
    return found
