"""Where the names of channels meet a valve: before every input of a task, and before every sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tidegate.core.key.hashing import place_of, stable_hash
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.watermark.records import Progress, Watermark
from tidegate.core.watermark.valve import StatusWatermarkValve
from tidegate.engine.plan import Edge, Exchanged, PhysicalPlan, Planned, PlannedSource, PlannedTask


def _any(name: str) -> bool:
    return True


class ChannelValve:
    """A valve whose channels have names. One that is not known joins with its first sign."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._channels = {name: index for index, name in enumerate(names)}
        self.valve = StatusWatermarkValve(len(self._channels))

    @property
    def names(self) -> Mapping[str, int]:
        """The channels by name, with their index in the valve."""
        return self._channels

    @property
    def last_output(self) -> int:
        return self.valve.last_output

    def join(self, name: str) -> list[Progress]:
        """A channel exists; what the valve emits if it is new."""
        if name in self._channels:
            return []
        self._channels[name], emitted = self.valve.add_channel()
        return emitted

    def move(self, name: str, progress: Progress) -> list[Progress]:
        """A watermark or a status on a channel; what the valve emits."""
        joined = self.join(name)
        channel = self._channels[name]
        if isinstance(progress, Watermark):
            return joined + self.valve.input_watermark(progress, channel)
        return joined + self.valve.input_status(progress, channel)

    def snapshot(self) -> Snapshot:
        return make_snapshot("channels", 1, channels=dict(self._channels), valve=self.valve.snapshot())

    def restore(self, snapshot: Mapping[str, Any], is_possible: Callable[[str], bool] = _any) -> list[Progress]:
        """Go on from a snapshot; what the valve emits as channels leave that the program no longer has."""
        fields = open_snapshot(snapshot, "channels", 1)
        known: dict[str, int] = fields["channels"]
        expected = self._channels
        self.valve = StatusWatermarkValve.restore(fields["valve"])
        self._channels = {name: channel for name, channel in known.items() if is_possible(name)}
        emitted: list[Progress] = []
        for name in expected:
            emitted += self.join(name)
        for name, channel in known.items():
            if name not in self._channels:
                emitted += self.valve.remove_channel(channel)
        return emitted


def channel_name(edge: Edge, channel: str) -> str:
    """The name of a channel at the end of an edge: two streams of an input may have channels of the same name."""
    return f"{edge.position}:{channel}"


def subtask_channel(node: PlannedTask, subtask: int) -> str:
    """The channel that a subtask of a task is for those behind it."""
    return f"{node.uid}/{subtask}"


def source_channel(node: PlannedSource, channel: str) -> str:
    """The channel of a source for those behind it: two sources may have channels of the same name."""
    return f"{node.uid}/{channel}"


def subtask_of_channel(source: PlannedSource, channel: str) -> int:
    """The subtask that holds a channel of a source."""
    return place_of(stable_hash(channel), source.parallelism)


def expected_channels(edges: Iterable[Edge], plan: PhysicalPlan) -> list[str]:
    """The channels of an input that are known before anything came, by name."""
    return [
        channel_name(edge, channel) for edge in edges for channel, _ in _channels_of(plan.by_number[edge.source], plan)
    ]


def expected_channels_in(edges: Iterable[Edge], plan: PhysicalPlan, subtask: int) -> list[str]:
    """Those of them that come to one subtask of a sink: all, or those that it goes on with."""
    return [
        channel_name(edge, channel)
        for edge in edges
        for channel, origin in _channels_of(plan.by_number[edge.source], plan)
        if origin == subtask or isinstance(edge.travel, Exchanged)
    ]


def possible_channels(edges: Iterable[Edge], plan: PhysicalPlan) -> Callable[[str], bool]:
    """Whether an input can have a channel of some name: those of tasks are known, those of sources by their source."""
    edges = list(edges)
    expected = set(expected_channels(edges, plan))
    prefixes = tuple(
        channel_name(edge, source_channel(source, ""))
        for edge in edges
        for source in sources_of(plan.by_number[edge.source], plan)
    )
    return lambda name: name in expected or name.startswith(prefixes)


def rescaled_channels(
    saved: Mapping[str, Any], edges: Iterable[Edge], before: PhysicalPlan, after: PhysicalPlan
) -> Snapshot:
    """What a valve has saved, for other numbers of subtasks before it: each new one stands where the lowest stood."""
    fields = open_snapshot(saved, "channels", 1)
    valve = open_snapshot(fields["valve"], "valve", 1)
    states = {index: state for index, *state in valve["channels"]}
    channels = {name: states[index] for name, index in fields["channels"].items()}
    for edge in edges:
        for task in tasks_of(after.by_number[edge.source], after):
            known = before.by_uid[task.uid]
            names = [channel_name(edge, subtask_channel(task, subtask)) for subtask in range(known.parallelism)]
            found = [channels.pop(name) for name in names if name in channels]
            if found:
                lowest = min(found, key=_by_progress)
                for subtask in range(task.parallelism):
                    channels[channel_name(edge, subtask_channel(task, subtask))] = lowest
    return make_snapshot(
        "channels",
        1,
        channels={name: index for index, name in enumerate(channels)},
        valve={
            **valve,
            "next_channel": len(channels),
            "channels": [[index, *state] for index, state in enumerate(channels.values())],
        },
    )


def _by_progress(state: list[Any]) -> tuple[bool, int]:
    """Channels that count first, then by watermark."""
    watermark, is_active, _ = state
    return not is_active, watermark


def tasks_of(node: Planned, plan: PhysicalPlan) -> list[PlannedTask]:
    """The tasks whose subtasks are the channels that a node gives on."""
    return [origin for origin in _origins(node, plan) if isinstance(origin, PlannedTask)]


def sources_of(node: Planned, plan: PhysicalPlan) -> list[PlannedSource]:
    """The sources whose channels a node gives on."""
    return [origin for origin in _origins(node, plan) if isinstance(origin, PlannedSource)]


def _origins(node: Planned, plan: PhysicalPlan) -> Iterator[PlannedSource | PlannedTask]:
    """The nodes that the channels of a node begin at."""
    if isinstance(node, PlannedSource | PlannedTask):
        yield node
        return
    for edges in node.inputs:
        for edge in edges:
            yield from _origins(plan.by_number[edge.source], plan)


def _channels_of(node: Planned, plan: PhysicalPlan) -> Iterator[tuple[str, int]]:
    """The channels that a node gives, each with the subtask that it comes from."""
    for origin in _origins(node, plan):
        if isinstance(origin, PlannedSource):
            for channel in origin.source.expected_channels():
                yield source_channel(origin, channel), subtask_of_channel(origin, channel)
        else:
            for subtask in range(origin.parallelism):
                yield subtask_channel(origin, subtask), subtask
