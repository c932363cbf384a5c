"""Sinks: where a stream ends. They see records and watermarks, and pass nothing on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tidegate.core.operator import ChainOperator, close_function, open_function
from tidegate.core.process import check_methods
from tidegate.core.records import Watermark, WatermarkStatus
from tidegate.core.time import MIN_TIME


class SinkContext(NamedTuple):
    """What a sink learns with each record."""

    record_timestamp: int | None
    current_watermark: int

    def timestamp(self) -> int | None:
        return self.record_timestamp


class Sink(ABC):
    """Write your own: `write` gets each value, `write_watermark` each watermark, after everything it covers."""

    is_shared: ClassVar[bool] = True
    """Whether one object takes the records of all subtasks; if not, every subtask opens a copy of its own."""

    def open(self, runtime_context: Any) -> None:
        """Called once before the first record, for each subtask."""

    @abstractmethod
    def write(self, value: Any, context: SinkContext) -> None: ...

    def write_watermark(self, watermark: Watermark) -> None:
        """No more records with a timestamp <= the watermark's will come."""

    def flush(self) -> None:
        """Everything so far is complete: the input ended, or a batch did."""

    def close(self) -> None:
        """Called once after the last record, for each subtask; without `flush` before it if the job failed."""


@dataclass(frozen=True, slots=True)
class SinkSpec:
    sink: Any

    def __post_init__(self) -> None:
        check_methods(self.sink, ("write",), "sink_to", "Sink")

    def create(self) -> SinkOperator:
        return SinkOperator(self.sink)


class SinkOperator(ChainOperator):
    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._watermark = MIN_TIME

    def open(self) -> None:
        open_function(self._sink, self.runtime_context())

    def close(self) -> None:
        flush = getattr(self._sink, "flush", None)
        if callable(flush):
            flush()
        close_function(self._sink)

    def abort(self) -> None:
        close_function(self._sink)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            self._sink.write(value, SinkContext(timestamp, self._watermark))
        except Exception as error:
            raise self.failure(error, value) from error

    def process_watermark(self, watermark: Watermark) -> None:
        self._watermark = watermark.timestamp
        write = getattr(self._sink, "write_watermark", None)
        if write is not None:
            write(watermark)
        self.output.emit_watermark(watermark)

    def process_status(self, status: WatermarkStatus) -> None:
        self.output.emit_status(status)
