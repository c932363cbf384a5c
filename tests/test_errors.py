from __future__ import annotations

import inspect

import pytest

from tidegate import errors

_KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.TidegateError) and kind is not errors.TidegateError
]


@pytest.mark.parametrize("kind", _KINDS)
def test_every_error_is_also_the_builtin_that_it_is(kind: type[errors.TidegateError]) -> None:
    assert any(base.__module__ == "builtins" and base not in (Exception, object) for base in kind.__mro__[2:-3])
