"""Feeds the subtasks from sources that live with the driver: collections, sockets, source functions."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.outputs import OperatorOutput
from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.source.function_source import FunctionSource
from tidegate.core.source.source_context import create_source_context
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import Clock, TimeCharacteristic
from tidegate.engine.channels import subtask_of_channel
from tidegate.engine.exchange import Carrier
from tidegate.engine.functions import copy_for_subtask
from tidegate.engine.messages import Message, Order, Target
from tidegate.engine.plan import PhysicalPlan, PlannedSource, Reading
from tidegate.engine.readers import ChannelReader, FunctionReader, ThreadReader, create_reader, read_in_turn

_READ_AT_ONCE: Final = 20_000

MayRead = Callable[[PlannedSource, str], bool]
"""Whether a channel of a source may be read for now."""


class Feeder:
    """Reads every source that the driver reads, through its source context, into messages for the first stage.

    A snapshot says how far it came with what `take` has given, so that a restart goes on exactly behind it.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        clock: Clock,
        time_characteristic: TimeCharacteristic = TimeCharacteristic.EventTime,
        saved: Mapping[str, Any] | None = None,
        *,
        may_read: MayRead | None = None,
    ) -> None:
        self._clock = clock
        self._interval = plan.auto_watermark_interval
        self._next_probe = clock() + self._interval
        self._may_read = may_read
        self.wake = threading.Event()
        self._pending: dict[Target, list[Message]] = defaultdict(list)
        self._error: Exception | None = None
        self._channels: list[_Channel] = []
        fields = None if saved is None else open_snapshot(saved, "feeder", 1)
        self._number = 0 if fields is None else fields["number"]
        saved_channels = {} if fields is None else fields["channels"]
        for source in plan.sources:
            if source.reading is Reading.BY_DRIVER:
                for index, channel in enumerate(source.source.channels()):
                    known = saved_channels.get(source.uid, {}).get(channel)
                    self._channels.append(self._create(source, index, channel, time_characteristic, known))

    @property
    def has_ended(self) -> bool:
        return all(channel.reader.has_ended for channel in self._channels)

    def start(self) -> None:
        for channel in self._channels:
            if isinstance(channel.reader, ThreadReader) and not channel.reader.has_ended:
                channel.reader.start()

    def read(self, limit: int = _READ_AT_ONCE, seconds: float | None = None) -> int:
        """Read what is at hand; no longer than `seconds`, if given: what a slow source gave must not wait for the rest.

        Channels are read in turn, an element each. Returns how many elements there were.
        """
        self.wake.clear()
        if self._error is not None:
            raise self._error
        try:
            return self._read(limit, seconds)
        except Exception as error:
            if not self._pending:
                raise
            # What came before it counts.
            self._error = error
            return sum(len(messages) for messages in self._pending.values())

    def _read(self, limit: int, seconds: float | None) -> int:
        deadline = None if seconds is None else time.monotonic() + seconds
        total, at_once = 0, limit if deadline is None else 1
        while total < limit:
            count = read_in_turn([c.reader for c in self._channels if self._is_ready(c)], at_once)
            total += count
            if count == 0 or deadline is None or time.monotonic() > deadline:
                break
            at_once = min(2 * at_once, limit - total)
        return total

    def keep_time(self) -> None:
        """Let the contexts look at the clock, every auto-watermark interval."""
        now = self._clock()
        if self._interval > 0 and now >= self._next_probe:
            self._next_probe = now + self._interval
            for channel in self._channels:
                if not channel.reader.has_ended:
                    channel.reader.context.on_periodic_emit()

    def take(self) -> dict[Target, list[Message]]:
        """What was read since the last time."""
        taken, self._pending = self._pending, defaultdict(list)
        return taken

    def end(self) -> None:
        """End every channel behind what has been read: what is open fires."""
        for channel in self._channels:
            channel.reader.finish()

    def stop(self) -> None:
        """Read no more, without ending time."""
        for channel in self._channels:
            channel.reader.stop()

    def metrics(self) -> dict[str, list[dict[str, int]]]:
        """What the sources have counted, by uid."""
        sources = {channel.source.uid: channel.source.source for channel in self._channels}
        return {uid: [facts] for uid, source in sources.items() if (facts := source.facts())}

    def snapshot(self) -> Snapshot:
        channels: dict[str, dict[str, Any]] = {}
        for channel in self._channels:
            channels.setdefault(channel.source.uid, {})[channel.name] = channel.snapshot()
        return make_snapshot("feeder", 1, number=self._number, channels=channels)

    def next_order(self) -> Order:
        """One order covers all that the driver reads.

        It goes on after a restart: one batch may hold messages from before and after.
        """
        self._number += 1
        return (self._number, "")

    def send(self, target: Target, message: Message) -> None:
        self._pending[target].append(message)

    def _is_ready(self, channel: _Channel) -> bool:
        if channel.reader.has_ended:
            return False
        return self._may_read is None or self._may_read(channel.source, channel.name)

    def _create(
        self,
        source: PlannedSource,
        index: int,
        name: str,
        time_characteristic: TimeCharacteristic,
        saved: Mapping[str, Any] | None,
    ) -> _Channel:
        target = Target(0, subtask_of_channel(source, name))
        output = OperatorOutput((Carrier(self, target, source.uid, name),))
        context = create_source_context(time_characteristic, output, self._clock, watermark_interval=self._interval)
        fields = None if saved is None else open_snapshot(saved, "source_channel", 2)
        skip = 0
        if fields is not None:
            skip = fields["position"]
            context.restore(fields["context"])
            source.source.resume(name, fields["source"], skip)
        where = f"{source.name}, channel {name}"
        reader: ChannelReader
        if isinstance(source.source, FunctionSource):
            function = copy_for_subtask(source.source.function, index)
            runtime_context = RuntimeContext(source.name, index, len(source.source.channels()), MetricGroup())
            reader = FunctionReader(where, context, self.wake, function, runtime_context)
        else:
            reader = create_reader(where, context, self.wake, source.source, name, skip=skip)
        reader.has_ended = fields is not None and fields["has_ended"]
        return _Channel(source, name, reader)


@dataclass(frozen=True, slots=True)
class _Channel:
    """One channel of a source that the driver reads."""

    source: PlannedSource
    name: str
    reader: ChannelReader

    def snapshot(self) -> Snapshot:
        return make_snapshot(
            "source_channel",
            2,
            position=self.reader.position,
            source=self.source.source.read_state(self.name),
            has_ended=self.reader.has_ended,
            context=self.reader.context.snapshot(),
        )
