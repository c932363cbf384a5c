"""Which sources wait for each other: what a plan says about watermark alignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.core.watermark.alignment import AlignmentParameters
from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.core.watermark.strategy import WatermarkStrategy
from tidegate.engine.plan import PhysicalPlan, Planned, PlannedLane, PlannedSource


@dataclass(frozen=True, slots=True)
class AlignedSource:
    """A source whose channels are aligned by the strategy that stamps them, right behind it or after other lanes."""

    source: PlannedSource
    assign: PlannedLane
    strategy: WatermarkStrategy
    parameters: AlignmentParameters
    is_direct: bool
    """Whether the strategy gets the records as they are read."""


def aligned_sources(plan: PhysicalPlan) -> Iterator[AlignedSource]:
    for node in plan.nodes:
        spec = node.spec if isinstance(node, PlannedLane) else None
        if isinstance(node, PlannedLane) and isinstance(spec, AssignWatermarksSpec):
            parameters = spec.strategy.alignment
            if parameters is not None:
                direct = {edge.source for edge in node.inputs[0]}
                for source in _sources(node, plan):
                    yield AlignedSource(source, node, spec.strategy, parameters, source.number in direct)


def _sources(node: Planned, plan: PhysicalPlan) -> Iterator[PlannedSource]:
    """The sources whose channels a lane runs for, without an exchange in between."""
    if isinstance(node, PlannedSource):
        yield node
    elif isinstance(node, PlannedLane):
        for edge in node.inputs[0]:
            yield from _sources(plan.by_number[edge.source], plan)
