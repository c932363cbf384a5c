"""The physical plan for people: as text, JSON and Mermaid. What is shown is what runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tidegate.engine.plan import (
    SINKS,
    Carried,
    Chained,
    Edge,
    Exchanged,
    PhysicalPlan,
    Planned,
    PlannedLane,
    PlannedSource,
    PlannedTask,
    SentAsColumns,
    Travel,
)
from tidegate.graph.nodes import Automatic, Broadcast, ByPartitioner, Forward, KeyBy, Partitioning, Rebalance


def as_text(plan: PhysicalPlan) -> str:
    """One paragraph for each stage, one line for each operator.

    Indented below an operator is what it reads, and how that travels.
    """
    lines: list[str] = []
    for title, nodes in _stages(plan):
        lines.append(title)
        for node in nodes:
            lines.append(f"  {node.name}  [{node.uid}]  {', '.join(_facts(node))}")
            lines.extend(f"    <- {_described(plan, edge)}" for edge in _edges(node))
    if plan.needs_clock:
        lines.append("something waits for the clock: there are batches without data")
    return "\n".join(lines)


def as_data(plan: PhysicalPlan) -> dict[str, Any]:
    """The plan as plain data."""
    return {
        "parallelism": plan.parallelism,
        "needs_clock": plan.needs_clock,
        "stages": [
            {
                "stage": "sinks" if number == SINKS else number,
                "operators": [
                    {
                        "uid": node.uid,
                        "name": node.name,
                        "kind": node.kind,
                        "runs": _runs(node),
                        "parallelism": node.parallelism,
                        "waits_for_clock": _waits_for_clock(node),
                        "inputs": [
                            {"uid": plan.by_number[edge.source].uid, "side": edge.side, "travels": _how(edge.travel)}
                            for edge in _edges(node)
                        ],
                    }
                    for node in plan.stage(number)
                ],
            }
            for number in (*range(plan.num_stages), SINKS)
        ],
    }


def as_json(plan: PhysicalPlan) -> str:
    return json.dumps(as_data(plan), indent=2)


def as_mermaid(plan: PhysicalPlan) -> str:
    """A flowchart that Markdown renderers draw."""
    lines = ["flowchart LR"]
    for number, (title, nodes) in enumerate(_stages(plan)):
        lines.append(f'  subgraph stage{number}["{title}"]')
        lines.extend(f'    n{node.number}["{_quoted(node.name)}"]' for node in nodes)
        lines.append("  end")
    for edge in plan.edges:
        text = ", ".join(part for part in (_how(edge.travel), f"side {edge.side}" if edge.side else "") if part)
        arrow = f'-- "{_quoted(text)}" -->' if text else "-->"
        lines.append(f"  n{edge.source} {arrow} n{edge.target}")
    return "\n".join(lines)


def _stages(plan: PhysicalPlan) -> Iterator[tuple[str, tuple[Planned, ...]]]:
    for number in range(plan.num_stages):
        yield f"stage {number}", plan.stage(number)
    yield "sinks", plan.stage(SINKS)


def _facts(node: Planned) -> Iterator[str]:
    yield _runs(node)
    yield f"parallelism {node.parallelism}"
    if _waits_for_clock(node):
        yield "waits for the clock"


def _runs(node: Planned) -> str:
    """What was decided about a node, in a few words."""
    if isinstance(node, PlannedSource):
        return f"read {node.reading.value}"
    if isinstance(node, PlannedLane):
        return "in every subtask, for each channel" if node.is_in_every_subtask else "for each channel"
    if isinstance(node, PlannedTask):
        return "on columns" if node.is_on_columns else "element by element"
    return "with the driver"


def _waits_for_clock(node: Planned) -> bool:
    return isinstance(node, PlannedLane | PlannedTask) and node.spec.waits_for_clock


def _edges(node: Planned) -> list[Edge]:
    return [] if isinstance(node, PlannedSource) else [edge for edges in node.inputs for edge in edges]


def _described(plan: PhysicalPlan, edge: Edge) -> str:
    side = f" side output '{edge.side}'" if edge.side else ""
    how = _how(edge.travel)
    return f"{plan.by_number[edge.source].name}{side}" + (f" {how}" if how else "")


def _how(travel: Travel) -> str:
    match travel:
        case Chained() | Carried():
            return ""
        case SentAsColumns(key_names=names, are_partials=are_partials):
            return f"by key {', '.join(names)}, as {'partial aggregates' if are_partials else 'columns'}"
        case Exchanged(partitioning=partitioning):
            return _partitioned(partitioning)


def _partitioned(partitioning: Partitioning) -> str:
    match partitioning:
        case KeyBy(label=label):
            return f"by {label}"
        case Broadcast():
            return "by broadcast"
        case Rebalance():
            return "by rebalance"
        case ByPartitioner():
            return "by custom partitioner"
        case Forward() | Automatic():
            return "by forward"


def _quoted(text: str) -> str:
    return text.replace('"', "'")
