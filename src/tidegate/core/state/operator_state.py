"""The state of one operator in one subtask, and how its parts are saved where they are in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tidegate.core.state.blobs import Blobs, MemoryBlobs
from tidegate.core.state.keyed_store import KeyedStore, MemoryStore
from tidegate.core.state.timers import MemoryTimerQueue, TimerQueue


@dataclass(slots=True)
class OperatorState:
    """The state of one operator in one subtask."""

    store: KeyedStore = field(default_factory=MemoryStore)
    event_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    processing_timers: TimerQueue = field(default_factory=MemoryTimerQueue)
    blobs: Blobs = field(default_factory=MemoryBlobs)

    def save(self) -> dict[str, Any]:
        """Its parts as a snapshot holds them: those in memory; a runtime that keeps others keeps them itself."""
        return {
            "state": _saved(self.store),
            "event_timers": _saved(self.event_timers),
            "processing_timers": _saved(self.processing_timers),
            "blobs": _saved(self.blobs),
        }

    def load(self, saved: Any) -> None:
        """Take back what `save` gave; other fields may stand beside it."""
        _load(self.store, saved["state"])
        _load(self.event_timers, saved["event_timers"])
        _load(self.processing_timers, saved["processing_timers"])
        _load(self.blobs, saved["blobs"])


@runtime_checkable
class _InMemory(Protocol):
    """A store or queue that is kept in memory, and is part of the snapshot."""

    def snapshot(self) -> Any: ...

    def restore(self, snapshot: Any) -> None: ...


def _saved(part: object) -> Any:
    return part.snapshot() if isinstance(part, _InMemory) else None


def _load(part: object, saved: Any) -> None:
    if saved is not None and isinstance(part, _InMemory):
        part.restore(saved)
