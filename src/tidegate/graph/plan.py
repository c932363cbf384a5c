"""The plan: a program as a line of stages, as an engine with shuffles runs it.

Stage 0 is where sources are read. Every task is one stage behind the last of those that feed it; tasks at the same
depth share a stage. Operators without keyed state run at the end of the stage that feeds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.graph.nodes import ChainNode, Node, TaskNode
from tidegate.graph.stream_graph import StreamGraph


@dataclass(frozen=True, slots=True)
class Stage:
    """Operators that run together between two shuffles, in order."""

    number: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a program, and the stage of each node by its number."""

    graph: StreamGraph
    stages: tuple[Stage, ...]
    stage_of: Mapping[int, int]
    straight: frozenset[int] = frozenset()
    """The numbers of the nodes of stage 0 that run where a source is read straight into windows, on columns."""

    @staticmethod
    def of(graph: StreamGraph) -> Plan:
        stage_of: dict[int, int] = {}
        for node in graph.nodes:
            before = [stage_of[stream.node.number] for stream in node.upstream]
            if isinstance(node, TaskNode):
                stage_of[node.number] = max(before) + 1
            elif isinstance(node, ChainNode):
                stage_of[node.number] = max(before)
            else:
                stage_of[node.number] = 0
        count = max(stage_of.values()) + 1
        stages = tuple(
            Stage(number, tuple(node for node in graph.nodes if stage_of[node.number] == number))
            for number in range(count)
        )
        return Plan(graph, stages, stage_of)
