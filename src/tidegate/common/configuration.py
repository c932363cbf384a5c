"""`Configuration`: settings by name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Set
from typing import Any, TypeVar

from tidegate.common.config_options import ConfigOption
from tidegate.errors import InvalidTypeError, InvalidValueError

T = TypeVar("T")

_BOOLEANS = {"true": True, "false": False}


class Configuration:
    """Settings by name. Values keep their type, and are read as another where their text allows it.

    >>> settings = Configuration().set_integer("retries", 3).set_string("verbose", "true")
    >>> settings.get_string("retries", ""), settings.get_boolean("verbose", False), settings.get_float("rate", 1.5)
    ('3', True, 1.5)
    """

    __slots__ = ("_values",)

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:  # noqa: A002  # PyFlink's name
        """Settings from texts by name."""
        configuration = cls()
        for key, value in map.items():
            configuration.set_string(key, value)
        return configuration

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """The items of a list as Flink writes one: `a;b` or `[a, b]`, items in quotes where they hold a separator.

        >>> Configuration.parse_list_value("[a, 'b, c']"), Configuration.parse_list_value("a;b")
        (['a', 'b, c'], ['a', 'b'])
        """
        text = (value or "").strip()
        if not text:
            return []
        separator = ";"
        if text.startswith("[") and text.endswith("]"):
            text, separator = text[1:-1], ","
        quote = '"' if '"' in text else "'"
        rows = csv.reader([text], delimiter=separator, quotechar=quote, skipinitialspace=True)
        return [item.strip() for row in rows for item in row]

    def get(self, option: ConfigOption[T]) -> T | None:
        """The value of the option, or its default."""
        readers: dict[type, Any] = {bool: self.get_boolean, int: self.get_integer, float: self.get_float}
        read = readers.get(option.value_type, self.get_string)
        value: T | None = read(option.key, option.default_value)
        return value

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        return self._set(option.key, value, option.value_type)

    def get_string(self, key: str, default_value: Any) -> Any:
        value = self._values.get(key)
        return default_value if value is None else _as_text(value)

    def set_string(self, key: str, value: str) -> Configuration:
        return self._set(key, value, str)

    def get_integer(self, key: str, default_value: Any) -> Any:
        return self._read(key, default_value, int, "an integer")

    def set_integer(self, key: str, value: int) -> Configuration:
        return self._set(key, value, int)

    def get_boolean(self, key: str, default_value: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            return default_value
        found = _BOOLEANS.get(_as_text(value).strip().lower())
        if found is None:
            raise InvalidValueError(f"configuration {key!r}: cannot read {value!r} as a boolean; write true or false")
        return found

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self._set(key, value, bool)

    def get_float(self, key: str, default_value: Any) -> Any:
        return self._read(key, default_value, float, "a number")

    def set_float(self, key: str, value: float) -> Configuration:
        return self._set(key, value, float)

    def get_bytearray(self, key: str, default_value: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            return default_value
        if not isinstance(value, bytes):
            raise InvalidValueError(f"configuration {key!r}: {value!r} was not set by set_bytearray")
        return bytearray(value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        return self._set(key, bytes(value) if isinstance(value, bytearray) else value, bytes)

    def key_set(self) -> Set[str]:
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Forget the setting; whether there was one."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over every setting of the other, with the prefix put before its name."""
        self._values.update({(prefix or "") + key: value for key, value in other._values.items()})
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put every setting into the dict, with the type that it was set with."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """Every setting as text."""
        return {key: _as_text(value) for key, value in self._values.items()}

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Configuration) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"

    def _set(self, key: str, value: Any, expected: type) -> Configuration:
        if not isinstance(key, str) or not key:
            raise InvalidValueError(f"configuration: a key is text that is not empty, got {key!r}")
        if expected is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise InvalidTypeError(f"configuration {key!r}: expected {expected.__name__}, got {value!r}")
        self._values[key] = value
        return self

    def _read(self, key: str, default_value: Any, read: type, expected: str) -> Any:
        value = self._values.get(key)
        if value is None:
            return default_value
        try:
            return read(_as_text(value))
        except ValueError:
            raise InvalidValueError(f"configuration {key!r}: cannot read {value!r} as {expected}") from None


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)
