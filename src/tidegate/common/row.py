"""`Row`: the fields of one record, with or without names."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tidegate.core.state.plain_values import decode_values, encode_values, register_plain
from tidegate.errors import InvalidTypeError, InvalidValueError


class RowKind(enum.Enum):
    """What a row says about a changing table. A stream of events has only inserts.

    >>> str(RowKind.UPDATE_BEFORE)
    '-U'
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return ("+I", "-U", "+U", "-D")[self.value]


class Row:
    """The fields of one record, read by position and, if the row has names, by name.

    >>> row = Row(name="Alice", age=11)
    >>> row.name, row["age"], row[0], "age" in row
    ('Alice', 11, 'Alice', True)
    >>> list(Row(1, "a"))
    [1, 'a']

    A row of names makes rows with those names:

    >>> Person = Row("name", "age")
    >>> Person("Bob", 12)
    Row(name='Bob', age=12)

    Rows are equal when their kinds are, and their fields are: by name if both have names, whatever the order, and by
    position if neither has. Equal rows hash equally, unlike PyFlink's, so a row can be a key. Fields change by item
    (`row["age"] = 12`), not by attribute. A field named like a method, such as `as_dict`, is read by item only.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: tuple[str, ...] | None
    _values: list[Any]
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise InvalidValueError(
                "Row: give either values, Row(1, 'a'), or named values, Row(id=1, name='a'), not both"
            )
        _set_fields(self, tuple(kwargs) if kwargs else None)
        _set_values(self, list(kwargs.values() if kwargs else args))
        _set_kind(self, RowKind.INSERT)

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row as `Row(...)` makes it, of the given kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def __call__(self, *args: Any) -> Row:
        """A row with these values, named by the fields of this one."""
        names = self._values
        if not all(isinstance(name, str) for name in names):
            raise InvalidTypeError(f"{self!r} cannot make rows: only a row of names can, such as Row('name', 'age')")
        if len(args) != len(names):
            raise InvalidValueError(f"{self!r} makes rows of {len(names)} values, got {len(args)}: {args!r}")
        return make_row(_checked_names(names, len(args)), list(args), self._row_kind)

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields by name; with `recursive`, also the rows inside fields, lists and dicts.

        >>> Row(key=1, value=Row(a=2)).as_dict(True)
        {'key': 1, 'value': {'a': 2}}
        """
        if self._fields is None:
            raise InvalidTypeError(f"as_dict: {self!r} has no field names; name them with set_field_names first")
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=True))

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of these fields, in this order. A row without names gives all its values as they stand."""
        if self._fields is None:
            return list(self._values)
        return [self._values[self._position(name)] for name in names]

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, one name for each value."""
        _set_fields(self, _checked_names(field_names, len(self._values)))

    def get_row_kind(self) -> RowKind:
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        if not isinstance(row_kind, RowKind):
            raise InvalidTypeError(f"set_row_kind: expected a RowKind, such as RowKind.INSERT, got {row_kind!r}")
        _set_kind(self, row_kind)

    def __getitem__(self, item: Any) -> Any:
        return self._values[self._position(item) if isinstance(item, str) else item]

    def __setitem__(self, item: Any, value: Any) -> None:
        if isinstance(item, slice):
            raise InvalidTypeError("a row has a fixed number of fields; set them one by one, not by a slice")
        self._values[self._position(item) if isinstance(item, str) else item] = value

    def __getattr__(self, name: str) -> Any:
        # Only names that are no attribute get here. The private ones must fail at once: copy and pickle ask for them
        # on rows whose slots are still empty.
        if not name.startswith("_") and self._fields is not None and name in self._fields:
            return self._values[self._fields.index(name)]
        raise AttributeError(f"Row has no field {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"fields of a row are set by item: row[{name!r}] = ...", name=name, obj=self)

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._row_kind is not other._row_kind:
            return False
        if self._fields is None or other._fields is None or self._fields == other._fields:
            return self._fields == other._fields and self._values == other._values
        return sorted(self._fields) == sorted(other._fields) and self._by_name() == other._by_name()

    def __hash__(self) -> int:
        return hash(self.__stable_hash__())

    def __stable_hash__(self) -> tuple[Any, ...]:
        """The fields, as `tidegate.core.key.hashing` hashes them; by name, because equal rows may differ in order."""
        return tuple(self._values) if self._fields is None else tuple(self._by_name())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._fields, tuple(self._values), self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self._values, strict=True))})"

    def _by_name(self) -> list[Any]:
        return [self._values[self._position(name)] for name in sorted(self._fields or ())]

    def _position(self, name: str) -> int:
        if self._fields is not None and name in self._fields:
            return self._fields.index(name)
        known = "has no field names" if self._fields is None else f"has the fields {', '.join(self._fields)}"
        raise InvalidValueError(f"no field {name!r}: the row {known}")


# Rows refuse to be set by attribute, so their slots are filled directly: this also makes rows in half the time.
_new_row = Row.__new__
_set_fields, _set_values, _set_kind = (vars(Row)[slot].__set__ for slot in ("_fields", "_values", "_row_kind"))


def make_row(names: tuple[str, ...] | None, values: list[Any], kind: RowKind = RowKind.INSERT) -> Row:
    """A row of values that fit the names; nothing is checked or copied, so that types can make rows fast."""
    row = _new_row(Row)
    _set_fields(row, names)
    _set_values(row, values)
    _set_kind(row, kind)
    return row


def row_maker(names: Sequence[str]) -> Callable[..., Row]:
    """What makes a row with these names of its values.

    >>> row_maker(["name", "age"])("Alice", 11)
    Row(name='Alice', age=11)
    """
    fields = tuple(names)

    def make(*values: Any) -> Row:
        return make_row(fields, list(values))

    return make


def names_of(row: Row) -> tuple[str, ...] | None:
    """The names of the row's fields in order, or None. No method, which would hide a field of its name."""
    return row._fields


def _restore(names: tuple[str, ...] | None, values: tuple[Any, ...], kind: RowKind) -> Row:
    return make_row(names, list(values), kind)


def _checked_names(names: Iterable[str], count: int) -> tuple[str, ...]:
    checked = tuple(names)
    if len(checked) != count or len(set(checked)) != count or not all(isinstance(name, str) for name in checked):
        raise InvalidValueError(f"a row of {count} values needs {count} different names, got {checked!r}")
    return checked


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _as_plain(row: Row) -> list[Any]:
    return [None if row._fields is None else list(row._fields), row._row_kind.value, encode_values(row._values)]


def _of_plain(plain: Sequence[Any]) -> Row:
    names, kind, values = plain
    return make_row(None if names is None else tuple(names), decode_values(values), RowKind(kind))


register_plain(Row, "row", _as_plain, _of_plain)
