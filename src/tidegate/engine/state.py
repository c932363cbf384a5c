"""Where the operators of a subtask keep their state: in memory, or where a runtime keeps it from batch to batch."""

from __future__ import annotations

from typing import Protocol

from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.state.operator_state import OperatorState


class StateBackend(Protocol):
    """The state of the operators of one subtask."""

    @property
    def tables(self) -> TableCache:
        """Tables that are stored and still in memory."""

    def of_operator(self, uid: str) -> OperatorState: ...


class MemoryState:
    """State in memory; it is part of the snapshots of the operators."""

    def __init__(self) -> None:
        self.tables = TableCache()

    def of_operator(self, uid: str) -> OperatorState:
        return OperatorState()
