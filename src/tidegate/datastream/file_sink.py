"""The two halves of a `FileSink`: what writes on the workers, and what commits with the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.operator.sink import BatchId, Sink, SinkContext
from tidegate.core.operator.two_phase_sink import SinkWriter
from tidegate.datastream.part_contents import Encode, PartContent, new_content
from tidegate.datastream.part_files import PartCommitter, PartFile, PartNames, PartWriter, bucket_folder
from tidegate.errors import ClosedError

Bucket = Callable[[Any, SinkContext], str]
"""The folder of an element, which may depend on its time and the watermark."""


class FileWriter(SinkWriter):
    """Writes the elements of a subtask to hidden files, one for each bucket and batch."""

    def __init__(self, names: PartNames, file_format: str | Encode, bucket: Bucket | None) -> None:
        self._names = names
        self._format = file_format
        self._bucket = bucket
        self._contents: dict[str, PartContent] = {}
        self._parts: PartWriter | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._parts = PartWriter(self._names, runtime_context.get_operator_unique_id())

    def write(self, value: Any, context: SinkContext) -> None:
        parts = self._opened()
        bucket = "" if self._bucket is None else bucket_folder(self._bucket(value, context))
        content = self._contents.get(bucket)
        if content is None:
            content = self._contents[bucket] = new_content(self._format)
        content.add(value, parts.file(bucket))

    def prepare_commit(self) -> Iterator[tuple[str, str, int]]:
        parts = self._opened()
        contents, self._contents = self._contents, {}
        for bucket, content in contents.items():
            content.finish(parts.file(bucket))
        return ((file.bucket, file.name, file.size) for file in parts.finish())

    def close(self) -> None:
        if self._parts is not None:
            self._parts.discard()
            self._contents.clear()

    def __getstate__(self) -> dict[str, Any]:
        # Files belong to the process that opened them.
        return {**self.__dict__, "_parts": None, "_contents": {}}

    def _opened(self) -> PartWriter:
        if self._parts is None:
            raise ClosedError("FileSink: not open; a job opens its sinks")
        return self._parts


class FileCommitter(Sink):
    """Puts the files of a batch in place, all of them or none."""

    def __init__(self, names: PartNames) -> None:
        self._names = names
        self._expected = BatchId(-1)
        self._parts: PartCommitter | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._parts is None:
            sink = runtime_context.get_operator_unique_id()
            self._parts = PartCommitter(self._names, sink, runtime_context.get_input_unique_ids())
            self._parts.expect(self._expected)
            self._parts.open()

    def clean_up(self) -> None:
        self._opened().clean_up()

    def snapshot_state(self) -> list[Any]:
        last = self._expected if self._parts is None else self._parts.last
        return [int(last), last.token]

    def restore_state(self, state: list[Any]) -> None:
        self._expected = BatchId(*state)

    def begin_batch(self, batch_id: BatchId) -> None:
        self._opened().begin(batch_id)

    def write(self, value: tuple[str, str, int], context: SinkContext) -> None:
        self._opened().add(PartFile(*value))

    def commit_batch(self, batch_id: BatchId) -> None:
        self._opened().commit()

    def close(self) -> None:
        if self._parts is not None:
            self._parts.discard()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": None}

    def _opened(self) -> PartCommitter:
        if self._parts is None:
            raise ClosedError("FileSink: not open; a job opens its sinks")
        return self._parts
