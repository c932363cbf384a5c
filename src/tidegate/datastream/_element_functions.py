"""The functions behind those methods of a stream that take none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidegate.core.function.fields import get_field


def same(value: Any) -> Any:
    return value


class Projection:
    """Tuples of only these fields."""

    def __init__(self, fields: Sequence[int]) -> None:
        self._fields = tuple(fields)

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return tuple(get_field(value, field) for field in self._fields)


class CheckedKey:
    """Passes the element on if it has a key; its errors make a dead letter of it."""

    def __init__(self, selector: Callable[[Any], Any]) -> None:
        self._selector = selector

    def __call__(self, value: Any) -> Any:
        hash(self._selector(value))
        return value
