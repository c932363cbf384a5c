"""Where keyed state is kept: the slots of each key."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from tidegate.core.state.snapshot import Snapshot, make_snapshot, open_snapshot
from tidegate.errors import InvalidValueError

Slots = dict[str, dict[Any, Any]]
"""The state of one key: state name -> namespace -> value. Plain functions use the namespace None."""


class _NoKey(dict[str, dict[Any, Any]]):
    """Stands where no key is current. It is true, so that nothing is forgotten when a key comes."""

    def __bool__(self) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        raise InvalidValueError(
            f"state {name!r}: no key is current here, so there is no keyed state; "
            "use it in process_element or on_timer, or apply_to_keyed_state"
        )

    __getitem__ = __setitem__ = get


NO_KEY: Final = _NoKey()


class KeyedStore(Protocol):
    """Where the slots of the keys are kept; a runtime may load them lazily and write them in bulk."""

    def load(self, key: Any) -> Slots:
        """The slots of the key, to be changed in place; empty ones for a new key."""

    def discard(self, key: Any) -> None:
        """Forget the key."""

    def keys(self) -> Iterator[Any]: ...


class MemoryStore:
    """Keeps everything in one dict."""

    def __init__(self) -> None:
        self._slots: dict[Any, Slots] = {}

    def load(self, key: Any) -> Slots:
        slots = self._slots.get(key)
        if slots is None:
            slots = self._slots[key] = {}
        return slots

    def discard(self, key: Any) -> None:
        self._slots.pop(key, None)

    def keys(self) -> Iterator[Any]:
        return iter(list(self._slots))

    def snapshot(self) -> Snapshot:
        """A copy that later changes do not reach."""
        return make_snapshot("keyed_state", 1, keys=[[k, s] for k, s in copy.deepcopy(self._slots).items() if s])

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        fields = open_snapshot(snapshot, "keyed_state", 1)
        self._slots = {key: copy.deepcopy(slots) for key, slots in fields["keys"]}
