"""Where the operators of a subtask keep their state: in memory, or where a runtime keeps it from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tidegate.core.columnar.table_cache import TableCache
from tidegate.core.state.blobs import Blobs, MemoryBlobs
from tidegate.core.state.keyed_store import KeyedStore, MemoryStore
from tidegate.core.state.timers import MemoryTimerQueue, TimerQueue


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The state of one operator in one subtask."""

    store: KeyedStore = field(default_factory=MemoryStore)
    event_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    processing_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    blobs: Blobs = field(default_factory=MemoryBlobs)


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
