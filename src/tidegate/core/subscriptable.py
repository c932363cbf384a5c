"""Classes that may be written with type arguments, because PyFlink's may."""

from __future__ import annotations

from typing import Any, Self


class Subscriptable:
    """`ProcessWindowFunction[str, int, str, TimeWindow]` is `ProcessWindowFunction`: the arguments are for readers.

    >>> class Named(Subscriptable): ...
    >>> Named[str, int] is Named
    True
    """

    __slots__ = ()

    def __class_getitem__(cls, arguments: Any) -> type[Self]:
        return cls
