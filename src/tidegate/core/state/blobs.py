"""Named blobs: what an operator stores by itself, beside its keyed state."""

from __future__ import annotations

from typing import Any, Protocol


class Blobs(Protocol):
    """Named blobs: the view of one subtask onto the state store."""

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        """A blob, None if there is none; `is_there` says that it is known to be there, which saves looking first."""

    def put(self, name: str, data: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


class MemoryBlobs:
    """Blobs in memory; they are part of the snapshot of whoever keeps them."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def get(self, name: str, *, is_there: bool = False) -> bytes | None:
        return self._data.get(name)

    def put(self, name: str, data: bytes) -> None:
        self._data[name] = data

    def remove(self, name: str) -> None:
        del self._data[name]

    def clear(self) -> None:
        self._data.clear()

    def snapshot(self) -> Any:
        return dict(self._data)

    def restore(self, snapshot: Any) -> None:
        self._data = dict(snapshot)
