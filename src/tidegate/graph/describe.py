"""A plan for people: as text, JSON and Mermaid."""

from __future__ import annotations

import json
from typing import Any

from tidegate.graph.nodes import Broadcast, Custom, Forward, KeyBy, Node, Partitioning, Rebalance, Stream, TaskNode
from tidegate.graph.plan import Plan


def as_text(plan: Plan) -> str:
    """One paragraph for each stage, one line for each operator.

    Indented below an operator is what it reads.
    """
    graph = plan.graph
    lines: list[str] = []
    for stage in plan.stages:
        title = "sources" if stage.number == 0 else f"parallelism {_stage_parallelism(plan, stage.nodes)}"
        lines.append(f"stage {stage.number} ({title})")
        for node in stage.nodes:
            note = "  read straight into windows, on columns" if node.number in plan.straight else ""
            lines.append(f"  {graph.name(node)}  [{graph.uid(node)}]{note}")
            lines.extend(f"    <- {line}" for line in _inputs(plan, node))
    return "\n".join(lines)


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as plain data."""
    graph = plan.graph
    return {
        "stages": [
            {
                "stage": stage.number,
                "operators": [
                    {
                        "uid": graph.uid(node),
                        "name": graph.name(node),
                        "kind": node.kind,
                        "parallelism": graph.parallelism[node.number] if isinstance(node, TaskNode) else None,
                        "inputs": [
                            {"uid": graph.uid(stream.node), "side": stream.side, "by": by}
                            for stream, by in _edges(node)
                        ],
                    }
                    for node in stage.nodes
                ],
            }
            for stage in plan.stages
        ]
    }


def as_json(plan: Plan) -> str:
    return json.dumps(as_data(plan), indent=2)


def as_mermaid(plan: Plan) -> str:
    """A flowchart that Markdown renderers draw."""
    graph = plan.graph
    lines = ["flowchart LR"]
    for stage in plan.stages:
        lines.append(f'  subgraph stage{stage.number}["stage {stage.number}"]')
        lines.extend(f'    n{node.number}["{_quoted(graph.name(node))}"]' for node in stage.nodes)
        lines.append("  end")
    for node in graph.nodes:
        for stream, by in _edges(node):
            text = ", ".join(part for part in (by, f"side {stream.side}" if stream.side else "") if part)
            arrow = f'-- "{_quoted(text)}" -->' if text else "-->"
            lines.append(f"  n{stream.node.number} {arrow} n{node.number}")
    return "\n".join(lines)


def _stage_parallelism(plan: Plan, nodes: tuple[Node, ...]) -> str:
    counts = sorted({plan.graph.parallelism[node.number] for node in nodes if isinstance(node, TaskNode)})
    return ", ".join(map(str, counts))


def _inputs(plan: Plan, node: Node) -> list[str]:
    lines = []
    for stream, by in _edges(node):
        side = f" side output '{stream.side}'" if stream.side else ""
        lines.append(f"{plan.graph.name(stream.node)}{side}" + (f" by {by}" if by else ""))
    return lines


def _edges(node: Node) -> list[tuple[Stream, str]]:
    if isinstance(node, TaskNode):
        return [(s, _how(task_input.partitioning)) for task_input in node.inputs for s in task_input.streams]
    return [(stream, "") for stream in node.upstream]


def _how(partitioning: Partitioning) -> str:
    match partitioning:
        case KeyBy(label=label):
            return label
        case Broadcast():
            return "broadcast"
        case Rebalance():
            return "rebalance"
        case Custom():
            return "custom partitioner"
        case Forward():
            return "forward"


def _quoted(text: str) -> str:
    return text.replace('"', "'")
