"""The types of many values of one type: lists and arrays. Downstream they are lists."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from tidegate.common._basic_types import BasicType, BasicTypeInfo
from tidegate.common._type_information import Mismatch, TypeInformation, check_type, fit_each
from tidegate.errors import InvalidTypeError

_SEQUENCE: Final = (list, tuple, Sequence, np.ndarray)
_TEXT: Final = (str, bytes, bytearray)
_BYTE: Final = BasicTypeInfo(BasicType.BYTE)
_PRIMITIVE: Final = tuple(
    BasicTypeInfo(BasicType[name]) for name in ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR")
)
_BASIC: Final = (*_PRIMITIVE, BasicTypeInfo(BasicType.STRING))


class _SequenceTypeInfo(TypeInformation):
    """What lists and arrays share: any sequence fits whose elements do, except text and bytes."""

    __slots__ = ()

    method: ClassVar[str]
    """What `Types` calls it."""

    element_type: TypeInformation

    def __post_init__(self) -> None:
        check_type(self.element_type, self.method)

    def describe(self) -> str:
        return f"{self.method}({self.element_type.describe()})"

    def fit(self, value: Any) -> Any:
        if not isinstance(value, _SEQUENCE) or isinstance(value, _TEXT):
            raise Mismatch(self.describe(), value)
        return fit_each(itertools.repeat(self.element_type), value, "item {}".format)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type!r}>"


@dataclass(frozen=True, slots=True, repr=False)
class ListTypeInfo(_SequenceTypeInfo):
    """A list; tuples and numpy arrays become lists.

    >>> ListTypeInfo(BasicTypeInfo.DOUBLE_TYPE_INFO()).convert((1, 2), "map 'pair'")
    [1.0, 2.0]
    """

    method: ClassVar[str] = "LIST"

    element_type: TypeInformation

    @property
    def elem_type(self) -> TypeInformation:
        return self.element_type


@dataclass(frozen=True, slots=True, repr=False)
class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """An array of values of any type."""

    method: ClassVar[str] = "OBJECT_ARRAY"

    element_type: TypeInformation


@dataclass(frozen=True, slots=True, repr=False)
class BasicArrayTypeInfo(_SequenceTypeInfo):
    """An array of numbers, truth values or texts."""

    method: ClassVar[str] = "BASIC_ARRAY"

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _check_element(self.element_type, _BASIC, self.method)


@dataclass(frozen=True, slots=True, repr=False)
class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """An array of numbers or truth values. An array of BYTE is `bytes`."""

    method: ClassVar[str] = "PRIMITIVE_ARRAY"

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _check_element(self.element_type, _PRIMITIVE, self.method)

    def fit(self, value: Any) -> Any:
        if self.element_type != _BYTE:
            # Not super(): with slots the dataclass is a copy of the class that super() remembers.
            return _SequenceTypeInfo.fit(self, value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise Mismatch(f"{self.describe()}, which is bytes", value)


def _check_element(element_type: Any, allowed: tuple[TypeInformation, ...], method: str) -> None:
    check_type(element_type, method)
    if element_type not in allowed:
        names = ", ".join(each.describe() for each in allowed)
        raise InvalidTypeError(
            f"{method}: an element is one of {names}, got {element_type.describe()}; use OBJECT_ARRAY or LIST"
        )
