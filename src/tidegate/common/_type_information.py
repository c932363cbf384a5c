"""`TypeInformation`: what a function says about the values that it returns."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from tidegate.errors import InvalidTypeError

_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80

_ADVICE: Final = "change output_type or the function's return value"


class Mismatch(Exception):  # noqa: N818  # caught by `convert` and never seen by a user
    """A value that does not fit. Composite types add the place where it stood while this travels outwards."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(expected, value)
        self._text = f"expected {expected}, got {type(value).__name__} {_SHORT.repr(value)}"
        self._places: list[str] = []

    def at(self, place: str) -> Mismatch:
        self._places.insert(0, place)
        return self

    def __str__(self) -> str:
        return f"{', '.join(self._places)}: {self._text}" if self._places else self._text


class TypeInformation(ABC):
    """The type of the values in a stream: a frozen value, made by `Types`.

    `convert` gives a value the form that it has in PyFlink after it crossed PyFlink's serializers, so that the next
    function sees the same here. It never loses data silently: 1.5 under INT, which PyFlink cuts to 1, is refused, and
    the microseconds under SQL_TIMESTAMP, which PyFlink drops, are kept.
    """

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """The type in the words of `Types`, for messages: `LIST(INT)`."""

    @abstractmethod
    def fit(self, value: Any) -> Any:
        """`value`, which is not None, in its form downstream; raises `Mismatch` if it does not fit."""

    def convert(self, value: Any, where: str, advice: str = _ADVICE) -> Any:
        """`value` in its form downstream, or an error that says `where` it came from and what to do (`advice`).

        None fits every type.
        """
        if value is None:
            return None
        try:
            return self.fit(value)
        except Mismatch as mismatch:
            raise InvalidTypeError(f"{where}: {mismatch}; {advice}") from None


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type with what to do about a value that does not fit, where no function returned it."""

    type_info: TypeInformation
    advice: str

    def convert(self, value: Any, where: str) -> Any:
        return self.type_info.convert(value, where, self.advice)


def check_types(types: Any, where: str) -> tuple[TypeInformation, ...]:
    """`types` as a tuple of types, or an error that names the one that is none."""
    if not isinstance(types, list | tuple):
        raise InvalidTypeError(
            f"{where}: expected a list of types, such as [Types.INT(), Types.STRING()], got {types!r}"
        )
    for position, each in enumerate(types):
        check_type(each, f"{where}, position {position}")
    return tuple(types)


def check_type(type_info: Any, where: str) -> None:
    if not isinstance(type_info, TypeInformation):
        raise InvalidTypeError(f"{where}: expected a type such as Types.INT(), got {type_info!r}{uncalled(type_info)}")


def uncalled(value: Any) -> str:
    """What to add to an error about `Types.INT` where `Types.INT()` was meant."""
    return "; add () to call it" if callable(value) else ""


def fit_each(types: Iterable[TypeInformation], values: Iterable[Any], place: Callable[[int], str]) -> list[Any]:
    """Each value fitted to its type; `place` names the position of one that does not fit."""
    fitted: list[Any] = []
    try:
        for each, value in zip(types, values, strict=False):
            fitted.append(None if value is None else each.fit(value))
    except Mismatch as mismatch:
        raise mismatch.at(place(len(fitted))) from None
    return fitted
