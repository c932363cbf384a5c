"""Builds a program node by node, while the fluent API is being called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.errors import InvalidValueError
from tidegate.graph.nodes import ChainNode, Input, Node, OperatorSpec, SourceNode, Stream, TaskNode
from tidegate.graph.stream_graph import Label, StreamGraph


class ProgramBuilder:
    """Numbers the nodes, remembers what the user calls them and where the streams end."""

    def __init__(self) -> None:
        self._next_number = 0
        self._labels: dict[int, Label] = {}
        self._ends: list[Node] = []

    @property
    def has_ends(self) -> bool:
        return bool(self._ends)

    def source(self, source: Any, kind: str, *, may_have_timestamps: bool = False, output_type: Any = None) -> Stream:
        return Stream(SourceNode(self._number(), kind, source, may_have_timestamps, output_type))

    def chain(self, kind: str, spec: OperatorSpec, streams: Sequence[Stream], output_type: Any = None) -> Stream:
        return Stream(ChainNode(self._number(), kind, spec, tuple(streams), output_type))

    def task(
        self,
        kind: str,
        spec: OperatorSpec,
        inputs: Sequence[Input],
        *,
        parallelism: int | None = None,
        gives_timestamps: bool = False,
        output_type: Any = None,
    ) -> Stream:
        node = TaskNode(self._number(), kind, spec, tuple(inputs), parallelism, gives_timestamps, output_type)
        return Stream(node)

    def end(self, node: Node) -> None:
        """The program ends here: everything that leads to this node will run."""
        self._ends.append(node)

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
        parallelism = changes.get("parallelism", 1)
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise InvalidValueError(f"set_parallelism takes an integer of 1 or more, got {parallelism!r}")
        uid = changes.get("uid")
        if uid is not None and any(n != node.number and label.uid == uid for n, label in self._labels.items()):
            raise InvalidValueError(f"the uid {uid!r} is used twice; give each operator its own")
        self._labels[node.number] = self._labels.get(node.number, Label()).merged(**changes)

    def name_of(self, node: Node) -> str:
        return self._labels.get(node.number, Label()).name or node.kind

    def build(self, default_parallelism: int) -> StreamGraph:
        return StreamGraph.build(self._ends, self._labels, default_parallelism)

    def _number(self) -> int:
        number = self._next_number
        self._next_number += 1
        return number
