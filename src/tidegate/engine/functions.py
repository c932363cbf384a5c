"""The functions of one subtask. They stay open over batches while their worker lives; their state is the batch's."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import cloudpickle

from tidegate.core.operator.function_life import close_function, open_function
from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.operator.runtime_context import RuntimeContext
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.keyed_state import KeyedStateBackend
from tidegate.core.state.keyed_store import MemoryStore
from tidegate.core.time.millis import Clock
from tidegate.engine.plan import PlannedLane, PlannedTask


class FunctionHome:
    """What stays of one operator in a subtask, whatever instances of the operator come and go.

    The functions of its spec, each opened once; the keyed state and the metrics that `open` handed out handles to,
    which are pointed to the state of a batch by whoever runs the operator.
    """

    def __init__(self, spec: OperatorSpec, clock: Clock) -> None:
        self.spec = spec
        self.state = KeyedStateBackend(MemoryStore(), clock)
        self.metrics = MetricGroup()
        self._opened: list[Any] = []

    def open(self, function: Any, context: RuntimeContext) -> None:
        if not any(function is known for known in self._opened):
            self._opened.append(function)
            open_function(function, context)

    def close(self, function: Any) -> None:
        if any(function is known for known in self._opened):
            self._opened = [known for known in self._opened if known is not function]
            close_function(function)


class SubtaskFunctions:
    """The homes of the operators of one subtask of one stage."""

    def __init__(self, subtask: int, clock: Clock, *, makes_copies: bool) -> None:
        self._subtask = subtask
        self._clock = clock
        self._makes_copies = makes_copies
        self._homes: dict[int, FunctionHome] = {}

    def home(self, node: PlannedLane | PlannedTask) -> FunctionHome:
        home = self._homes.get(node.number)
        if home is None:
            spec = copy_for_subtask(node.spec, self._subtask) if self._makes_copies else node.spec
            home = self._homes[node.number] = FunctionHome(spec, self._clock)
        return home

    def homes(self) -> Iterator[tuple[int, FunctionHome]]:
        return iter(self._homes.items())


def unique_id(job_id: str, uid: str) -> str:
    """Names an operator among those of all jobs, the same after a restart; empty where a restart is a new job."""
    return f"{job_id}/{uid}" if job_id else ""


def copy_for_subtask(value: Any, subtask: int) -> Any:
    """What subtask `subtask` has of something that all subtasks of one process are given.

    The first has what the user gave, so that a program with one subtask can look at its own objects later. The others
    have copies: a state handle that one keeps in `open` is not that of its neighbour. Plain functions are not copied.
    """
    if subtask == 0:
        return value
    try:
        return copy.deepcopy(value)
    except TypeError:
        # A module among the attributes, for example; the graph was checked to be picklable.
        return cloudpickle.loads(cloudpickle.dumps(value))
