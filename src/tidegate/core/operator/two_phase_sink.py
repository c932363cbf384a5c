"""Sinks in two phases: every subtask writes its own elements where it runs, and what is written is committed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.core.operator.operator import ChainOperator
from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.operator.sink import Sink, SinkContext
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark


class SinkWriter(ABC):
    """Writes the elements of one subtask, in such a way that nothing of it counts before it is committed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first element."""

    @abstractmethod
    def write(self, value: Any, context: SinkContext) -> None: ...

    @abstractmethod
    def prepare_commit(self) -> Iterable[Any]:
        """What was written since the last call, complete and safe: plain data, which the committer is given."""

    def close(self) -> None:
        """Called after the last element; what was not given to the committer is void."""


class TwoPhaseSink(ABC):
    """A sink as its two halves. Writers travel to the workers; the committer is with the driver."""

    @abstractmethod
    def create_writer(self) -> SinkWriter: ...

    @abstractmethod
    def create_committer(self) -> Sink:
        """What gets everything that the writers have prepared, batch by batch."""


@dataclass(frozen=True, slots=True)
class WriterSpec(OperatorSpec):
    """The writing half of a sink as an operator."""

    writer: SinkWriter

    def create(self) -> WriterOperator:
        return WriterOperator(self.writer)


class WriterOperator(ChainOperator):
    """Feeds a writer, which all channels of a subtask share."""

    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer
        self._watermark = MIN_TIME

    def open(self) -> None:
        self.open_function(self._writer)

    def close(self) -> None:
        self.close_function(self._writer)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            self._writer.write(value, SinkContext(timestamp, self._watermark))
        except Exception as error:
            self.fail(error, value)

    def process_watermark(self, watermark: Watermark) -> None:
        self._watermark = watermark.timestamp
        super().process_watermark(watermark)

    def prepare_commit(self) -> None:
        for prepared in self._writer.prepare_commit():
            self.output.collect(prepared, None)

    def snapshot(self) -> Snapshot:
        return make_snapshot("sink_writer", 1, watermark=self._watermark, base=super().snapshot())

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "sink_writer", 1)
        super().restore(fields["base"])
        self._watermark = fields["watermark"]
