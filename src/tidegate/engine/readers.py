"""How a job reads its sources: at once what is at hand, through a queue what has to be waited for."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import Any

from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.source.source import Source, SourceFunction
from tidegate.core.source.source_context import SourceContext
from tidegate.core.watermark.records import Watermark
from tidegate.errors import ClosedError, TidegateError, UserCodeError

Call = Callable[[SourceContext], None]
"""Something that a source did, to be done to its context in the thread of the job."""

_QUEUE_SIZE = 10_000
_END = object()


class ChannelReader(ABC):
    """Reads one channel of one source into its context."""

    def __init__(self, name: str, context: SourceContext) -> None:
        self.name = name
        self.context = context
        self.has_ended = False
        self.position = 0

    @abstractmethod
    def read_some(self, limit: int) -> int:
        """Hand at most `limit` elements to the context, without waiting. Returns how many there were."""

    def end(self) -> None:
        """The channel is finished: no more records, ever."""
        if not self.has_ended:
            self.has_ended = True
            self.context.end()

    def stop(self) -> None:
        """Read no more, without ending time."""

    def finish(self) -> None:
        """Read no more, and end the channel behind what has been read."""
        self.stop()
        self.end()

    def _failed(self, error: BaseException) -> Exception:
        if isinstance(error, TidegateError):
            return error
        return UserCodeError(f"{self.name}: the source raised {type(error).__name__}: {error}")


def _collect(context: SourceContext, value: Any) -> None:
    context.collect(value)


def _collect_pair(context: SourceContext, pair: tuple[Any, int | None]) -> None:
    value, timestamp = pair
    if timestamp is None:
        context.collect(value)
    else:
        context.collect_with_timestamp(value, timestamp)


class IteratorReader(ChannelReader):
    """Reads a source that never makes one wait."""

    def __init__(self, name: str, context: SourceContext, source: Source, channel: str, *, skip: int = 0) -> None:
        super().__init__(name, context)
        self._elements: Iterator[Any] = islice(source.read(channel), skip, None)
        self._collect = partial(_collect_pair, context) if source.has_timestamps else context.collect
        self.position = skip

    def read_some(self, limit: int) -> int:
        collect = self._collect
        count = 0
        while count < limit:
            try:
                value = next(self._elements)
            except StopIteration:
                self.end()
                break
            except Exception as error:
                raise self._failed(error) from error
            count += 1
            self.position += 1
            collect(value)
        return count


class ThreadReader(ChannelReader):
    """Reads in a thread of its own what has to be waited for, and hands it over in the thread of the job."""

    def __init__(self, name: str, context: SourceContext, wake: threading.Event) -> None:
        super().__init__(name, context)
        self._calls: queue.Queue[Any] = queue.Queue(_QUEUE_SIZE)
        self._wake = wake
        self._is_stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"tidegate {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def read_some(self, limit: int) -> int:
        count = 0
        while count < limit:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is _END:
                if self._error is not None:
                    raise self._failed(self._error) from self._error
                self.end()
                break
            count += 1
            call(self.context)
        return count

    def stop(self) -> None:
        self._is_stopped = True

    def finish(self) -> None:
        self.stop()
        while self.read_some(_QUEUE_SIZE):
            pass
        self.end()

    def put(self, call: Any) -> None:
        """From the reading thread: hand over, waiting while the job is behind."""
        while not self._is_stopped:
            try:
                self._calls.put(call, timeout=0.1)
            except queue.Full:
                continue
            self._wake.set()
            return
        raise ClosedError("the job has stopped")

    @abstractmethod
    def _read(self) -> None:
        """Read until the end, handing over with `put`."""

    def _run(self) -> None:
        try:
            self._read()
        except ClosedError:
            return
        except BaseException as error:
            self._error = error
        try:
            self.put(_END)
        except ClosedError:
            return


class BlockingReader(ThreadReader):
    """Reads a source whose iteration may wait, such as a socket."""

    def __init__(
        self, name: str, context: SourceContext, wake: threading.Event, source: Source, channel: str, *, skip: int = 0
    ) -> None:
        super().__init__(name, context, wake)
        self._source = source
        self._channel = channel
        self.position = skip

    def read_some(self, limit: int) -> int:
        count = super().read_some(limit)
        self.position += count
        return count

    def _read(self) -> None:
        collect = _collect_pair if self._source.has_timestamps else _collect
        for value in islice(self._source.read(self._channel), self.position, None):
            self.put(lambda context, value=value: collect(context, value))


class FunctionReader(ThreadReader):
    """Runs one instance of a `SourceFunction`."""

    def __init__(
        self,
        name: str,
        context: SourceContext,
        wake: threading.Event,
        function: SourceFunction,
        runtime_context: RuntimeContext,
    ) -> None:
        super().__init__(name, context, wake)
        self._function = function
        self._runtime_context = runtime_context

    def stop(self) -> None:
        super().stop()
        self._function.cancel()

    def _read(self) -> None:
        self._function.open(self._runtime_context)
        try:
            self._function.run(_RemoteContext(self))
        finally:
            self._function.close()


class _RemoteContext(SourceContext):
    """What a source function holds: every call is done to the real context in the thread of the job."""

    def __init__(self, reader: FunctionReader) -> None:
        self._reader = reader
        self._lock = threading.RLock()

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        return self._lock

    def collect(self, value: Any) -> None:
        self._reader.put(lambda context: context.collect(value))

    def collect_with_timestamp(self, value: Any, timestamp: int) -> None:
        self._reader.put(lambda context: context.collect_with_timestamp(value, timestamp))

    def emit_watermark(self, watermark: Watermark) -> None:
        self._reader.put(lambda context: context.emit_watermark(watermark))

    def mark_as_temporarily_idle(self) -> None:
        self._reader.put(lambda context: context.mark_as_temporarily_idle())

    def close(self) -> None:
        self._reader.put(_END)

    def snapshot(self) -> Any:
        raise ClosedError("a source function cannot take a snapshot")

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        raise ClosedError("a source function cannot restore a snapshot")


def create_reader(
    name: str, context: SourceContext, wake: threading.Event, source: Source, channel: str, *, skip: int = 0
) -> ChannelReader:
    """The reader that fits a source; `skip` elements were read before a restart, which come again if they can."""
    skip = skip if source.is_replayable else 0
    if source.is_blocking:
        return BlockingReader(name, context, wake, source, channel, skip=skip)
    return IteratorReader(name, context, source, channel, skip=skip)


def read_in_turn(readers: list[ChannelReader], limit: int) -> int:
    """Read what is at hand. Several channels are read in turn, an element each: by position, then by channel."""
    if len(readers) == 1:
        return readers[0].read_some(limit)
    total = 0
    while total < limit and readers:
        count = sum(reader.read_some(1) for reader in readers)
        readers = [reader for reader in readers if not reader.has_ended]
        total += count
        if count == 0:
            break
    return total
