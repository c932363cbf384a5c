"""The in-process runner: all subtasks of a plan in one process, batch by batch."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tidegate.core.operator.operator import Operator
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import Clock
from tidegate.engine.functions import SubtaskFunctions
from tidegate.engine.messages import Message, Target
from tidegate.engine.plan import SINKS, PhysicalPlan
from tidegate.engine.sinks import Arrived, Sinks
from tidegate.engine.state import MemoryState
from tidegate.engine.subtask import Subtask
from tidegate.engine.wiring import BatchTime, Surroundings
from tidegate.errors import SnapshotError

Inbox = Mapping[Target, list[Message]]
"""Messages by the subtask that they go to."""


class InProcessRunner:
    """Runs the stages of a plan one after the other, as Spark does, and then the sinks.

    The clock is read once for a batch. `saved` is the snapshot of a runner of the same program.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        clock: Clock,
        saved: Mapping[str, Any] | None = None,
        *,
        real_clock: Clock | None = None,
        should_stop: Callable[[], bool] | None = None,
        configure: Callable[[Operator], None] | None = None,
        job_id: str = "",
    ) -> None:
        """`job_id` names the job, the same after a restart; with it sinks know again what they have written."""
        self.plan = plan
        self._clock = clock
        self._time = BatchTime(clock())
        self.sinks = Sinks(plan, self._time, job_id)
        surroundings = Surroundings(
            self._time,
            real_clock=real_clock or clock,
            should_stop=should_stop,
            waits_for_answers=False,
            is_in_process=True,
            job_id=job_id,
            configure=configure,
        )
        fields = None if saved is None else open_snapshot(saved, "runner", 1)
        self.subtasks: dict[Target, Subtask] = {}
        for target in self._targets():
            functions = SubtaskFunctions(target.subtask, self._time, makes_copies=True)
            saved_here = None if fields is None else self._saved(fields["subtasks"], target)
            self.subtasks[target] = Subtask(
                plan, target.stage, target.subtask, functions, MemoryState(), surroundings, saved_here
            )
        if fields is not None:
            self.sinks.restore(fields["sinks"])

    def run_batch(self, messages: Inbox, *, is_last: bool = False) -> None:
        """One batch: every subtask of every stage, then the sinks. The last waits for every answer from outside."""
        self._time.now = self._clock()
        inbox: dict[Target, list[Message]] = defaultdict(list)
        for target, given in messages.items():
            inbox[target] += given
        for target, subtask in self.subtasks.items():
            for receiver, sent in subtask.run(inbox.pop(target, ()), is_last=is_last).items():
                inbox[receiver] += sent
        self._give_to_sinks(inbox)

    def prepare_commit(self) -> None:
        """Give the sinks what was written for them elsewhere: their batch is complete."""
        for subtask in self.subtasks.values():
            self._give_to_sinks(subtask.prepare_commit())

    def _give_to_sinks(self, sent: Inbox) -> None:
        arrived: list[Arrived] = [
            (target, message) for target, given in sent.items() if target.stage == SINKS for message in given
        ]
        self.sinks.process(arrived)

    def operators(self) -> Iterator[Operator]:
        """Every operator, upstream first."""
        for subtask in self.subtasks.values():
            for _, operator in subtask.wiring.operators():
                yield operator

    def close(self) -> None:
        """The run ends in good order."""
        for subtask in self.subtasks.values():
            subtask.close()

    def abandon(self) -> None:
        """The run has failed: close what can be closed."""
        for operator in self.operators():
            with contextlib.suppress(Exception):
                operator.close()

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        """What operators and sinks count and measure, by uid, a dict for each subtask."""
        found: dict[str, list[dict[str, int]]] = {}
        for subtask in self.subtasks.values():
            for uid, values in subtask.metrics().items():
                found.setdefault(uid, []).append(values)
        return found | self.sinks.metrics()

    def snapshot(self) -> Snapshot:
        """Everything needed to go on, taken between two batches."""
        subtasks = [[*target, subtask.snapshot()] for target, subtask in self.subtasks.items()]
        return make_snapshot("runner", 1, subtasks=subtasks, sinks=self.sinks.snapshot())

    def _targets(self) -> Iterator[Target]:
        for stage in range(self.plan.num_stages):
            for subtask in range(self.plan.parallelism):
                yield Target(stage, subtask)

    def _saved(self, subtasks: list[Any], target: Target) -> Mapping[str, Any]:
        for stage, subtask, saved in subtasks:
            if (stage, subtask) == target:
                found: Mapping[str, Any] = saved
                return found
        raise SnapshotError(f"the checkpoint has no subtask {target.subtask} of stage {target.stage}")
