"""What all stages of a job share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tidegate.graph.plan import Plan, Stage

if TYPE_CHECKING:
    from tidegate.spark.entry import Entry

TICK_MILLIS: Final = 1_000
ENTRY_STAGE: Final = 1
"""Where the channels of entries are kept."""


@dataclass(slots=True)
class StageOptions:
    """What all stages of a job share."""

    plan: Plan
    parallelism: int
    auto_watermark_interval: int = 200
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    """Sources that need no stage; their channels are kept in every subtask of stage 1."""
    needs_clock: bool = False
    """Whether something may be due when nothing came: then every batch reaches every subtask of every stage."""
    run_id: str = ""
    """Names the run of the query, so that a stage knows the first batch after a restart."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that there are."""
        return self.plan.stages[self.first_stage :]

    @property
    def first_stage(self) -> int:
        """The first stage that there is: without sources that need it there is no stage 0."""
        entered = {node.number for entry in self.entries for node in (entry.source, entry.assign)}
        return int(all(node.number in entered for node in self.plan.stages[0].nodes))
