"""Watermark alignment in a local job: which channels may be read for now."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.time.millis import Clock
from tidegate.core.watermark.alignment import AlignmentGroup, AlignmentParameters
from tidegate.core.watermark.assign_watermarks import AssignWatermarksOperator, AssignWatermarksSpec
from tidegate.graph.nodes import ChainNode, Node, SourceNode
from tidegate.graph.stream_graph import StreamGraph
from tidegate.local.topology import Topology


@dataclass(slots=True)
class _Member:
    """One source channel in its group."""

    group: AlignmentGroup
    channel: int
    operator: AssignWatermarksOperator


class SourceAlignment:
    """Holds back source channels that are too far ahead of the slowest of their group.

    A channel is aligned if the strategy that stamps it, right behind the source or after stateless steps, says
    `with_watermark_alignment`. While it is held back its idle clock stands still.
    """

    def __init__(self, graph: StreamGraph, topology: Topology, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[str, AlignmentGroup] = {}
        self._members: dict[tuple[int, int], _Member] = {}
        for node in graph.nodes:
            if isinstance(node, ChainNode) and isinstance(node.spec, AssignWatermarksSpec):
                parameters = node.spec.strategy.alignment
                if parameters is not None:
                    self._join(node, parameters, topology)

    def may_read(self, node: SourceNode, index: int) -> bool:
        """Whether channel `index` of the source may be read now."""
        member = self._members.get((node.number, index))
        if member is None:
            return True
        may_read = member.group.may_read(member.channel)
        if may_read:
            member.operator.machine.resume()
        else:
            member.operator.machine.pause()
        return may_read

    def update(self) -> None:
        """Report where every channel is, and work the limits out anew where it is time."""
        for member in self._members.values():
            machine = member.operator.machine
            member.group.report(member.channel, machine.current_watermark)
            member.group.set_idle(member.channel, is_idle=machine.is_idle)
        now = self._clock()
        for group in self._groups.values():
            group.update(now)

    def _join(self, node: ChainNode, parameters: AlignmentParameters, topology: Topology) -> None:
        group = self._groups.setdefault(parameters.group, AlignmentGroup(parameters))
        operators = topology.vertices[node.number].operators
        for operator, place in zip(operators, _source_channels(node, topology), strict=True):
            if place is not None and isinstance(operator, AssignWatermarksOperator):
                self._members[place] = _Member(group, group.add_channel(), operator)


def _source_channels(node: Node, topology: Topology) -> list[tuple[int, int] | None]:
    """For each instance of a chain node the source channel that feeds it, None if a shuffle lies between."""
    if isinstance(node, SourceNode):
        return [(node.number, index) for index in range(topology.channels(node))]
    if isinstance(node, ChainNode):
        return [place for stream in node.streams for place in _source_channels(stream.node, topology)]
    return [None] * topology.channels(node)
