"""What a function learns when it is opened: where it runs, its state, its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.core.operator.metric_group import MetricGroup
from tidegate.core.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tidegate.core.state.keyed_state import (
    AggregatingState,
    KeyedStateBackend,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from tidegate.errors import InvalidTypeError, InvalidValueError


class KeyedStateStore:
    """Gives handles onto keyed state."""

    def __init__(self, backend: KeyedStateBackend | None, name: str) -> None:
        self._backend = backend
        self._name = name

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        return self._get(state_descriptor, ValueStateDescriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        return self._get(state_descriptor, ListStateDescriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        return self._get(state_descriptor, MapStateDescriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        return self._get(state_descriptor, ReducingStateDescriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        return self._get(state_descriptor, AggregatingStateDescriptor)  # type: ignore[no-any-return]

    def _get(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        if not isinstance(descriptor, kind):
            raise InvalidTypeError(f"{self._name}: expected a {kind.__name__}, got {descriptor!r}")
        if self._backend is None:
            raise InvalidValueError(f"{self._name}: keyed state needs a keyed stream; call key_by before it")
        return self._bind(self._backend, descriptor)

    def _bind(self, backend: KeyedStateBackend, descriptor: StateDescriptor) -> Any:
        return backend.get(descriptor)


class RuntimeContext(KeyedStateStore):
    """Given to `open`."""

    def __init__(
        self,
        name: str,
        subtask: int,
        parallelism: int,
        metrics: MetricGroup,
        backend: KeyedStateBackend | None = None,
        job_parameters: Mapping[str, str] | None = None,
        unique_id: str = "",
        input_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(backend, name)
        self._subtask = subtask
        self._parallelism = parallelism
        self._metrics = metrics
        self._job_parameters = dict(job_parameters or {})
        self._unique_id = unique_id
        self._input_ids = tuple(input_ids)

    def get_task_name(self) -> str:
        return self._name

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._name} ({self._subtask + 1}/{self._parallelism})"

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_attempt_number(self) -> int:
        return 0

    def get_operator_unique_id(self) -> str:
        """Names the operator among those of all jobs, the same after a restart; empty where a restart is a new job."""
        return self._unique_id

    def get_input_unique_ids(self) -> tuple[str, ...]:
        """The names of the operators that a sink reads from, in the same way."""
        return self._input_ids

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics
