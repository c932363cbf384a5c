"""Builds a program node by node, while the fluent API is being called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tidegate.core.operator.sink import SinkSpec
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.source.source import Source
from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import (
    Connection,
    Input,
    Node,
    OperatorNode,
    OutputType,
    SinkNode,
    SourceNode,
    Stream,
)
from tidegate.graph.stream_graph import Label, StreamGraph

_AnyNode = TypeVar("_AnyNode", bound=Node)


class ProgramBuilder:
    """Numbers the nodes, remembers what the user calls them and where the streams end."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._labels: dict[int, Label] = {}
        self._ends: list[Node] = []

    @property
    def has_ends(self) -> bool:
        return bool(self._ends)

    def source(
        self, source: Source, kind: str, *, may_have_timestamps: bool = False, output_type: OutputType | None = None
    ) -> Stream:
        return Stream(self._add(SourceNode(len(self._nodes), kind, source, may_have_timestamps, output_type)))

    def operator(
        self,
        kind: str,
        spec: OperatorSpec,
        inputs: Sequence[Input],
        *,
        parallelism: int | None = None,
        gives_timestamps: bool = False,
        output_type: OutputType | None = None,
    ) -> Stream:
        number = len(self._nodes)
        node = OperatorNode(number, kind, spec, tuple(inputs), parallelism, gives_timestamps, output_type)
        return Stream(self._add(node))

    def sink(self, kind: str, spec: SinkSpec, connections: Sequence[Connection]) -> SinkNode:
        """The program ends here: everything that leads to this node will run."""
        node = self._add(SinkNode(len(self._nodes), kind, spec, Input(tuple(connections))))
        self._ends.append(node)
        return node

    def _add(self, node: _AnyNode) -> _AnyNode:
        self._nodes.append(node)
        return node

    def forget_end(self, node: Node) -> None:
        self._ends.remove(node)

    def forget_ends(self) -> None:
        """What was built so far has run: the next run is of what comes now."""
        self._ends.clear()

    def label(self, node: Node, **changes: Any) -> None:
        """Set the name, uid, parallelism or description of a node."""
        for what in ("name", "uid"):
            value = changes.get(what)
            if what in changes and (not isinstance(value, str) or not value):
                raise InvalidValueError(f"{what}(...) takes a text that is not empty, got {value!r}")
        if "parallelism" in changes:
            _check_parallelism(node, changes["parallelism"])
        uid = changes.get("uid")
        if uid is not None and any(n != node.number and label.uid == uid for n, label in self._labels.items()):
            raise InvalidValueError(f"the uid {uid!r} is used twice; give each operator its own")
        self._labels[node.number] = self._labels.get(node.number, Label()).merged(**changes)

    def name_of(self, node: Node) -> str:
        return self._labels.get(node.number, Label()).name or node.kind

    def build(self, default_parallelism: int) -> StreamGraph:
        return StreamGraph.build(self._ends, self._labels, default_parallelism)

    def build_unfinished(self, default_parallelism: int) -> StreamGraph:
        """The graph of everything that leads to an end; while there is none, of all streams that nobody reads."""
        read = {stream.node.number for node in self._nodes for stream in node.upstream}
        ends = self._ends or [node for node in self._nodes if node.number not in read]
        return StreamGraph.build(ends, self._labels, default_parallelism)


def _check_parallelism(node: Node, parallelism: Any) -> None:
    if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
        raise InvalidValueError(f"set_parallelism takes an integer of 1 or more, got {parallelism!r}")
    if isinstance(node, OperatorNode) and node.parallelism not in (None, parallelism):
        raise InvalidValueError(
            f"set_parallelism({parallelism}): {node.kind} over the whole stream runs in one subtask; call key_by "
            "before it, or leave set_parallelism out"
        )
    if isinstance(node, SourceNode) and parallelism != 1 and not node.source.is_parallel:
        raise InvalidValueError(
            f"set_parallelism({parallelism}): this source is not parallel, it has one instance; leave set_parallelism "
            "out, or use a source that is: a ParallelSourceFunction, files, Kafka"
        )
