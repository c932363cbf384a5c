"""What a checkpoint knows of its program: which operators it holds state of, where, and what that state means.

State is found by uid inside a stage. A changed program goes on from a checkpoint, is migrated, or is refused, operator
by operator, before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from tidegate.core.state.format import StateFormat, compare
from tidegate.engine.plan import SINKS, PhysicalPlan, Planned, PlannedSink, PlannedSource, PlannedTask
from tidegate.errors import SnapshotError

_START_ANEW: Final = "start from a new checkpoint"
_RESCALE: Final = "tidegate rescale CHECKPOINT PROGRAM.py --parallelism N"


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """Where an operator runs, what it is, whose elements each of its inputs gets, and what its state means."""

    name: str
    kind: str
    stage: int
    parallelism: int
    inputs: list[list[str]]
    state_format: dict[str, Any] | None
    function: str | None = None
    """What it does, where no uid says who it is: then it is known by its place alone."""
    forgotten: list[str] = field(default_factory=list)
    """What was once kept in its state and is no longer asked for; what is open may still hold it."""

    @property
    def is_source(self) -> bool:
        return not self.inputs

    @property
    def keeps_state(self) -> bool:
        return self.state_format is not None


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A program as its checkpoint remembers it. `parallelism` is the number of subtasks of a stage."""

    parallelism: int
    default_parallelism: int
    max_parallelism: int
    num_stages: int
    operators: dict[str, OperatorRecord]
    has_ended: bool = False
    """Whether the job has ended: its input is complete, and time has come to its end."""

    @staticmethod
    def of(plan: PhysicalPlan) -> ProgramRecord:
        operators = {
            node.uid: OperatorRecord(
                node.name,
                node.kind,
                node.stage,
                node.parallelism,
                [[",".join(_origins(edge.source, edge.side, plan)) for edge in edges] for edges in _inputs(node)],
                None if (state_format := _state_format(node)) is None else state_format.plain(),
                node.function,
            )
            for node in plan.nodes
        }
        return ProgramRecord(
            plan.parallelism, plan.default_parallelism, plan.max_parallelism, plan.num_stages, operators
        )

    @staticmethod
    def of_plain(plain: Mapping[str, Any]) -> ProgramRecord:
        operators = {uid: OperatorRecord(**record) for uid, record in plain["operators"].items()}
        return ProgramRecord(**{**plain, "operators": operators})

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def subtasks(self) -> dict[str, int]:
        """The number of subtasks of every operator that has state, by uid."""
        return {uid: record.parallelism for uid, record in self.operators.items() if record.keeps_state}

    def rescaled(self, plan: PhysicalPlan) -> ProgramRecord:
        """The same program with the subtasks that a plan has."""
        after = ProgramRecord.of(plan)
        operators = {
            uid: replace(record, parallelism=after.operators[uid].parallelism) if uid in after.operators else record
            for uid, record in self.operators.items()
        }
        return replace(
            self, parallelism=after.parallelism, default_parallelism=after.default_parallelism, operators=operators
        )


def check_program(saved: ProgramRecord, program: ProgramRecord, where: str) -> tuple[ProgramRecord, list[str]]:
    """Refuse a program that cannot go on from a checkpoint: which operator, why, and what to do.

    `where` names the checkpoint. Returns what is to be remembered of the program, and what is migrated, a sentence for
    each change.
    """
    if saved.parallelism != program.parallelism:
        raise SnapshotError(
            f"{where} was written with parallelism {saved.parallelism}, the job has {program.parallelism}; run it with "
            f"the old one, or rescale it first: {_RESCALE}"
        )
    migrations: list[str] = []
    operators = dict(program.operators)
    for uid, before in saved.operators.items():
        after = program.operators.get(uid)
        if after is not None:
            migrations += _check_operator(uid, before, after, where)
            operators[uid] = replace(after, forgotten=_forgotten(uid, before, after, where))
        elif before.keeps_state:
            raise SnapshotError(
                f"{where} holds state of the operator {before.name!r} (uid {uid!r}), which the program no longer has; "
                f"put it back, give the operator that goes on with its state that uid(...), or {_START_ANEW}"
            )
    for uid, after in program.operators.items():
        if uid not in saved.operators and after.is_source:
            raise SnapshotError(
                f"the source {after.name!r} (uid {uid!r}) is not in {where}; a source cannot be added to a job that "
                f"has begun: {_START_ANEW}"
            )
    if saved.num_stages != program.num_stages:
        new = [uid for uid, record in program.operators.items() if uid not in saved.operators and record.keeps_state]
        raise SnapshotError(
            f"{where} has {saved.num_stages} stages, the program has {program.num_stages}"
            + (f" (new: {', '.join(map(repr, new))})" if new else "")
            + f"; with another number of stages, {_START_ANEW}"
        )
    if saved.has_ended:
        raise SnapshotError(
            f"{where} is of a job that has ended: its input is complete and every window has fired; {_START_ANEW}"
        )
    return replace(program, operators=operators), migrations


def _check_operator(uid: str, before: OperatorRecord, after: OperatorRecord, where: str) -> list[str]:
    if before.state_format is None or after.state_format is None:
        if before.keeps_state:
            raise _refused(
                uid, after.name, where, f"it was {before.kind} with state and is {after.kind} without it now"
            )
        return []
    if None not in (before.function, after.function) and before.function != after.function:
        raise _refused(
            uid,
            after.name,
            where,
            f"it was {before.function!r} and is {after.function!r} now, and without a uid an operator is known by its "
            f"place alone; if it is the same, say so with uid({uid!r})",
        )
    migrations = _check_format(uid, after.name, before.state_format, after.state_format, where)
    if before.stage != after.stage:
        raise _refused(uid, after.name, where, f"it was in stage {before.stage} and is in stage {after.stage} now")
    if before.parallelism != after.parallelism:
        raise _refused(
            uid,
            after.name,
            where,
            f"its parallelism was {before.parallelism} and is {after.parallelism} now",
            f"run it as it was, or rescale the job: {_RESCALE}",
        )
    for known, names in zip(before.inputs, after.inputs, strict=False):
        if names[: len(known)] != known:
            raise SnapshotError(
                f"operator {after.name!r} (uid {uid!r}) read from {known} in {where} and reads from {names} now; "
                f"streams of a union may be added behind the others, not removed or moved: put them back, or "
                f"{_START_ANEW}"
            )
    return migrations


def _check_format(uid: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> list[str]:
    """Refuse state that means something else now; or say what is migrated."""
    change = compare(StateFormat.of_plain(before), StateFormat.of_plain(after))
    if change.refusal is not None:
        raise _refused(uid, name, where, change.refusal)
    return [f"operator {name!r} (uid {uid!r}): {sentence}" for sentence in change.migrations]


def _forgotten(uid: str, before: OperatorRecord, after: OperatorRecord, where: str) -> list[str]:
    """The parts of state that are no longer asked for. One that comes back would be put together from then and now."""
    old, new = _parts(before), _parts(after)
    back = [part for part in before.forgotten if part in new]
    if back:
        raise _refused(
            uid,
            after.name,
            where,
            f"{', '.join(back)} was taken out of the program once and is back, and what is open may still hold what "
            "was kept of it then",
        )
    return [*before.forgotten, *(part for part in old if part not in new)]


def _parts(record: OperatorRecord) -> list[str]:
    """What the state of an operator is kept in, where the program may change that."""
    flexible = {} if record.state_format is None else record.state_format["flexible"]
    named = [parts for value in flexible.values() if isinstance(value, Mapping) for parts in value.values()]
    return list(dict.fromkeys(part for parts in named for part in parts))


def _refused(uid: str, name: str, where: str, why: str, advice: str = "") -> SnapshotError:
    return SnapshotError(
        f"operator {name!r} (uid {uid!r}) cannot go on with its state in {where}: {why}; "
        + (advice or f"run it as it was, or {_START_ANEW}")
    )


def _state_format(node: Planned) -> StateFormat | None:
    if isinstance(node, PlannedSource):
        location = node.source.location
        return StateFormat(f"a source ({node.kind})", shared={} if location is None else {"location": location})
    return None if isinstance(node, PlannedSink) else node.state_format


def _inputs(node: Planned) -> Iterator[Any]:
    return iter(()) if isinstance(node, PlannedSource) else iter(node.inputs)


def _origins(number: int, side: str | None, plan: PhysicalPlan) -> list[str]:
    """The nearest sources and tasks behind a stream; what runs in between may change."""
    node = plan.by_number[number]
    if isinstance(node, PlannedSource | PlannedTask):
        return [node.uid + (f":{side}" if side else "")]
    return [name for edges in _inputs(node) for edge in edges for name in _origins(edge.source, edge.side, plan)]


def stage_formats(plan: PhysicalPlan, stage: int) -> dict[str, dict[str, Any]]:
    """What the state of the operators of a stage means, by uid: kept with the state itself."""
    record = ProgramRecord.of(plan)
    return {
        uid: operator.state_format
        for uid, operator in record.operators.items()
        if operator.stage == stage and operator.stage != SINKS and operator.state_format is not None
    }


def check_stage_formats(saved: Mapping[str, Any], plan: PhysicalPlan, stage: int) -> None:
    """Refuse state that means something else than the program of the plan takes it for, whoever started it."""
    program = stage_formats(plan, stage)
    for uid, plain in saved.items():
        name = plan.by_uid[uid].name if uid in plan.by_uid else uid
        if uid not in program:
            raise SnapshotError(
                f"the state holds the operator {name!r} (uid {uid!r}), which this stage of the program has not; run "
                f"the program that wrote it, or {_START_ANEW}"
            )
        _check_format(uid, name, plain, program[uid], "the state store")
