"""The whole program: its nodes in order, with names and stable uids, checked before it runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle

from tidegate.errors import InvalidTypeError, InvalidValueError
from tidegate.graph.nodes import Node, OperatorNode, SinkNode, SourceNode, Stream, ancestors


@dataclass(frozen=True, slots=True)
class Label:
    """What the user calls a node."""

    name: str | None = None
    uid: str | None = None
    parallelism: int | None = None
    description: str | None = None

    def merged(self, **changes: Any) -> Label:
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class StreamGraph:
    """Nodes in the order of the program text; every upstream node comes before those that read it."""

    nodes: tuple[Node, ...]
    names: Mapping[int, str]
    uids: Mapping[int, str]
    given_parallelism: Mapping[int, int]
    """Of the nodes that were given one."""
    default_parallelism: int
    given_uids: frozenset[int] = frozenset()
    """The nodes whose uid the user gave."""

    @staticmethod
    def build(ends: Iterable[Node], labels: Mapping[int, Label], default_parallelism: int) -> StreamGraph:
        """The graph of everything that leads to `ends`."""
        nodes = tuple(sorted(ancestors(tuple(Stream(node) for node in ends)), key=lambda node: node.number))
        if not nodes:
            raise InvalidValueError(
                "the program has no sink, so nothing would run; end a stream with print(), sink_to() or "
                "execute_and_collect()"
            )
        names = {node.number: labels.get(node.number, Label()).name or default_name(node) for node in nodes}
        uids = _assign_uids(nodes, labels)
        given = {node.number: _given_parallelism(node, labels) for node in nodes}
        parallelism = {number: count for number, count in given.items() if count is not None}
        given_uids = frozenset(number for number, label in labels.items() if label.uid is not None)
        graph = StreamGraph(nodes, names, uids, parallelism, default_parallelism, given_uids)
        for node in nodes:
            check_picklable(node, names[node.number])
        return graph

    @property
    def nodes_by_number(self) -> Mapping[int, Node]:
        return {node.number: node for node in self.nodes}

    def name(self, node: Node) -> str:
        return self.names[node.number]

    def uid(self, node: Node) -> str:
        return self.uids[node.number]


def default_name(node: Node) -> str:
    function = getattr(node.spec, "function", None) if isinstance(node, OperatorNode) else None
    given = getattr(function, "__name__", None) or type(function).__name__
    is_ours = type(function).__module__.partition(".")[0] == "tidegate"
    if function is None or is_ours or given in {"<lambda>", "NoneType"}:
        return node.kind
    return f"{node.kind} {given}"


def check_picklable(node: Node, name: str) -> None:
    """Refuse a function that could not be sent to a worker."""
    payload: object = None
    if isinstance(node, SourceNode):
        payload = node.source
    elif isinstance(node, OperatorNode | SinkNode):
        payload = node.spec
    try:
        cloudpickle.dumps((payload, [c.partitioning for task_input in node.inputs for c in task_input.connections]))
    except Exception as error:
        raise InvalidTypeError(
            f"{name}: its function cannot be sent to a worker ({type(error).__name__}: {error}); do not hold "
            "connections, locks or open files in it: make them in open()"
        ) from error


def _given_parallelism(node: Node, labels: Mapping[int, Label]) -> int | None:
    if isinstance(node, OperatorNode) and node.parallelism is not None:
        return node.parallelism
    return labels.get(node.number, Label()).parallelism


def _assign_uids(nodes: tuple[Node, ...], labels: Mapping[int, Label]) -> dict[int, str]:
    """A uid for each node: the user's, or one derived from what the node is and where its input comes from.

    Only sources and what elements are moved for count, so inserting a map or a filter renames nothing; nor does a
    change in another branch. Nodes that are alike in both are numbered.
    """
    uids: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for node in nodes:
        given = labels.get(node.number, Label()).uid
        if given is not None:
            uid = given
        else:
            path = "|".join(_path(stream, uids) for stream in node.upstream)
            base = f"{node.kind}-{hashlib.sha256(f'{node.kind}<{path}'.encode()).hexdigest()[:8]}"
            seen[base] += 1
            uid = base if seen[base] == 1 else f"{base}-{seen[base]}"
        if uid in uids.values():
            raise InvalidValueError(f"the uid {uid!r} is used twice; give each operator its own with uid(...)")
        uids[node.number] = uid
    return uids


def _path(stream: Stream, uids: Mapping[int, str]) -> str:
    node = stream.node
    if isinstance(node, OperatorNode) and node.may_be_chained:
        return "|".join(_path(parent, uids) for parent in node.upstream)
    return uids[node.number]
