"""Sinks: where a stream ends. They see records and watermarks, and pass nothing on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tidegate.core.function.functions import check_methods
from tidegate.core.operator.function_life import close_function, open_function
from tidegate.core.operator.operator import ChainOperator
from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.core.time.millis import MIN_TIME
from tidegate.core.watermark.records import Watermark


class BatchId(int):
    """The number of a batch, which is its name for sinks. Batches have rising numbers.

    `token` says what the batch was made of. Where a job goes on from an older copy of its checkpoint, numbers come
    again with other batches: those have another token. `undoes` says whether a sink may take back then what it has got
    of later batches; a job that was started from a savepoint must be told so.
    """

    token: str
    undoes: bool

    def __new__(cls, number: int, token: str = "", *, undoes: bool = True) -> BatchId:
        batch_id = super().__new__(cls, number)
        batch_id.token = token
        batch_id.undoes = undoes
        return batch_id


class SinkContext(NamedTuple):
    """What a sink learns with each record."""

    record_timestamp: int | None
    current_watermark: int

    def timestamp(self) -> int | None:
        return self.record_timestamp


class Sink(ABC):
    """Write your own: `write` gets each value, `write_watermark` each watermark, after everything it covers.

    Watermarks rise, and `Watermark.MAX` comes once, last. Everything comes in batches: `begin_batch`, what was written,
    `flush`, `commit_batch`. On Spark a batch is a micro-batch; after a crash the last one may come again, from its
    beginning, with the same id and the same values. A sink that shows nothing before `commit_batch`, and what it has
    committed once only, is exactly once. In process the whole run is one batch.
    """

    is_shared: ClassVar[bool] = True
    """Whether one object takes the records of all subtasks; if not, every subtask has one of its own: the first the
    object itself, the others copies."""

    def open(self, runtime_context: Any) -> None:
        """Called once before the first record, for each object."""

    def begin_batch(self, batch_id: BatchId) -> None:
        """A batch begins; whatever was written and not committed is void."""

    @abstractmethod
    def write(self, value: Any, context: SinkContext) -> None: ...

    def write_watermark(self, watermark: Watermark) -> None:
        """No more records with a timestamp <= the watermark's will come."""

    def flush(self) -> None:
        """Everything so far is complete: the input ended, or a batch did."""

    def commit_batch(self, batch_id: BatchId) -> None:
        """The batch is complete: make it visible, unless it already is: the same id, with the same token."""

    def clean_up(self) -> None:
        """Nothing of a run before is waiting any more: what it has left behind may go."""

    def snapshot_state(self) -> Any:
        """What the sink wants to know after a restart, as plain data: saved with every batch that was committed."""
        return None

    def restore_state(self, state: Any) -> None:
        """What `snapshot_state` gave after the last batch that counts; called before `open`, or between batches."""

    def close(self) -> None:
        """Called once after the last record, for each object; if the job failed, without `commit_batch` before it."""


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A sink as a value. Anything that has `write` will do; what it lacks of a `Sink` is not called."""

    sink: Any

    def __post_init__(self) -> None:
        check_methods(self.sink, ("write",), "sink_to", "Sink")

    @property
    def is_shared(self) -> bool:
        return bool(getattr(self.sink, "is_shared", True))

    def create(self) -> SinkOperator:
        return SinkOperator(self.sink)

    @staticmethod
    def elsewhere() -> SinkSpec:
        """Stands for a sink where it is not: nothing is ever written to it."""
        return SinkSpec(_Elsewhere())


class _Elsewhere(Sink):
    def write(self, value: Any, context: SinkContext) -> None:
        raise AssertionError("sinks are with the driver")


class SinkOperator(ChainOperator):
    """Feeds a sink. Whoever runs it begins the batches, and commits them."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self.watermark = MIN_TIME

    def open(self) -> None:
        open_function(self._sink, self.runtime_context())

    def close(self) -> None:
        close_function(self._sink)

    def begin_batch(self, batch_id: BatchId) -> None:
        self._call("begin_batch", batch_id)

    def commit_batch(self, batch_id: BatchId) -> None:
        self._call("flush")
        self._call("commit_batch", batch_id)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        try:
            self._sink.write(value, SinkContext(timestamp, self.watermark))
        except Exception as error:
            self.fail(error, value)

    def process_watermark(self, watermark: Watermark) -> None:
        self.watermark = watermark.timestamp
        self._call("write_watermark", watermark)
        super().process_watermark(watermark)

    def clean_up(self) -> None:
        self._call("clean_up")

    def snapshot(self) -> Snapshot:
        state = self._call("snapshot_state")
        return make_snapshot("sink_operator", 2, watermark=self.watermark, sink=state, base=super().snapshot())

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "sink_operator", 2)
        super().restore(fields["base"])
        self.watermark = fields["watermark"]
        if fields["sink"] is not None:
            self._call("restore_state", fields["sink"])

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call what a sink has; one that is no `Sink` needs nothing but `write`."""
        call = getattr(self._sink, method, None)
        return call(*arguments) if callable(call) else None
