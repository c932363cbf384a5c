"""A running local job: reads its sources, keeps the clock, and ends, stops or drains."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from tidegate.core.operator.sink import BatchId
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.engine.clocks import real_clock, wall_clock
from tidegate.engine.feeder import Feeder
from tidegate.engine.job_options import JobOptions
from tidegate.engine.lowering import PlanOptions, lower
from tidegate.engine.plan import PlannedSource
from tidegate.engine.program import ProgramRecord, check_program
from tidegate.engine.rescaling import Rescaling, graph_as_saved, with_saved_groups
from tidegate.engine.runner import InProcessRunner
from tidegate.graph.stream_graph import StreamGraph
from tidegate.local.source_alignment import SourceAlignment

_LOGGER = logging.getLogger("tidegate")
_READ_AT_ONCE: Final = 512
_MAX_WAIT_SECONDS: Final = 0.05
_STOP_SECONDS: Final = 1.0
"""How long a batch may go on after a stop before an advance of many timers is interrupted."""


class LocalJob:
    """Runs a graph in the calling thread. `stop` and `drain` may be called from others."""

    def __init__(
        self,
        graph: StreamGraph,
        options: JobOptions,
        snapshot: Mapping[str, Any] | None = None,
        where: str = "the snapshot",
        *,
        is_kept: bool = False,
    ) -> None:
        """`where` names what the snapshot was read from, for errors; `is_kept` is whether another run may come."""
        self._is_stopping = False
        self._stopping_since = 0.0
        self._is_draining = False
        fields = None if snapshot is None else open_snapshot(snapshot, "local_job", 4)
        self._job_id = fields["job_id"] if fields is not None else uuid.uuid4().hex if is_kept else ""
        # For sinks a whole run is one batch. One that was not saved comes again as another.
        self._batch = BatchId(0 if fields is None else fields["num_runs"], uuid.uuid4().hex)
        runner = None
        if fields is None:
            self.plan = lower(graph, options.plan_options(has_workers=False))
            self._program = ProgramRecord.of(self.plan)
        else:
            runner = self._go_on(graph, options.plan_options(has_workers=False), fields, where)
        self.runner = InProcessRunner(
            self.plan,
            options.clock,
            runner,
            real_clock=real_clock if options.clock is wall_clock else options.clock,
            should_stop=self._must_stop,
            job_id=self._job_id,
        )
        self._alignment = SourceAlignment(self.plan, self.runner, options.clock)
        self._feeder = Feeder(
            self.plan,
            options.clock,
            options.time_characteristic,
            None if fields is None else fields["feeder"],
            may_read=self._may_read,
        )

    def _go_on(
        self, graph: StreamGraph, options: PlanOptions, fields: Mapping[str, Any], where: str
    ) -> Mapping[str, Any]:
        """Check that the program can go on from a snapshot. Returns that of the runner, for the parallelism of now."""
        saved = ProgramRecord.of_plain(fields["program"])
        options = with_saved_groups(options, saved, graph.default_parallelism)
        before = lower(graph_as_saved(graph, saved), options)
        program, migrations = check_program(saved, ProgramRecord.of(before), where)
        self.plan = lower(graph, options)
        self._program = program.rescaled(self.plan)
        for sentence in migrations:
            _LOGGER.warning("%s", sentence)
        runner: Mapping[str, Any] = fields["runner"]
        if (before.parallelism, program.subtasks()) == (self.plan.parallelism, self._program.subtasks()):
            return runner
        rescaling = Rescaling(before, self.plan)
        rescaling.check()
        return rescaling.runner(runner)

    def run(self) -> None:
        """Run until every source has ended, or until `stop`."""
        sinks = self.runner.sinks
        sinks.open()
        try:
            sinks.begin_batch(self._batch)
            self._feeder.start()
            while not self._is_stopping and not self._feeder.has_ended:
                self._step()
            if not self._is_stopping:
                self.runner.run_batch(self._feeder.take(), is_last=True)
            self._feeder.stop()
            self.runner.prepare_commit()
            self.runner.close()
            sinks.commit_batch(self._batch)
        except BaseException:
            self._feeder.stop()
            self.runner.abandon()
            raise
        finally:
            sinks.close()

    def stop(self) -> None:
        """Stop when the batch is done, or after a moment between two timers. Time does not end: windows stay open."""
        self._stopping_since = time.monotonic()
        self._is_stopping = True
        self._feeder.wake.set()

    def drain(self) -> None:
        """End time: every channel sends its last watermark, and what is open fires."""
        self._is_draining = True
        self._feeder.wake.set()

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        return self.runner.metrics() | self._feeder.metrics()

    def snapshot(self) -> Snapshot:
        """Everything needed to go on, taken between two batches."""
        return make_snapshot(
            "local_job",
            4,
            job_id=self._job_id,
            num_runs=int(self._batch) + 1,
            program=self._program.plain() | {"has_ended": not self._is_stopping},
            runner=self.runner.snapshot(),
            feeder=self._feeder.snapshot(),
        )

    def _step(self) -> None:
        if self._is_draining:
            self._feeder.end()
            return
        self._alignment.update()
        count = self._feeder.read(_READ_AT_ONCE)
        self._feeder.keep_time()
        self.runner.run_batch(self._feeder.take())
        if count == 0 and not self._is_stopping and not self._feeder.has_ended:
            self._feeder.wake.wait(_MAX_WAIT_SECONDS)

    def _must_stop(self) -> bool:
        """Whether the batch has had its time to end in good order: what is left of it is saved with the rest."""
        return self._is_stopping and time.monotonic() - self._stopping_since > _STOP_SECONDS

    def _may_read(self, source: PlannedSource, channel: str) -> bool:
        return self._alignment.may_read(source, channel)
