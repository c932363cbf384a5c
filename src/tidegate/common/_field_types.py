"""The types of values made of fields: maps, tuples and rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.common._type_information import Mismatch, TypeInformation, check_type, check_types, fit_each
from tidegate.common.row import Row, RowKind, make_row, names_of
from tidegate.errors import InvalidValueError

# Tuples of classes, not unions: `fit` runs for every record, and a union is built anew each time.
_BY_POSITION: Final = (tuple, list)
_TUPLE_LIKE: Final = (tuple, list, Row)


@dataclass(frozen=True, slots=True, repr=False)
class MapTypeInfo(TypeInformation):
    """A dict with keys of one type and values of another."""

    key_type_info: TypeInformation
    value_type_info: TypeInformation

    def __post_init__(self) -> None:
        check_type(self.key_type_info, "MAP, keys")
        check_type(self.value_type_info, "MAP, values")

    def describe(self) -> str:
        return f"MAP({self.key_type_info.describe()}, {self.value_type_info.describe()})"

    def fit(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Mismatch(self.describe(), value)
        keys = list(value)
        fitted_keys = fit_each(itertools.repeat(self.key_type_info), keys, lambda position: f"key {keys[position]!r}")
        fitted_values = fit_each(
            itertools.repeat(self.value_type_info), value.values(), lambda position: f"value of {keys[position]!r}"
        )
        return dict(zip(fitted_keys, fitted_values, strict=True))

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info!r}, {self.value_type_info!r}>"


@dataclass(frozen=True, slots=True, repr=False)
class TupleTypeInfo(TypeInformation):
    """A tuple with one type for each position; lists and rows of that length become tuples.

    >>> from tidegate.common.typeinfo import Types
    >>> Types.TUPLE([Types.INT()]).convert([1], "map 'one'")
    (1,)
    """

    field_types: Sequence[TypeInformation]

    def __post_init__(self) -> None:
        object.__setattr__(self, "field_types", check_types(self.field_types, "TUPLE"))

    def get_field_types(self) -> list[TypeInformation]:
        return list(self.field_types)

    def describe(self) -> str:
        return f"TUPLE({', '.join(each.describe() for each in self.field_types)})"

    def fit(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, _TUPLE_LIKE) or len(value) != len(self.field_types):
            raise Mismatch(self.describe(), value)
        return tuple(fit_each(self.field_types, value, "field {}".format))

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self.field_types))})"


@dataclass(frozen=True, slots=True, repr=False)
class RowTypeInfo(TypeInformation):
    """A `Row` with one type for each field. Fields that were not named are called f0, f1, ...

    Tuples, lists and rows without names fit by position. A row with names and a dict fit `ROW_NAMED` by name. Names
    are part of the type, so types that differ in them are not equal (in PyFlink they are).

    >>> from tidegate.common.typeinfo import Types
    >>> people = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> people.convert(("Alice", 11), "map 'parse'")
    Row(name='Alice', age=11)
    """

    field_types: Sequence[TypeInformation]
    field_names: Sequence[str] | None = None
    _names: tuple[str, ...] = field(default=(), init=False, compare=False)

    def __post_init__(self) -> None:
        types = check_types(self.field_types, "ROW" if self.field_names is None else "ROW_NAMED")
        object.__setattr__(self, "field_types", types)
        if self.field_names is not None:
            object.__setattr__(self, "field_names", _checked_names(self.field_names, len(types)))
        object.__setattr__(self, "_names", self.field_names or tuple(map("f{}".format, range(len(types)))))

    def get_field_names(self) -> list[str]:
        return list(self._names)

    def get_field_types(self) -> list[TypeInformation]:
        return list(self.field_types)

    def get_field_index(self, field_name: str) -> int:
        if field_name not in self._names:
            raise InvalidValueError(f"no field {field_name!r} in {self.describe()}: it has {', '.join(self._names)}")
        return self._names.index(field_name)

    def describe(self) -> str:
        types = [each.describe() for each in self.field_types]
        if self.field_names is None:
            return f"ROW({', '.join(types)})"
        return f"ROW({', '.join(f'{name}: {each}' for name, each in zip(self.field_names, types, strict=True))})"

    def fit(self, value: Any) -> Row:
        names = self._names
        kind = RowKind.INSERT
        if isinstance(value, Row):
            kind = value.get_row_kind()
            values = self._values_of_row(value)
        elif isinstance(value, _BY_POSITION):
            values = value
        elif self.field_names is not None and isinstance(value, dict) and value.keys() == set(names):
            values = [value[name] for name in names]
        else:
            raise Mismatch(self.describe(), value)
        if len(values) != len(names):
            raise Mismatch(self.describe(), value)
        return make_row(names, fit_each(self.field_types, values, lambda position: f"field {names[position]!r}"), kind)

    def _values_of_row(self, row: Row) -> Sequence[Any]:
        names = names_of(row)
        if names is None or names == self._names:
            return list(row)
        if set(names) == set(self._names):
            return row.get_fields_by_names(self._names)
        if self.field_names is None:
            return list(row)
        raise Mismatch(self.describe(), row)

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"RowTypeInfo({', '.join(map(repr, self.field_types))})"
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {each!r}' for name, each in pairs)})"


def _checked_names(names: Any, count: int) -> tuple[str, ...]:
    checked = tuple(names) if isinstance(names, list | tuple) else ()
    are_texts = all(isinstance(name, str) and name for name in checked)
    if not are_texts or len(checked) != count or len(set(checked)) != count:
        raise InvalidValueError(f"ROW_NAMED: {count} field types need {count} different names, got {names!r}")
    return checked
