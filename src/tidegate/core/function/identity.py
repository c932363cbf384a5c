"""An operator that changes nothing: it is there to move elements to other subtasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.core.operator.operator import Accept, TaskOperator


@dataclass(frozen=True, slots=True)
class IdentitySpec:
    def create(self) -> IdentityOperator:
        return IdentityOperator()


class IdentityOperator(TaskOperator):
    def inputs(self) -> tuple[Accept, ...]:
        return (self._pass,)

    def _pass(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.output.collect(value, timestamp)
