"""What the driver feeds to a query: elements of the sources that it reads, ticks of the clock, and the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final

from tidegate.core.state.snapshot import Snapshot
from tidegate.engine.feeder import Feeder
from tidegate.engine.job_options import JobOptions
from tidegate.engine.lowering import TICK_MILLIS
from tidegate.engine.messages import Closing, Ended, Message, Retired, Target, Tick
from tidegate.engine.plan import PhysicalPlan, Reading

POLL_SECONDS: Final = 0.05
_READ_SECONDS: Final = 0.2

Write = Callable[[Mapping[Target, Sequence[Message]], Snapshot | None], None]
"""Puts messages into the spool, and with them how far the driver has read."""


class Feed:
    """Writes messages through `write`. `run_id` is the run whose functions are closed at its end."""

    def __init__(self, plan: PhysicalPlan, options: JobOptions, run_id: str, write: Write) -> None:
        self._plan = plan
        self._options = options
        self._closing = Closing(run_id)
        self._write = write
        self._driver_reads_all = all(node.reading is Reading.BY_DRIVER for node in plan.sources)

    def feeder(self, note: Snapshot | None) -> Feeder:
        """What reads the driver's sources; `note` says how far a run before has come."""
        return Feeder(self._plan, self._options.clock, self._options.time_characteristic, note)

    def step(self, feeder: Feeder) -> int:
        """Spool what is at hand. Returns how many elements that were."""
        count = feeder.read(seconds=_READ_SECONDS)
        feeder.keep_time()
        self.take(feeder)
        return count

    def take(self, feeder: Feeder) -> None:
        """Spool what a feeder has read."""
        messages: dict[Target, list[Message]] = feeder.take()
        if feeder.has_ended and self._driver_reads_all:
            for target, closing in self._to_everybody(self._closing).items():
                messages.setdefault(target, []).extend(closing)
        if not messages:
            return
        if self._plan.needs_clock:
            for subtask in range(self._plan.parallelism):
                messages[Target(0, subtask)].append(Tick())
        self._write(messages, feeder.snapshot())

    def tick(self) -> None:
        """Make a batch in which every subtask of every stage looks at the clock."""
        self._write({Target(0, subtask): [Tick()] for subtask in range(self._plan.parallelism)}, None)

    def wake_everybody(self, num_before: int = 0) -> None:
        """Make a batch in which every subtask runs once.

        `num_before` is how many there were before the job was rescaled; those that are no more are told so.
        """
        messages = self._to_everybody(Tick())
        for stage, subtask in product(range(self._plan.num_stages), range(self._plan.parallelism, num_before)):
            messages[Target(stage, subtask)] = [Retired()]
        self._write(messages, None)

    def end_input(self) -> None:
        """The end of all input; behind it functions are closed."""
        messages = self.closing()
        for subtask in range(self._plan.parallelism):
            messages[Target(0, subtask)].append(Ended())
        self._write(messages, None)

    def closing(self) -> dict[Target, list[Message]]:
        """What makes every subtask close its functions."""
        return self._to_everybody(self._closing)

    def ticks(self, *, are_needed: bool = True) -> Ticks:
        """Batches without data, where something waits for the clock."""
        return Ticks(self, self._options.clock, are_needed=are_needed and self._plan.needs_clock)

    def _to_everybody(self, message: Message) -> dict[Target, list[Message]]:
        """A message for every subtask of every stage."""
        subtasks = product(range(self._plan.num_stages), range(self._plan.parallelism))
        return {Target(stage, subtask): [message] for stage, subtask in subtasks}


class Ticks:
    """Makes a batch each time that the clock has gone on far enough."""

    def __init__(self, feed: Feed, clock: Callable[[], int], *, are_needed: bool) -> None:
        self._feed = feed
        self._clock = clock
        self._are_needed = are_needed
        self._next = clock() + TICK_MILLIS

    def keep_time(self) -> None:
        if self._are_needed and self._clock() >= self._next:
            self._next = self._clock() + TICK_MILLIS
            self._feed.tick()
