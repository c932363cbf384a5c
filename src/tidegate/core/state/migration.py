"""State of another declared type: what was saved becomes what is declared now, by a function of the user, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.core.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from tidegate.core.state.keyed_store import KeyedStore
from tidegate.core.state.ttl import Expiring
from tidegate.errors import InvalidValueError, UserCodeError


def migrate(store: KeyedStore, name: str, descriptor: StateDescriptor) -> None:
    """Make of every value of a state, of all keys and namespaces, what its descriptor says now."""
    assert descriptor.migration is not None
    function = _checked(descriptor.migration.function, descriptor.name)
    for key in list(store.keys()):
        values = store.load(key).get(name, {})
        for namespace, stored in list(values.items()):
            values[namespace] = _migrated(stored, descriptor, function)


def _migrated(stored: Any, descriptor: StateDescriptor, function: Callable[..., Any]) -> Any:
    """One stored value; it may have a time to live, and so may every entry of a map."""
    if isinstance(descriptor, MapStateDescriptor):
        entries = {}
        for key, value in stored.items():
            new_key, new_value = function(key, _plain(value))
            if new_key in entries:
                raise InvalidValueError(
                    f"state {descriptor.name!r}: the function of migrate_from gives two entries of one map the key "
                    f"{new_key!r}, and one of them would be lost; give each its own"
                )
            entries[new_key] = _aged_as(value, new_value)
        return entries
    value = _plain(stored)
    is_list = isinstance(descriptor, ListStateDescriptor)
    return _aged_as(stored, [function(item) for item in value] if is_list else function(value))


def _plain(stored: Any) -> Any:
    return stored.value if isinstance(stored, Expiring) else stored


def _aged_as(stored: Any, value: Any) -> Any:
    return Expiring(value, stored.accessed_at) if isinstance(stored, Expiring) else value


def _checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise UserCodeError(
                f"state {name!r}: the function of migrate_from raised {error!r} for {arguments!r}; nothing was changed"
            ) from error

    return call
