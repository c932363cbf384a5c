"""Watermark alignment in a local job: which channels may be read for now."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.time.millis import Clock
from tidegate.core.watermark.alignment import AlignmentGroup
from tidegate.core.watermark.assign_watermarks import AssignWatermarksOperator
from tidegate.engine.aligned import AlignedSource, aligned_sources
from tidegate.engine.channels import source_channel, subtask_of_channel
from tidegate.engine.messages import Target
from tidegate.engine.plan import PhysicalPlan, PlannedLane, PlannedSource
from tidegate.engine.runner import InProcessRunner


@dataclass(slots=True)
class _Member:
    """One source channel in its group."""

    group: AlignmentGroup
    channel: int
    source: PlannedSource
    name: str
    assign: PlannedLane


class SourceAlignment:
    """Holds back source channels that are too far ahead of the slowest of their group.

    A channel is aligned if the strategy that stamps it, right behind the source or after stateless steps, says
    `with_watermark_alignment`. While it is held back its idle clock stands still.
    """

    def __init__(self, plan: PhysicalPlan, runner: InProcessRunner, clock: Clock) -> None:
        self._runner = runner
        self._clock = clock
        self._groups: dict[str, AlignmentGroup] = {}
        self._members: dict[tuple[int, str], _Member] = {}
        for aligned in aligned_sources(plan):
            self._join(aligned)

    def may_read(self, source: PlannedSource, channel: str) -> bool:
        """Whether a channel of a source may be read now."""
        member = self._members.get((source.number, channel))
        if member is None:
            return True
        may_read = member.group.may_read(member.channel)
        operator = self._operator(member)
        if operator is not None:
            if may_read:
                operator.machine.resume()
            else:
                operator.machine.pause()
        return may_read

    def update(self) -> None:
        """Report where every channel is, and work the limits out anew where it is time."""
        for member in self._members.values():
            operator = self._operator(member)
            if operator is not None:
                member.group.report(member.channel, operator.machine.current_watermark)
                member.group.set_idle(member.channel, is_idle=operator.machine.is_idle)
        now = self._clock()
        for group in self._groups.values():
            group.update(now)

    def _operator(self, member: _Member) -> AssignWatermarksOperator | None:
        """What stamps the records of a channel; None before its first batch."""
        subtask = self._runner.subtasks[Target(member.assign.stage, subtask_of_channel(member.source, member.name))]
        channel = source_channel(member.source, member.name)
        operator = subtask.wiring.lanes.get(member.assign.number, {}).get(channel)
        return operator if isinstance(operator, AssignWatermarksOperator) else None

    def _join(self, aligned: AlignedSource) -> None:
        group = self._groups.setdefault(aligned.parameters.group, AlignmentGroup(aligned.parameters))
        for channel in aligned.source.source.channels():
            member = _Member(group, group.add_channel(), aligned.source, channel, aligned.assign)
            self._members[(aligned.source.number, channel)] = member
