"""How a signature or a value is written down, the same way for PyFlink and for Tidegate."""

import enum
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any


class _Verbatim(str):
    """A default value that shows up in a signature exactly as the given text."""

    __slots__ = ()
    __repr__ = str.__str__


def render(value: object) -> str:
    """The source-like text of a value, without memory addresses.

    >>> render(int), render((1, "a"))
    ('int', "(1, 'a')")
    """
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, type | FunctionType):
        return value.__qualname__
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def render_signature(function: Callable[..., Any], *, is_bound: bool) -> str:
    """The signature without annotations and, if bound, without the first parameter.

    >>> render_signature(lambda self, size, offset=None: ..., is_bound=True)
    '(size, offset=None)'
    """
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[int(is_bound) :]:
        has_default = parameter.default is not parameter.empty
        default = _Verbatim(render(parameter.default)) if has_default else parameter.empty
        parameters.append(parameter.replace(annotation=parameter.empty, default=default))
    return str(inspect.Signature(parameters))
