"""Keyed state: what a function remembers for each key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tidegate.core.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tidegate.core.state.format import StateFormat, compare
from tidegate.core.state.keyed_store import NO_KEY, KeyedStore, MemoryStore, Slots
from tidegate.core.state.migration import migrate
from tidegate.core.state.ttl import ExpiringValues
from tidegate.core.subscriptable import Subscriptable
from tidegate.core.time.millis import Clock
from tidegate.errors import InvalidTypeError, InvalidValueError, SnapshotError

__all__ = [
    "MISSING",
    "AggregatingState",
    "AppendingState",
    "KeyedState",
    "KeyedStateBackend",
    "KeyedStore",
    "ListState",
    "MapState",
    "MemoryStore",
    "MergingState",
    "ReducingState",
    "Slots",
    "State",
    "ValueState",
]

MISSING: Final = object()


class KeyedStateBackend:
    """The keyed state of one operator subtask, seen through the current key."""

    def __init__(self, store: KeyedStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.current_key: Any = None
        self.slots: Slots = NO_KEY
        self._formats: dict[str, StateFormat] = {}
        self._saved_formats: dict[str, StateFormat] = {}

    def use(self, store: KeyedStore) -> None:
        """Let handles that were given out look into another store: that of the next batch."""
        self.store = store
        self.current_key = None
        self.slots = NO_KEY

    def set_current_key(self, key: Any) -> Slots:
        """Make `key` the current one. A key that has nothing left is forgotten when the next one comes."""
        if not self.slots:
            self.store.discard(self.current_key)
        self.current_key = key
        try:
            self.slots = self.store.load(key)
        except TypeError:
            raise InvalidTypeError(
                f"the key {key!r} of type {type(key).__name__} cannot be hashed; "
                "return a string, a number or a tuple from the key selector"
            ) from None
        return self.slots

    def release_key(self) -> None:
        """Leave the current key, so that nothing is current while state is saved."""
        if not self.slots:
            self.store.discard(self.current_key)
        self.current_key = None
        self.slots = NO_KEY

    def values(self, name: str) -> dict[Any, Any]:
        """All namespaces of one state of the current key, to be changed in place."""
        values = self.slots.get(name)
        if values is None:
            values = self.slots[name] = {}
        return values

    def get(self, descriptor: StateDescriptor) -> KeyedState:
        """A handle onto the state; it follows the current key."""
        return self.bind(descriptor, _no_namespace)

    def bind(self, descriptor: StateDescriptor, namespace: Callable[[], Any], scope: str = "") -> KeyedState:
        """A handle that follows the current key and a changing namespace; `scope` keeps equal names apart."""
        kind = _STATE_KINDS.get(type(descriptor))
        if kind is None:
            raise InvalidTypeError(f"expected a state descriptor such as ValueStateDescriptor, got {descriptor!r}")
        self._declare(scope + descriptor.name, descriptor)
        return kind(self, descriptor, namespace, scope)

    def _declare(self, name: str, descriptor: StateDescriptor) -> None:
        """Refuse a state that is declared as something else than what was saved of it."""
        if name in self._formats:
            return
        declared = descriptor.state_format()
        saved = self._saved_formats.get(name)
        earlier = descriptor.migrated_format()
        if saved is not None and (why := compare(saved, declared).refusal) is not None:
            if earlier is None or compare(saved, earlier).refusal is not None:
                raise SnapshotError(
                    f"the checkpoint holds the state {descriptor.name!r}, but {why}; declare it as it was, say with "
                    "migrate_from(TYPE, FUNCTION) what becomes of it, or give it another name to begin with nothing"
                )
            migrate(self.store, name, descriptor)
        elif saved is not None and earlier is not None and not saved.shared and compare(saved, earlier).refusal is None:
            # Nobody had declared a type; the function says which one it was.
            migrate(self.store, name, descriptor)
        if saved is not None:
            # A type that is not declared for once is not forgotten.
            declared = declared.with_shared(**{**saved.shared, **declared.shared})
        self._formats[name] = declared

    def save_formats(self) -> dict[str, Any]:
        """What the states that were declared mean, by name."""
        return {name: declared.plain() for name, declared in (self._saved_formats | self._formats).items()}

    def restore_formats(self, saved: Mapping[str, Any]) -> None:
        self._saved_formats = {name: StateFormat.of_plain(plain) for name, plain in saved.items()}

    def clear_namespace(self, namespace: Any) -> None:
        """Forget every state of the current key under `namespace`."""
        for name in list(self.slots):
            self.slots[name].pop(namespace, None)
            if not self.slots[name]:
                del self.slots[name]


class State(Subscriptable, ABC):
    """Base of every handle onto state."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what is there."""


class AppendingState(State):
    """Base of the states that things are added to."""

    @abstractmethod
    def get(self) -> Any:
        """What was added, in the form of this kind of state."""

    @abstractmethod
    def add(self, value: Any) -> None:
        """Add one more."""


class KeyedState(State):
    """A handle onto one state of the current key."""

    def __init__(
        self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespace: Callable[[], Any], scope: str
    ) -> None:
        self._backend = backend
        self._name = scope + descriptor.name
        self._descriptor = descriptor
        self._namespace = namespace
        self._ttl = ExpiringValues(descriptor.ttl, backend.clock) if descriptor.ttl is not None else None

    def clear(self) -> None:
        """Forget the value of the current key."""
        values = self._backend.slots.get(self._name)
        if values is not None:
            values.pop(self._namespace(), None)
            if not values:
                del self._backend.slots[self._name]

    def _read(self) -> Any:
        values = self._backend.slots.get(self._name)
        if values is None:
            return MISSING
        namespace = self._namespace()
        value = values.get(namespace, MISSING)
        if self._ttl is None or value is MISSING:
            return value
        return self._ttl.read(values, namespace, value, MISSING)

    def _write(self, value: Any) -> None:
        if self._ttl is not None:
            value = self._ttl.wrap(value)
        self._backend.values(self._name)[self._namespace()] = value

    @abstractmethod
    def merge_from(self, namespaces: Iterable[Any]) -> None:
        """Take over what this state holds under other namespaces; they are cleared."""

    def _take(self, namespaces: Iterable[Any]) -> list[Any]:
        values = self._backend.slots.get(self._name, {})
        taken = [values.pop(namespace) for namespace in namespaces if namespace in values]
        if self._ttl is not None:
            taken = [self._ttl.unwrap(value) for value in taken]
        return taken


class ValueState(KeyedState):
    """One value."""

    def value(self) -> Any:
        """The value, None if there is none."""
        value = self._read()
        return None if value is MISSING else value

    def update(self, value: Any) -> None:
        """Set the value; None clears it."""
        if value is None:
            self.clear()
        else:
            self._write(value)

    def merge_from(self, namespaces: Iterable[Any]) -> None:
        raise InvalidValueError(f"state {self._name!r}: a ValueState cannot merge; use a reducing or list state")


class MergingState(KeyedState, AppendingState):
    """State that things are added to, and that can be merged with that of other windows."""

    def add(self, value: Any) -> None:
        current = self._read()
        self._write(self._add(current, value))

    def merge_from(self, namespaces: Iterable[Any]) -> None:
        taken = self._take(namespaces)
        if not taken:
            return
        merged = self._read()
        for value in taken:
            merged = value if merged is MISSING else self._merge(merged, value)
        self._write(merged)

    @abstractmethod
    def _add(self, current: Any, value: Any) -> Any: ...

    @abstractmethod
    def _merge(self, left: Any, right: Any) -> Any: ...


class ListState(MergingState):
    """A list, in the order of adding."""

    def get(self) -> Iterable[Any]:
        value = self._read()
        return iter(()) if value is MISSING else iter(list(value))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add_all(self, values: Iterable[Any]) -> None:
        added = list(values)
        if added:
            current = self._read()
            self._write(added if current is MISSING else current + added)

    def update(self, values: Iterable[Any]) -> None:
        """Replace the list; an empty one clears it."""
        replacement = list(values)
        if replacement:
            self._write(replacement)
        else:
            self.clear()

    def _add(self, current: Any, value: Any) -> Any:
        if current is MISSING:
            return [value]
        current.append(value)
        return current

    def _merge(self, left: Any, right: Any) -> Any:
        return left + right


class ReducingState(MergingState):
    """One value, into which others are reduced."""

    _descriptor: ReducingStateDescriptor

    def get(self) -> Any:
        value = self._read()
        return None if value is MISSING else value

    def _add(self, current: Any, value: Any) -> Any:
        return value if current is MISSING else self._descriptor.reduce_function(current, value)

    def _merge(self, left: Any, right: Any) -> Any:
        return self._descriptor.reduce_function(left, right)


class AggregatingState(MergingState):
    """An accumulator, read through `get_result`."""

    _descriptor: AggregatingStateDescriptor

    def get(self) -> Any:
        value = self._read()
        return None if value is MISSING else self._descriptor.agg_function.get_result(value)

    def _add(self, current: Any, value: Any) -> Any:
        function = self._descriptor.agg_function
        return function.add(value, function.create_accumulator() if current is MISSING else current)

    def _merge(self, left: Any, right: Any) -> Any:
        return self._descriptor.agg_function.merge(left, right)


class MapState(KeyedState):
    """A map. Every entry lives and expires by itself."""

    def get(self, key: Any) -> Any:
        """The value of the entry, None if there is none."""
        entries = self._entries()
        value = entries.get(key, MISSING)
        if self._ttl is not None and value is not MISSING:
            value = self._ttl.read(entries, key, value, MISSING)
        return None if value is MISSING else value

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def put(self, key: Any, value: Any) -> None:
        entries = self._backend.values(self._name).setdefault(self._namespace(), {})
        entries[key] = value if self._ttl is None else self._ttl.wrap(value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        entries = self._entries()
        if entries.pop(key, MISSING) is not MISSING and not entries:
            self.clear()

    def contains(self, key: Any) -> bool:
        return any(True for _ in self._live([key])) if self._ttl is not None else key in self._entries()

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._live(list(self._entries()))

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        return not any(True for _ in self.items())

    def merge_from(self, namespaces: Iterable[Any]) -> None:
        raise InvalidValueError(f"state {self._name!r}: a MapState cannot merge; use a reducing or list state")

    def _live(self, keys: list[Any]) -> Iterator[tuple[Any, Any]]:
        entries = self._entries()
        for key in keys:
            value = entries.get(key, MISSING)
            if self._ttl is not None and value is not MISSING:
                value = self._ttl.read(entries, key, value, MISSING)
            if value is not MISSING:
                yield key, value

    def _entries(self) -> dict[Any, Any]:
        values = self._backend.slots.get(self._name)
        entries: dict[Any, Any] = {} if values is None else values.get(self._namespace(), {})
        return entries


_STATE_KINDS: Mapping[type[StateDescriptor], type[KeyedState]] = {
    ValueStateDescriptor: ValueState,
    ListStateDescriptor: ListState,
    MapStateDescriptor: MapState,
    ReducingStateDescriptor: ReducingState,
    AggregatingStateDescriptor: AggregatingState,
}


def _no_namespace() -> None:
    return None
