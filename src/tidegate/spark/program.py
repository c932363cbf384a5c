"""What a checkpoint knows of its program: which operators it holds state of, and where.

Spark numbers stages by position, and state is found by uid inside a stage. So a changed program can go on from a
checkpoint as long as no operator with state moves, changes its kind or its inputs, or is gone.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.core.watermark.assign_watermarks import AssignWatermarksSpec
from tidegate.errors import SnapshotError
from tidegate.graph.nodes import ChainNode, Node, SourceNode, Stream, TaskNode
from tidegate.graph.plan import Plan


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """Where an operator runs, what it is, and whose elements each of its inputs gets, stream by stream.

    The stage of what runs where a source is read straight into windows is -1.
    """

    stage: int
    kind: str
    keeps_state: bool
    inputs: list[list[str]]

    @property
    def is_source(self) -> bool:
        return not self.inputs


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A program as its checkpoint remembers it; `job_id` stays the same through restarts."""

    job_id: str
    parallelism: int
    has_ended: bool
    operators: dict[str, OperatorRecord]

    @property
    def num_stages(self) -> int:
        return max((record.stage for record in self.operators.values()), default=-1) + 1

    @staticmethod
    def of(plan: Plan, parallelism: int, entered: Collection[int] = ()) -> ProgramRecord:
        """The record of a plan; `entered` are the numbers of the nodes that need no stage."""
        graph = plan.graph
        operators = {
            graph.uid(node): OperatorRecord(
                -1 if node.number in entered else plan.stage_of[node.number],
                node.kind,
                _keeps_state(node),
                list(_inputs(node, plan)),
            )
            for node in graph.nodes
        }
        return ProgramRecord(uuid.uuid4().hex, parallelism, False, operators)

    @staticmethod
    def load(path: Path) -> ProgramRecord:
        try:
            fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            operators = {uid: OperatorRecord(**record) for uid, record in fields["operators"].items()}
            return ProgramRecord(fields["job_id"], fields["parallelism"], fields["has_ended"], operators)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SnapshotError(
                f"{path} cannot be read ({type(error).__name__}: {error}); choose another checkpoint folder"
            ) from error

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        os.replace(temporary, path)


def check_against(saved: ProgramRecord, program: ProgramRecord, folder: str) -> None:
    """Refuse a program that cannot go on from a checkpoint: which operator, and why."""
    if saved.parallelism != program.parallelism:
        raise SnapshotError(
            f"checkpoint {folder} was written with parallelism {saved.parallelism}, the job has "
            f"{program.parallelism}; parallelism is fixed for a checkpoint"
        )
    for uid, before in saved.operators.items():
        after = program.operators.get(uid)
        if after is not None:
            _check_operator(uid, before, after, folder)
        elif before.keeps_state:
            raise SnapshotError(
                f"checkpoint {folder} holds state of the operator {uid!r} ({before.kind}), which the program no "
                "longer has; put it back under that uid, or start from a new checkpoint"
            )
    for uid, after in program.operators.items():
        if uid not in saved.operators and after.is_source:
            raise SnapshotError(
                f"the source {uid!r} is not in checkpoint {folder}; a source cannot be added to a running job, start "
                "from a new checkpoint"
            )
    before_count, after_count = saved.num_stages, program.num_stages
    if before_count != after_count:
        new = [uid for uid, record in program.operators.items() if uid not in saved.operators and record.keeps_state]
        raise SnapshotError(
            f"checkpoint {folder} has {before_count} stages, the program has {after_count}"
            + (f" (new: {', '.join(map(repr, new))})" if new else "")
            + "; a change that needs another number of stages starts from a new checkpoint"
        )
    if saved.has_ended:
        raise SnapshotError(
            f"checkpoint {folder} is of a job that has ended: its input is complete and every window has fired; "
            "start from a new checkpoint"
        )


def _check_operator(uid: str, before: OperatorRecord, after: OperatorRecord, folder: str) -> None:
    if not before.keeps_state and not after.keeps_state:
        return
    if before.kind != after.kind:
        raise SnapshotError(
            f"operator {uid!r} was a {before.kind} in checkpoint {folder} and is a {after.kind} now; give the new one "
            "another uid, or start from a new checkpoint"
        )
    if before.stage != after.stage:
        raise SnapshotError(
            f"operator {uid!r} was {_place(before.stage)} in checkpoint {folder} and is {_place(after.stage)} now; its "
            "state would not be found; start from a new checkpoint"
        )
    for known, names in zip(before.inputs, after.inputs, strict=False):
        if names[: len(known)] != known:
            raise SnapshotError(
                f"operator {uid!r} read from {known} in checkpoint {folder} and reads from {names} now; streams of a "
                "union may be added behind the others, not removed or moved; start from a new checkpoint"
            )


def _place(stage: int) -> str:
    return "read straight into its windows" if stage < 0 else f"in stage {stage}"


def _keeps_state(node: Node) -> bool:
    """Whether a checkpoint holds something of the node that cannot be made anew."""
    if isinstance(node, ChainNode):
        return isinstance(node.spec, AssignWatermarksSpec)
    return True


def _inputs(node: Node, plan: Plan) -> Iterator[list[str]]:
    """Where the elements of each input come from: valves know their channels by place and origin."""
    if isinstance(node, TaskNode):
        for task_input in node.inputs:
            yield [",".join(_origins(stream, plan)) for stream in task_input.streams]
    elif isinstance(node, ChainNode):
        yield [",".join(_origins(stream, plan)) for stream in node.streams]


def _origins(stream: Stream, plan: Plan) -> list[str]:
    """The nearest sources and tasks behind a stream; what runs in between may change."""
    node = stream.node
    if isinstance(node, SourceNode | TaskNode):
        return [plan.graph.uid(node) + (f":{stream.side}" if stream.side else "")]
    return [name for parent in node.upstream for name in _origins(parent, plan)]
