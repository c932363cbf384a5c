"""`DataStreamSink`: the end of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.core.operator.sink import SinkSpec
from tidegate.core.operator.two_phase_sink import TwoPhaseSink, WriterSpec
from tidegate.graph.builder import ProgramBuilder
from tidegate.graph.nodes import Connection, Input, Node, SinkNode


class DataStreamSink:
    """A sink in the program, to be named."""

    def __init__(self, program: ProgramBuilder, node: SinkNode, writer: Node | None = None) -> None:
        self._program = program
        self._node = node
        self._writer = writer

    @staticmethod
    def ending(program: ProgramBuilder, kind: str, sink: Any, connections: Sequence[Connection]) -> DataStreamSink:
        """The end of a stream in a sink; of one in two phases, the writer is an operator in front of it."""
        if not isinstance(sink, TwoPhaseSink):
            return DataStreamSink(program, program.sink(kind, SinkSpec(sink), connections))
        spec = WriterSpec(sink.create_writer())
        written = program.operator("writer", spec, [Input(tuple(connections))])
        node = program.sink(kind, SinkSpec(sink.create_committer()), [Connection(written)])
        return DataStreamSink(program, node, written.node)

    def name(self, name: str) -> DataStreamSink:
        self._program.label(self._node, name=name)
        if self._writer is not None:
            self._program.label(self._writer, name=f"{name}: writer")
        return self

    def uid(self, uid: str) -> DataStreamSink:
        self._program.label(self._node, uid=uid)
        if self._writer is not None:
            self._program.label(self._writer, uid=f"{uid}: writer")
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        return self.uid(uid_hash)

    def set_description(self, description: str) -> DataStreamSink:
        self._program.label(self._node, description=description)
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        self._program.label(self._writer or self._node, parallelism=parallelism)
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Accepted for Flink's sake: chaining does not change results."""
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> DataStreamSink:
        """Accepted for Flink's sake: Spark places tasks."""
        return self
