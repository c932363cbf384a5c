"""`DataStreamSink`: the end of a stream."""

from __future__ import annotations

from typing import Any

from tidegate.graph.builder import ProgramBuilder
from tidegate.graph.nodes import SinkNode


class DataStreamSink:
    """A sink in the program, to be named."""

    def __init__(self, program: ProgramBuilder, node: SinkNode) -> None:
        self._program = program
        self._node = node

    def name(self, name: str) -> DataStreamSink:
        self._program.label(self._node, name=name)
        return self

    def uid(self, uid: str) -> DataStreamSink:
        self._program.label(self._node, uid=uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        return self.uid(uid_hash)

    def set_description(self, description: str) -> DataStreamSink:
        self._program.label(self._node, description=description)
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        self._program.label(self._node, parallelism=parallelism)
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Accepted for Flink's sake: chaining does not change results."""
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> DataStreamSink:
        """Accepted for Flink's sake: Spark places tasks."""
        return self
