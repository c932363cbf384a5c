"""`ConfigOption`: a named setting with a type and a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidegate.errors import InvalidTypeError, InvalidValueError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A setting that `Configuration.get` and `set` take. Made by `ConfigOptions`."""

    key: str
    default_value: T | None = None
    value_type: type = str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise InvalidValueError(f"ConfigOptions.key: expected text that is not empty, got {self.key!r}")


class ConfigOptions:
    """Makes options.

    >>> retries = ConfigOptions.key("retries").int_type().default_value(3)
    >>> retries.key, retries.default_value
    ('retries', 3)
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Chooses the type of the option."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Chooses the default of the option."""

        def __init__(self, key: str, value_type: type[T]) -> None:
            self._key = key
            self._type = value_type

        def default_value(self, value: T) -> ConfigOption[T]:
            checked: Any = value
            if not isinstance(checked, (int, float) if self._type is float else self._type):
                raise InvalidTypeError(
                    f"option {self._key!r}: the default must be {self._type.__name__}, got {value!r}"
                )
            return ConfigOption(self._key, value, self._type)

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, None, self._type)
