"""Rolling aggregates of a keyed stream: one result for each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tidegate.core.function.fields import described_reducer
from tidegate.core.function.functions import as_reduce_function
from tidegate.core.operator.operator import Accept, TaskOperator
from tidegate.core.operator.spec import OperatorSpec
from tidegate.core.state.format import StateFormat
from tidegate.core.state.keyed_state import MISSING

_REDUCED: Final = "reduced"


@dataclass(frozen=True, slots=True)
class RollingReduceSpec(OperatorSpec):
    function: Any

    def __post_init__(self) -> None:
        as_reduce_function(self.function)

    def state_format(self) -> StateFormat:
        return StateFormat("a rolling aggregate", fixed={"function": described_reducer(self.function)})

    def create(self) -> RollingReduceOperator:
        return RollingReduceOperator(self.function)


class RollingReduceOperator(TaskOperator):
    """Emits, for each element, what all elements of its key reduce to so far."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._reduce: Callable[[Any, Any], Any] = as_reduce_function(function)

    def open(self) -> None:
        self.open_function(self._function, self.state)

    def close(self) -> None:
        self.close_function(self._function)

    def inputs(self) -> tuple[Accept, ...]:
        return (self._process,)

    def _process(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.state.set_current_key(key)
        values = self.state.values(_REDUCED)
        before = values.get(None, MISSING)
        try:
            values[None] = reduced = value if before is MISSING else self._reduce(before, value)
        except Exception as error:
            self.fail(error, value)
        self.output.collect(reduced, timestamp)
