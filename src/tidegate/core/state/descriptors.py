"""State descriptors: the name and kind of a state, as a user declares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from tidegate.core.function.functions import as_aggregate_function, as_reduce_function
from tidegate.core.state.format import StateFormat
from tidegate.core.state.ttl import StateTtlConfig
from tidegate.errors import InvalidTypeError, InvalidValueError


class Migration(NamedTuple):
    """How state of an earlier declared type becomes that of now."""

    type_info: Any
    function: Callable[..., Any]


class StateDescriptor:
    """Base of all descriptors. The type is a hint; values are kept as they are."""

    def __init__(self, name: str, type_info: Any = None) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidValueError(f"a state needs a name, got {name!r}")
        self.name = name
        self.type_info = type_info
        self.ttl: StateTtlConfig | None = None
        self.migration: Migration | None = None

    def get_name(self) -> str:
        return self.name

    def migrate_from(self, type_info: Any, function: Callable[..., Any]) -> Self:
        """Let a job go on whose checkpoint declares this state with another type: `type_info`, of a map both types.

        The function is called once with every value that was kept, with every element of a list, or with key and value
        of every entry of a map, and returns what is kept from now on.
        """
        if not callable(function):
            raise InvalidTypeError(f"state {self.name!r}: migrate_from takes a function, got {function!r}")
        self.migration = Migration(type_info, function)
        return self

    def state_format(self) -> StateFormat:
        """What the state means: its kind, whether its values expire, and their type if one was declared."""
        return self._format_of(self.type_info)

    def migrated_format(self) -> StateFormat | None:
        """What the state meant that can be migrated, None if none can."""
        return None if self.migration is None else self._format_of(self.migration.type_info)

    def _format_of(self, type_info: Any) -> StateFormat:
        kind = type(self).__name__.removesuffix("StateDescriptor").lower()
        types = type_info if isinstance(type_info, tuple) else (type_info,)
        shown = [describe() for item in types if callable(describe := getattr(item, "describe", None))]
        return StateFormat(
            f"{kind} state",
            fixed={"time to live": "unlimited" if self.ttl is None else "limited"},
            shared={"type": ", ".join(shown)} if shown else {},
        )

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the values of this state expire."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise InvalidTypeError(f"state {self.name!r}: expected a StateTtlConfig, got {ttl_config!r}")
        self.ttl = ttl_config if ttl_config.is_enabled() else None


class ValueStateDescriptor(StateDescriptor):
    """One value."""

    def __init__(self, name: str, value_type_info: Any = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """A list."""

    def __init__(self, name: str, elem_type_info: Any = None) -> None:
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor):
    """A map; also the form of broadcast state."""

    def __init__(self, name: str, key_type_info: Any = None, value_type_info: Any = None) -> None:
        super().__init__(name, (key_type_info, value_type_info))


class ReducingStateDescriptor(StateDescriptor):
    """One value, into which others are reduced."""

    def __init__(self, name: str, reduce_function: Any, type_info: Any = None) -> None:
        super().__init__(name, type_info)
        self.reduce_function: Callable[[Any, Any], Any] = as_reduce_function(reduce_function)

    def get_reduce_function(self) -> Any:
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """An accumulator with an `AggregateFunction`."""

    def __init__(self, name: str, agg_function: Any, state_type_info: Any = None) -> None:
        super().__init__(name, state_type_info)
        self.agg_function = as_aggregate_function(agg_function)

    def get_agg_function(self) -> Any:
        return self.agg_function
