"""Fields of elements by position or name: tuples, lists, rows, dicts, objects."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tidegate.errors import InvalidTypeError, InvalidValueError

Field = int | str


def get_field(value: Any, field: Field) -> Any:
    """The field of an element; position 0 of a plain number or text is the value itself."""
    try:
        return value[field]
    except (TypeError, KeyError, IndexError, ValueError):
        if isinstance(field, str) and hasattr(value, field):
            return getattr(value, field)
        if field == 0 and isinstance(value, int | float):
            return value
        raise InvalidValueError(f"the record {value!r} has no field {field!r}") from None


def with_field(value: Any, field: Field, new: Any) -> Any:
    """A copy of the element with one field replaced."""
    if isinstance(value, int | float):
        return new
    if isinstance(value, tuple):
        fields = list(value)
        names = getattr(value, "_fields", None) or getattr(value, "__fields__", None)
        fields[names.index(field) if isinstance(field, str) and names else field] = new  # type: ignore[index]
        return _rebuilt(value, fields, names)
    changed = copy.copy(value)
    if hasattr(changed, "__setitem__"):
        changed[field] = new
    else:
        setattr(changed, str(field), new)
    return changed


def _rebuilt(value: Any, fields: list[Any], names: Any) -> Any:
    if type(value) is tuple:
        return tuple(fields)
    if hasattr(value, "_replace"):
        return type(value)(*fields)
    # A row with named fields, as Spark has it: called with its values, a row of names makes a row.
    return type(value)(*names)(*fields) if names else type(value)(*fields)


class FieldReducer:
    """What the built-in `sum`, `min`, `max`, `min_by` and `max_by` do to two elements.

    `sum`, `min` and `max` keep the other fields of the first element; `min_by` and `max_by` keep the whole element
    that has the lowest or highest field, the earlier one if equal.
    """

    def __init__(self, how: str, field: Field) -> None:
        if isinstance(field, bool) or not isinstance(field, int | str):
            raise InvalidTypeError(f"{how}: expected the position or name of a field, got {field!r}")
        self.how = how
        self.field = field
        self._combine: Callable[[Any, Any], Any] = {
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
            "min_by": self._min_by,
            "max_by": self._max_by,
        }[how]

    def __call__(self, first: Any, second: Any) -> Any:
        return self._combine(first, second)

    def _sum(self, first: Any, second: Any) -> Any:
        return with_field(first, self.field, get_field(first, self.field) + get_field(second, self.field))

    def _min(self, first: Any, second: Any) -> Any:
        lowest = min(get_field(first, self.field), get_field(second, self.field))
        return with_field(first, self.field, lowest)

    def _max(self, first: Any, second: Any) -> Any:
        highest = max(get_field(first, self.field), get_field(second, self.field))
        return with_field(first, self.field, highest)

    def _min_by(self, first: Any, second: Any) -> Any:
        return second if get_field(second, self.field) < get_field(first, self.field) else first

    def _max_by(self, first: Any, second: Any) -> Any:
        return second if get_field(second, self.field) > get_field(first, self.field) else first


def described_reducer(function: Any) -> str:
    """What reduces elements, as far as it can be told: the built-in ones by what they do to which field."""
    return f"{function.how} of field {function.field!r}" if isinstance(function, FieldReducer) else "of the program"


class FieldKey:
    """A key selector by field, or by several."""

    def __init__(self, *fields: Field) -> None:
        for field in fields:
            if isinstance(field, bool) or not isinstance(field, int | str):
                raise InvalidTypeError(f"key_by: expected the position or name of a field, got {field!r}")
        self.fields = fields

    def __call__(self, value: Any) -> Any:
        if len(self.fields) == 1:
            return get_field(value, self.fields[0])
        return tuple(get_field(value, field) for field in self.fields)
