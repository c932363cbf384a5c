"""Broadcast state: the map that the broadcast side of connected streams writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from tidegate.core.state.keyed_state import State
from tidegate.errors import InvalidValueError


class ReadOnlyBroadcastState(State):
    """The map as the other side sees it; a copy of it is in every subtask."""

    def __init__(self, entries: dict[Any, Any]) -> None:
        self._entries = entries

    def get(self, key: Any) -> Any:
        """The value of the entry, None if there is none."""
        return self._entries.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._entries.items()))

    def keys(self) -> Iterator[Any]:
        return iter(list(self._entries))

    def values(self) -> Iterator[Any]:
        return iter(list(self._entries.values()))

    def is_empty(self) -> bool:
        return not self._entries

    def put(self, key: Any, value: Any) -> None:
        self._refuse()

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._refuse()

    def remove(self, key: Any) -> None:
        self._refuse()

    def clear(self) -> None:
        self._refuse()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    @staticmethod
    def _refuse() -> NoReturn:
        raise InvalidValueError(
            "broadcast state is read-only here: only process_broadcast_element may write it, "
            "because every subtask must hold the same"
        )


class BroadcastState(ReadOnlyBroadcastState):
    """The map as the broadcast side sees it: it may write."""

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()
